import { grouped } from '../../base/grouped.ts'
import { newSourceShape, reservedColumns, type TypedColumn } from '../../catalog/source.ts'
import { leavesOf } from '../../sources/seen-paths.ts'
import { sourceFiles } from '../kinds/source-files.ts'

/** A column for a path that fewer entries have would mostly be empty. */
const minShare = 0.1
const maxExampleLength = 40
/** Longer text is read for one entry at a time, where a column does not help. */
const maxTextLength = 200

/** The file of a source whose columns hold what many entries have. */
export function newSourceFile(name: string, entries: readonly { metadata: object }[], from: string) {
  const leaves = entries.flatMap(({ metadata }) => [...leavesOf(metadata)])
  const scalars = leaves.filter(([, value]) => value !== null && !Array.isArray(value))
  const seen = grouped(scalars, ([path]) => path)
  const columns: TypedColumn[] = []
  for (const [path, values] of seen) {
    const isShort = values.every(([, value]) => String(value).length <= maxTextLength)
    const type = values.every(([, value]) => typeof value === 'number') ? 'number' : 'text'
    const column = { name: columnName(path), path, type, searched: false } as const
    const isPossible = newSourceShape.shape.columns.safeParse([...columns, column]).success
    if (values.length >= entries.length * minShare && isShort && isPossible) columns.push(column)
  }
  const noteOf = ({ path }: TypedColumn) => {
    const found = seen.get(path) ?? []
    const text = JSON.stringify(found[0]?.[1]).slice(0, maxExampleLength).toWellFormed()
    return `# ${Math.round((100 * found.length) / entries.length)} % of the entries, such as ${text}`
  }
  const notes = columns.map(noteOf)
  const content = sourceFiles
    .write({ ...newSourceShape.parse({ name }), columns })
    .replace(/^ +- .*$/gm, (line) => `${line} ${notes.shift()}`)
  const head = `# Proposed from ${entries.length} entries of ${JSON.stringify(from)}. Remove columns that queries seldom read:
# a column only makes reading its path faster. SQL reads every path as metadata.<path>.
`
  return { file: `sources/${name}.yaml`, columns: columns.length, content: head + content }
}

/** The path in the form of a name. */
function columnName(path: string): string {
  const snake = path.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/\W+/g, '_')
  const name = snake.toLowerCase().replace(/^[^a-z]+/, '')
  return reservedColumns.has(name) ? `metadata_${name}` : name
}
