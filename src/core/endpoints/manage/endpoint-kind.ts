import { z } from 'zod'
import type { TableColumn } from '../../../shared/column-types.ts'
import { endpointNotFound, inUse, invalidQuery } from '../../base/errors.ts'
import { grouped } from '../../base/grouped.ts'
import { closestName } from '../../base/text/closest-name.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Source } from '../../catalog/source.ts'
import { readableSources } from '../../catalog/sources.ts'
import {
  affectedChange,
  commonView,
  type DefinitionView,
  type FileForm,
  kindForm,
  type NextDefinitions,
  type Opened,
  type Saved,
  sentFields,
} from '../../definitions/kind.ts'
import { mayRead } from '../../definitions/visibility.ts'
import type { Engine } from '../../engine/engine.ts'
import { createLookupTable } from '../../engine/lookup-tables.ts'
import { createScratchTable, storedColumns } from '../../engine/tables.ts'
import { within } from '../../sql/edits.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import { queryOf } from '../../sql/query.ts'
import { type Warning, warningsView } from '../../sql/warnings/warning.ts'
import {
  definitionShape,
  type EndpointDefinition,
  isReserved,
  parametersText,
  parseDefinition,
} from '../definition/definition.ts'
import { fieldPosition, formatDefinition, readDefinition } from '../definition/definition-file.ts'
import { compileEndpoint, type KnownSources } from '../definition/endpoint.ts'
import { innerDefinitions, possibleEndpoints } from '../definition/inner-endpoints.ts'
import { withId } from '../definition/missing-id.ts'
import { parameterShape, parameterView, shownParameters } from '../definition/parameter-declaration.ts'
import { columnsView } from '../definition/result-columns.ts'
import { contractChanges } from './contract-changes.ts'
import type { WarningsOf } from './endpoint-warnings.ts'
import type { Endpoints, SavedEndpoint } from './endpoints.ts'
import { createScratchTables, type ScratchTable } from './scratch-tables.ts'

interface CompileOptions {
  engine: Engine
  catalog: Catalog
  readable: () => KnownSources
  tableColumns: TableColumns
}

/** Columns of the tables that users fill: as they are, and of a definition. */
export interface TableColumns {
  readonly readable: ReadonlyMap<string, readonly TableColumn[]>
  columnsOf(table: Saved): readonly TableColumn[]
}

interface EndpointParts extends CompileOptions {
  endpoints: Endpoints
  warningsOf: WarningsOf
}

/** What was sent of an endpoint, without fields that only the service sets. */
export function endpointFields(body: unknown): Record<string, unknown> {
  return sentFields(form, body)
}

export type EndpointView = DefinitionView<
  EndpointDefinition,
  Pick<SavedEndpoint, 'columns'> & { parameters: ReturnType<typeof shownParameters> }
>
export type ChangedEndpoint = EndpointView & { warnings: Warning[] }

const columns = columnsView.describe('Columns of the result, with the types of the engine.')

const related = {
  reads_endpoints: z.array(z.string()).describe('Endpoints that the query reads.'),
  read_by_endpoints: z.array(z.string()).describe('Endpoints whose queries read this one.'),
}

/** Read-only fields are ignored, so that callers can send back what they read. */
const sentShape = z.strictObject({
  ...definitionShape.shape,
  id: definitionShape.shape.id.optional(),
  parameters: z.record(z.string(), parameterShape).default({}).describe(parametersText),
  ...Object.fromEntries(
    Object.entries({ ...commonView, columns, ...related, warnings: warningsView }).map(([name, shape]) => [
      name,
      shape.optional().meta({ readOnly: true }),
    ]),
  ),
})

/** SQL with a header in YAML. */
const file: FileForm = {
  extension: /\.sql$/,
  suffix: '.sql',
  label: '',
  prunes: true,
  isReserved,
  read(file, _name, content) {
    const reading = readDefinition(file, content)
    if ('problems' in reading) return reading
    const { definition, queryAt } = reading
    return {
      fields: { ...definition },
      positionOf({ code, message, parameter = '', line, column }) {
        const [, unused] = code === 'unused_parameter' ? (/\bparameter (\w+)/i.exec(message) ?? []) : []
        const path = unused === undefined ? parameter.split('.') : ['parameters', unused]
        const isInQuery = unused === undefined && line !== undefined
        const field = isInQuery ? undefined : fieldPosition(content, path)
        return field ?? within(queryAt, { line: line ?? 1, column: column ?? 1 })
      },
    }
  },
  write: (fields) => formatDefinition(fields as unknown as EndpointDefinition),
  fieldsOf: (view) => ({ ...definitionShape.parse(endpointFields(view)) }),
  withId,
}

