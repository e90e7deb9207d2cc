import { type Document, isMap, isSeq } from 'yaml'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import { newSourceShape } from '../../catalog/source.ts'
import { yamlKind } from './yaml-kind.ts'

export const sourceFiles = yamlKind({
  folder: 'sources',
  shape: newSourceShape,
  example: 'description: Orders of the shop.',
  // Deleting a source deletes its entries.
  prunes: false,
  isReserved: isBuiltIn,
  refersTo: () => [],
  format: writeColumnsInLines,
})

/** Each column in one line. */
function writeColumnsInLines(document: Document): void {
  const columns = document.get('columns')
  for (const column of isSeq(columns) ? columns.items : []) {
    if (!isMap(column)) continue
    column.flow = true
    if (column.get('searched') === false) column.delete('searched')
  }
}
