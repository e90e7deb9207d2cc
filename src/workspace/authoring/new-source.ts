import { maxTypedColumns, newSourceShape, type TypedColumn, typedColumnShape } from '../../catalog/source.ts'
import { sourceFileOf } from '../workspace-sources.ts'

/** A column for a path that fewer entries have would mostly be empty. */
const minShare = 0.1
const maxExampleLength = 40
/** Longer text is read for one entry at a time, where a column does not help. */
const maxTextLength = 200

interface Seen {
  entries: number
  isNumber: boolean
  maxLength: number
  example: string
}

/** The file of a source whose columns hold what most entries have. */
export function newSourceFile(name: string, entries: readonly { metadata: object }[], from: string) {
  const seen = new Map<string, Seen>()
  for (const { metadata } of entries) visit(metadata, '', seen)
  const common = [...seen].filter(([, { entries: count }]) => count >= entries.length * minShare)
  const fitting = common.filter(
    ([path, { maxLength }]) =>
      typedColumnShape.shape.path.safeParse(path).success && maxLength <= maxTextLength,
  )
  const columns: TypedColumn[] = []
  for (const [path, { isNumber }] of fitting.slice(0, maxTypedColumns)) {
    columns.push({
      name: columnName(path, columns),
      path,
      type: isNumber ? 'number' : 'text',
      searched: false,
    })
  }
  const noteOf = ({ path }: TypedColumn) => {
    const { entries: count, example } = seen.get(path) as Seen
    return ` # ${Math.round((100 * count) / entries.length)} % of the entries, such as ${example}`
  }
  const { file, content } = sourceFileOf({ ...newSourceShape.parse({ name }), columns }, noteOf)
  const head = [
    `# Proposed from ${entries.length} entries of ${JSON.stringify(from)}. Remove columns that queries seldom read:`,
    '# a column only makes reading its path faster. SQL reads every path as metadata.<path>.',
  ]
  return { file, columns: columns.length, content: `${head.join('\n')}\n${content}` }
}

function visit(object: object, prefix: string, seen: Map<string, Seen>): void {
  for (const [key, value] of Object.entries(object) as [string, unknown][]) {
    const path = `${prefix}${key}`
    if (value === null || Array.isArray(value)) continue
    if (typeof value === 'object') visit(value, `${path}.`, seen)
    else {
      const text = String(value)
      const before = seen.get(path) ?? { entries: 0, isNumber: true, maxLength: 0, example: exampleOf(value) }
      seen.set(path, {
        ...before,
        entries: before.entries + 1,
        isNumber: before.isNumber && typeof value === 'number',
        maxLength: Math.max(before.maxLength, text.length),
      })
    }
  }
}

/** On one line, because it becomes a comment. */
function exampleOf(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > maxExampleLength ? `${text.slice(0, maxExampleLength).toWellFormed()}…` : text
}

/** The path in the form of a name, with a number if another column or the source has that name. */
function columnName(path: string, columns: readonly TypedColumn[]): string {
  const snake = path.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/\W+/g, '_')
  const base = snake.toLowerCase().replace(/^[^a-z]+/, '') || 'column'
  for (let number = 1; ; number++) {
    const name = base.slice(0, 60) + (number === 1 ? '' : `_${number}`)
    const isFree = columns.every((column) => column.name !== name)
    const column = { name, path, type: 'text' }
    if (isFree && newSourceShape.safeParse({ name: 'any', columns: [column] }).success) return name
  }
}