function namesIn({ query }: Pick<EndpointDefinition, 'query'>): string[] {
  return [...queryOf(String(query)).possibleSources]
}

const form = kindForm<EndpointDefinition>({
  name: 'endpoint',
  folder: 'endpoints',
  isReadBySql: true,
  most: 10_000,
  fields: definitionShape,
  takesId: true,
  refersTo: {
    sources: namesIn,
    tables: namesIn,
    endpoints: ({ query }) => possibleEndpoints(String(query)),
  },
  remainder: ({ id, name }) => ({ definition: { id, name, query: 'SELECT 1' }, columns: [] }),
  file,
  docs: {
    about: 'Create, change and delete endpoints.',
    fieldsName: 'EndpointFields',
    fields: sentShape,
    view: { parameters: z.record(z.string(), parameterView).describe(parametersText), columns, ...related },
    changed: { warnings: warningsView },
    deployed: { columns },
    example: {
      name: 'slowest-requests',
      query:
        'SELECT timestamp, request_path, origin_time FROM edge_logs ' +
        'WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY ORDER BY origin_time DESC LIMIT 20',
      parameters: { project: { required: true } },
    },
    changeExample: { max_rows: 100 },
    referenceExample: 'logs.all',
    changes: 'edit',
    texts: {
      reference: 'An endpoint named `query` needs its id here.',
      create: 'Checks the SQL before it stores anything.',
    },
    refusesBreaking: true,
  },
})

export const endpoints = {
  ...form,
  open: ({ endpoints, warningsOf, ...options }: EndpointParts): Opened<SavedEndpoint> => ({
    items: endpoints,
    notFound: (reference, names) => endpointNotFound(reference, closestName(reference, names)),
    reads: (fields) => fields,
    kept: ({ definition: { timestamps, published } }) => ({ timestamps, published }),
    // The type of a column of a source can change.
    isSame: (before, after) => JSON.stringify(before.columns) === JSON.stringify(after.columns),
    async needs({ id, definition }, folder, used, next) {
      const { engine, sources } = await stateOf(options, definition, next)
      // It would read a source or table that gets the name of the endpoint, with other rows.
      const isSame = endpoints.withId(id)?.definition.query === definition.query
      const isReplaced = sources.has(used.name) && !options.readable().has(used.name)
      if (folder === 'endpoints' && isSame && isReplaced) return true
      // A word can also be the name of a column.
      return compileEndpoint(engine, definition, 1, sources).then(
        () => false,
        (error) => invalidQuery.is(error),
      )
    },
    async prepare(fields, { id, next }) {
      const definition = parseDefinition({ id, ...fields })
      const typed = String(fields.query)
      const { engine, sources } = await stateOf(options, definition, next)
      const { columns } = await compileEndpoint(engine, definition, 1, sources).catch((error) => {
        throw errorInTypedText(error, typed)
      })
      return {
        stored: { definition, columns: [...columns] },
        warnings: () => warningsOf(definition, typed, sources),
        shown: { columns },
      }
    },
    async changes(before, after, next) {
      const changes = after ? contractChanges(before, after) : []
      const isBreaking = changes.some(({ breaking }) => breaking)
      const all = isBreaking ? await next.usersOf('endpoints', before, 'all') : []
      // Endpoints that read it are compiled again, so the error says what breaks in them.
      const others = all.filter((user) => !user.startsWith(`${form.folder}/`))
      const affected = [...grouped(others, folderOf)].map(([folder, users]) => {
        return affectedChange(folder, `These use the endpoint: ${users.join(', ')}.`)
      })
      return [...changes, ...affected]
    },
    // Those who use it by a name that it gives up are its users, too.
    async refuseUsed(before, _after, next) {
      const users = await next.usersOf('endpoints', before, 'lost')
      if (users.length > 0) throw inUse(before.name, users)
    },
    views(items, change) {
      const pairs = endpoints.list().flatMap(({ name, definition }) => {
        return mayRead(undefined, definition)
          ? possibleEndpoints(definition.query).map((read) => ({ name, read }))
          : []
      })
      const readers = grouped(pairs, ({ read }) => read)
      const isKnown = (name: string) => endpoints.named(name) !== undefined
      return items.map((item) => ({
        parameters: shownParameters(item.definition.parameters),
        columns: item.columns,
        reads_endpoints: possibleEndpoints(item.definition.query).filter(isKnown),
        read_by_endpoints: (readers.get(item.name) ?? []).map(({ name }) => name),
        ...(change && { warnings: change.warnings }),
      }))
    },
  }),
}

