import { stringify } from 'yaml'
import { type NewSource, newSourceShape, type SourceChange, type TypedColumn } from '../catalog/source.ts'
import { columnComment } from '../catalog/tables.ts'
import { readsColumn } from '../sql/column-readers.ts'
import { sqlName } from '../sql/names.ts'
import { possibleSources } from '../sql/tokens.ts'

export interface WorkspaceSource {
  file: string
  source: NewSource
}

export interface PlannedSource {
  file: string
  name: string
  action: 'created' | 'updated' | 'unchanged'
  changes: { effect: 'breaking' | 'warning' | 'compatible'; message: string }[]
  /** The new source, or what must change before the endpoints, which may read new columns. */
  before: NewSource | SourceChange
  /** What must not change before the endpoints, because it removes columns or entries. */
  after: SourceChange
  /** Columns with another content than before. */
  columns: string[]
  removed: string[]
}

/** Counts the entries of a source that meet a condition. */
type CountEntries = (source: string, condition: string) => Promise<string>

/** Everything that a deployment changes in the sources that have files. */
export function planSources(
  files: readonly WorkspaceSource[],
  service: readonly NewSource[],
  count: CountEntries,
): Promise<PlannedSource[]> {
  return Promise.all(
    files.map(async ({ file, source }) => {
      const { name } = source
      const current = service.find((each) => each.name === name)
      const planned = { file, name, changes: [], after: {}, columns: [], removed: [] }
      if (!current) return { ...planned, action: 'created', before: source }
      return { ...planned, ...(await changesOf(source, current, count)) }
    }),
  )
}

async function changesOf(file: NewSource, current: NewSource, count: CountEntries) {
  const changes: PlannedSource['changes'] = []
  const add = (effect: 'breaking' | 'warning' | 'compatible', message: string) =>
    changes.push({ effect, message })
  const [before, after]: [SourceChange, SourceChange] = [{}, {}]
  if (file.description !== current.description) {
    add(
      'compatible',
      `description ${JSON.stringify(current.description)} → ${JSON.stringify(file.description)}`,
    )
    before.description = file.description
  }
  const addedAliases = file.aliases.filter((alias) => !current.aliases.includes(alias))
  const removedAliases = current.aliases.filter((alias) => !file.aliases.includes(alias))
  for (const alias of addedAliases) add('compatible', `alias ${alias} added`)
  for (const alias of removedAliases)
    add('breaking', `alias ${alias} removed; requests that send to it will fail`)
  if (addedAliases.length + removedAliases.length > 0) before.aliases = file.aliases
  const [days, daysBefore] = [file.retention_days, current.retention_days]
  if (days !== daysBefore) {
    const older = days < daysBefore && (await count(file.name, `timestamp < @now - toIntervalDay(${days})`))
    const loss = older ? `; ${older} older than that will be deleted` : ''
    add(older ? 'breaking' : 'compatible', `retention_days ${daysBefore} → ${days}${loss}`)
    after.retention_days = days
  }
  const find = (columns: readonly TypedColumn[], name: string) => columns.find((one) => one.name === name)
  const columns: string[] = []
  for (const column of file.columns) {
    const old = find(current.columns, column.name)
    if (old && columnComment(old) === columnComment(column)) continue
    columns.push(column.name)
    if (old) add('compatible', `column ${column.name} changed from ${contentOf(old)} to ${contentOf(column)}`)
    else add('compatible', `column ${column.name} added: ${contentOf(column)}`)
  }
  const removed = current.columns.filter(({ name }) => !find(file.columns, name))
  for (const { name, path } of removed) {
    const filled = await count(file.name, `ifNull(toString(${sqlName(name)}), '') != ''`)
    const remains = `metadata.${path} remains in ${filled}, and queries then read it from JSON text`
    add('warning', `column ${name} removed; ${remains}`)
  }
  if (columns.length > 0) before.columns = [...file.columns, ...removed]
  if (removed.length > 0) after.columns = file.columns
  const action: PlannedSource['action'] = changes.length > 0 ? 'updated' : 'unchanged'
  return { action, changes, before, after, columns, removed: removed.map(({ name }) => name) }
}

function contentOf({ path, type, searched }: TypedColumn): string {
  return `metadata.${path}, ${type}${searched ? ', searched' : ''}`
}

/** Whether a service that lacks the planned changes would reject the query. */
export function needsSources(query: string, sources: readonly PlannedSource[]): boolean {
  const words = possibleSources(query)
  return sources.some(
    ({ name, action, columns }) =>
      words.has(name) && (action === 'created' || columns.some((column) => readsColumn(query, name, column))),
  )
}

/** What the service would reject, given the endpoints that it has after the deployment. */
export function sourceConflicts(
  planned: readonly PlannedSource[],
  service: readonly NewSource[],
  endpoints: readonly { name: string; query: string }[],
): string[] {
  return planned.flatMap(({ file, name, before, removed }) => {
    const others = service.filter((source) => source.name !== name)
    const taken = (before.aliases ?? []).flatMap((alias) => {
      const owner = others.find((source) => source.name === alias || source.aliases.includes(alias))
      return owner ? `${file}: the alias ${alias} belongs to the source ${owner.name}.` : []
    })
    const read = removed.flatMap((column) => {
      const readers = endpoints.filter(({ query }) => readsColumn(query, name, column))
      if (readers.length === 0) return []
      return `${file}: the column ${column} is used by ${readers.map((one) => one.name).join(', ')}. Change the query first.`
    })
    return [...taken, ...read]
  })
}

/** The file that declares a source; fields with default values are omitted. */
export function sourceFileOf(
  source: NewSource,
  noteOf: (column: TypedColumn) => string = () => '',
): { file: string; content: string } {
  const { name, columns } = source
  const defaults = newSourceShape.parse({ name })
  const fields = (['description', 'aliases', 'retention_days'] as const).filter(
    (field) => JSON.stringify(source[field]) !== JSON.stringify(defaults[field]),
  )
  const content = fields.map((field) => stringify({ [field]: source[field] }))
  if (columns.length > 0)
    content.push('columns:\n', ...columns.map((one) => `${columnLine(one)}${noteOf(one)}\n`))
  return { file: `sources/${name}.yaml`, content: content.join('') }
}

function columnLine({ name, path, type, searched }: TypedColumn): string {
  const [quotedName, quotedPath] = [name, path].map((text) => stringify(text).trim())
  return `  - { name: ${quotedName}, path: ${quotedPath}, type: ${type}${searched ? ', searched: true' : ''} }`
}
