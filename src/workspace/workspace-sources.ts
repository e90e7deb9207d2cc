import { stringify } from 'yaml'
import { type NewSource, newSourceShape, type TypedColumn } from '../catalog/source.ts'
import { readsColumn } from '../sql/column-readers.ts'
import { sqlName } from '../sql/names.ts'
import { possibleSources } from '../sql/tokens.ts'
import type { FileContent } from './deployment-plan.ts'

export interface WorkspaceSource {
  file: string
  source: NewSource
}

export interface PlannedSource {
  file: string
  name: string
  action: 'created' | 'updated' | 'unchanged'
  changes: { effect: 'breaking' | 'warning' | 'compatible'; message: string }[]
  wanted: NewSource
  /** Columns with new content, which endpoints may read as soon as they are deployed. */
  added: TypedColumn[]
  /** Columns that current endpoints may read until the others are deployed. */
  removed: TypedColumn[]
}

/** Counts the entries of a source that meet a condition, in words. */
type CountEntries = (source: string, condition: string) => Promise<string>

type Endpoints = readonly { definition: { name: string; query: string } }[]

/** Everything that a deployment changes in the sources that have files. */
export function planSources(
  files: readonly WorkspaceSource[],
  service: readonly NewSource[],
  endpoints: Endpoints,
  count: CountEntries,
): Promise<PlannedSource[]> {
  return Promise.all(
    files.map(async ({ file, source: wanted }) => {
      const { name, columns } = wanted
      const current = service.find((each) => each.name === name)
      const isSame = (one: TypedColumn, other: TypedColumn) =>
        one.name === other.name &&
        one.path === other.path &&
        one.type === other.type &&
        one.searched === other.searched
      const added = columns.filter((column) => !current?.columns.some((one) => isSame(one, column)))
      const removed =
        current?.columns.filter((one) => columns.every((column) => column.name !== one.name)) ?? []
      const planned = { file, name, wanted, added, removed }
      if (!current) return { ...planned, action: 'created', changes: [] }
      const changes = await changesOf(planned, current, endpoints, count)
      return { ...planned, action: changes.length > 0 ? 'updated' : 'unchanged', changes }
    }),
  )
}

async function changesOf(
  { name, wanted, added, removed }: Omit<PlannedSource, 'action' | 'changes'>,
  current: NewSource,
  endpoints: Endpoints,
  count: CountEntries,
): Promise<PlannedSource['changes']> {
  const changes: PlannedSource['changes'] = []
  const add = (effect: 'breaking' | 'warning' | 'compatible', message: string) =>
    changes.push({ effect, message })
  if (wanted.description !== current.description) add('compatible', 'description changed')
  for (const alias of new Set([...wanted.aliases, ...current.aliases])) {
    if (!current.aliases.includes(alias)) add('compatible', `alias ${alias} added`)
    if (!wanted.aliases.includes(alias))
      add('breaking', `alias ${alias} removed; requests that send to it will fail`)
  }
  const [days, before] = [wanted.retention_days, current.retention_days]
  if (days > before) add('compatible', `retention_days ${before} → ${days}`)
  if (days < before) {
    const older = await count(name, `timestamp < @now - toIntervalDay(${days})`)
    add('breaking', `retention_days ${before} → ${days}; ${older} older than that will be deleted`)
  }
  for (const column of added) {
    const old = current.columns.find((one) => one.name === column.name)
    const was = old ? ` changed from ${contentOf(old)} to` : ' added:'
    const isOther = old && (old.path !== column.path || old.type !== column.type)
    const readers = isOther ? readersOf(endpoints, name, column) : ''
    const effect = readers && `; results of ${readers} may differ`
    add(readers ? 'breaking' : 'compatible', `column ${column.name}${was} ${contentOf(column)}${effect}`)
  }
  for (const { name: column, path } of removed) {
    const filled = await count(name, `ifNull(toString(${sqlName(column)}), '') != ''`)
    const remains = `metadata.${path} remains in ${filled}, and queries then read it from JSON text`
    add('warning', `column ${column} removed; ${remains}`)
  }
  return changes
}

/** The names of endpoints that read a column. */
function readersOf(endpoints: Endpoints, source: string, column: TypedColumn): string {
  const readers = endpoints.filter(({ definition }) => readsColumn(definition.query, source, column.name))
  return readers.map(({ definition }) => definition.name).join(', ')
}

function contentOf({ path, type, searched }: TypedColumn): string {
  return `metadata.${path}, ${type}${searched ? ', searched' : ''}`
}

/** Whether a service that lacks the planned changes would reject the query. */
export function needsSources(query: string, sources: readonly PlannedSource[]): boolean {
  const words = possibleSources(query)
  return sources.some(
    ({ name, action, added }) =>
      words.has(name) &&
      (action === 'created' || added.some((column) => readsColumn(query, name, column.name))),
  )
}

/** Files whose name or alias another source has when they are deployed, one after the other. */
export function sourceConflicts(files: readonly WorkspaceSource[], service: readonly NewSource[]): string[] {
  const sources = new Map(service.map((source) => [source.name, source]))
  return files.flatMap(({ file, source: wanted }) => {
    sources.delete(wanted.name)
    const conflicts = [...sources.values()].flatMap(({ name, aliases }) => {
      const taken = [wanted.name, ...wanted.aliases].find((one) => one === name || aliases.includes(one))
      return taken === undefined ? [] : `${file}: ${taken} already belongs to the source ${name}.`
    })
    sources.set(wanted.name, wanted)
    return conflicts
  })
}

/** Columns that cannot be removed, because endpoints read them even after the deployment. */
export function columnsInUse(planned: readonly PlannedSource[], endpoints: Endpoints): string[] {
  return planned.flatMap(({ file, name, removed }) =>
    removed.flatMap((column) => {
      const readers = readersOf(endpoints, name, column)
      return readers === ''
        ? []
        : `${file}: column ${column.name} is used by ${readers}. Change the query first.`
    }),
  )
}

/** The file that declares a source; fields with default values are omitted. */
export function sourceFileOf(
  source: NewSource,
  noteOf: (column: TypedColumn) => string = () => '',
): FileContent {
  const { name, columns } = source
  const defaults = newSourceShape.parse({ name })
  const fields = (['description', 'aliases', 'retention_days'] as const).filter(
    (field) => JSON.stringify(source[field]) !== JSON.stringify(defaults[field]),
  )
  const content = fields.map((field) => stringify({ [field]: source[field] }))
  if (columns.length > 0)
    content.push('columns:\n', ...columns.map((one) => `${columnLine(one)}${noteOf(one)}\n`))
  return { id: `sources/${name}`, file: `sources/${name}.yaml`, content: content.join('') }
}

/** A source keeps the name of its file. */
export function sourceFileIn(local: readonly WorkspaceSource[], source: NewSource): FileContent {
  const made = sourceFileOf(source)
  return { ...made, file: local.find((one) => one.source.name === source.name)?.file ?? made.file }
}

function columnLine({ name, path, type, searched }: TypedColumn): string {
  const [quotedName, quotedPath] = [name, path].map((text) => stringify(text).trim())
  return `  - { name: ${quotedName}, path: ${quotedPath}, type: ${type}${searched ? ', searched: true' : ''} }`
}