/** Of the reference to a definition, such as `endpoints/logs.all`. */
function folderOf(reference: string): string {
  return reference.slice(0, reference.indexOf('/'))
}

/** The sources after a change, and an engine that has what the query reads of them. */
async function stateOf(
  { engine, catalog, readable, tableColumns }: CompileOptions,
  { query }: Pick<EndpointDefinition, 'query'>,
  next: NextDefinitions,
): Promise<{ engine: Pick<Engine, 'query'>; sources: KnownSources }> {
  const all = () => next.list<SavedEndpoint>('endpoints').map(({ definition }) => definition)
  const allowed = () => all().filter((definition) => mayRead(undefined, definition))
  const named = (name: string) => allowed().find((definition) => definition.name === name)
  const names = () => allowed().map(({ name }) => name)
  const endpoints = next.isChanged('endpoints') ? { named, names } : readable().endpoints
  const current = { ...readable(), ...(endpoints && { endpoints }) }
  if (!next.isChanged('sources') && !next.isChanged('tables')) return { engine, sources: current }
  const allSources = next.list<Source>('sources')
  const filled = next.list('tables').map((table) => [table.name, tableColumns.columnsOf(table)] as const)
  const tables = new Map(filled.filter(([, columns]) => columns.length > 0))
  const known = { ...current, ...withTables(readableSources(allSources), tables) }
  const isMissing = (source: Source) => {
    const typed = current.has(source.name) ? (current.typedColumns?.(source.name) ?? []) : undefined
    const existing = new Set(typed && storedColumns({ columns: typed as Source['columns'] }).map(contentOf))
    return typed === undefined || storedColumns(source).some((column) => !existing.has(contentOf(column)))
  }
  const missing = [
    ...allSources.filter(isMissing).map((source): ScratchTable => {
      return { name: source.name, create: (name, topology) => createScratchTable(name, source, topology) }
    }),
    ...[...tables].flatMap(([name, columns]): ScratchTable[] => {
      const isSame = JSON.stringify(tableColumns.readable.get(name)) === JSON.stringify(columns)
      return isSame
        ? []
        : [{ name, create: (scratch, topology) => createLookupTable(scratch, columns, scratch, topology) }]
    }),
  ]
  if (!missing.some(({ name }) => mayUse(query, name, endpoints))) return { engine, sources: known }
  const scratch = await next.shared('scratch tables', () => createScratchTables(catalog, engine, missing))
  return { engine: scratch.engine, sources: known }
}

/** Whether a query may read a source or table, also through other endpoints. */
function mayUse(query: string, name: string, endpoints: KnownSources['endpoints']): boolean {
  const inner = [...innerDefinitions(query, endpoints).values()]
  return [{ query }, ...inner].some((each) => queryOf(each.query).possibleSources.has(name))
}

/** Sources and tables, for compiling SQL. */
export function withTables<Known extends KnownSources>(
  sources: Known,
  tables: ReadonlyMap<string, readonly TableColumn[]>,
): Known {
  return {
    ...sources,
    has: (name) => sources.has(name) || tables.has(name),
    keys: () => [...sources.keys(), ...tables.keys()],
  }
}

/** Names of the endpoints that read a table and work, and would fail or return other columns if it had these. */
export async function brokenBy(
  { engine, catalog, readable }: Omit<CompileOptions, 'tableColumns'>,
  endpoints: Endpoints,
  table: string,
  columns: readonly TableColumn[],
): Promise<string[]> {
  const sources = readable()
  const readers = endpoints
    .values()
    .filter(({ definition }) => mayUse(definition.query, table, sources.endpoints))
  if (readers.length === 0) return []
  const create: ScratchTable['create'] = (name, topology) => createLookupTable(name, columns, name, topology)
  const other = await createScratchTables(catalog, engine, [{ name: table, create }])
  const broken: string[] = []
  try {
    for (const { name, definition, columns } of readers) {
      const worksWith = (described: Pick<Engine, 'query'>) =>
        compileEndpoint(described, definition, 1, sources).then(
          (compiled) => JSON.stringify(compiled.columns) === JSON.stringify(columns),
          (error) => !invalidQuery.is(error),
        )
      if (!(await worksWith(other.engine)) && (await worksWith(engine))) broken.push(name)
    }
  } finally {
    await other.remove()
  }
  return broken
}

function contentOf({ name, comment }: { name: string; comment: string }): string {
  return `${name} ${comment}`
}
