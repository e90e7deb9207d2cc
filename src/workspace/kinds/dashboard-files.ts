import { type Document, isMap, isSeq } from 'yaml'
import { dashboardShape, panelsOf } from '../../dashboards/dashboard.ts'
import { yamlKind } from './yaml-kind.ts'

export const dashboardFiles = yamlKind({
  folder: 'dashboards',
  shape: dashboardShape,
  example: 'title: Traffic',
  prunes: true,
  isReserved: () => false,
  refersTo: (fields) => panelsOf(fields as never).map(({ panel }) => `endpoints/${panel.endpoint}`),
  format: writeInLines,
})

const defaults = { type: 'string', required: false, empty_is_omitted: false, description: '' }

/** Each parameter and each item in one line, without defaults. */
function writeInLines(document: Document): void {
  const parameters = document.get('parameters')
  for (const { value } of isMap(parameters) ? parameters.items : []) {
    if (!isMap(value)) continue
    value.flow = true
    for (const [field, preset] of Object.entries(defaults))
      if (value.get(field) === preset) value.delete(field)
  }
  const rows = document.get('rows')
  for (const row of isSeq(rows) ? rows.items : []) {
    const items = isMap(row) ? row.get('items') : undefined
    for (const item of isSeq(items) ? items.items : []) {
      // Text has line breaks.
      if (isMap(item) && !item.has('markdown')) item.flow = true
    }
  }
}
