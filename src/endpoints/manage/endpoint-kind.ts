import { endpointNotFound, forbidden, inUse, invalidQuery } from '../../base/errors.ts'
import { closestName } from '../../base/text/closest-name.ts'
import { writableFields } from '../../base/validation.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { createScratchTables } from '../../catalog/scratch-tables.ts'
import type { Source } from '../../catalog/source.ts'
import { readableSources } from '../../catalog/sources.ts'
import { storedColumns } from '../../catalog/tables.ts'
import { commonReadOnly } from '../../definitions/definitions.ts'
import type { Kind, NextDefinitions } from '../../definitions/kind.ts'
import type { Engine } from '../../engine/engine.ts'
import { auditRefusal, readsAudit } from '../../sql/audit-source.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import { possibleSources } from '../../sql/tokens.ts'
import type { Warning } from '../../sql/warnings/warning.ts'
import { type EndpointDefinition, parseDefinition, readOnlyFields } from '../definition/definition.ts'
import { compileEndpoint, type KnownSources } from '../definition/endpoint.ts'
import { shownParameters } from '../definition/parameter-declaration.ts'
import { contractChanges } from './contract-changes.ts'
import type { WarningsOf } from './endpoint-warnings.ts'
import type { Endpoints, SavedEndpoint } from './endpoints.ts'

interface CompileOptions {
  engine: Engine
  catalog: Catalog
  sources: () => KnownSources
}

interface EndpointKindOptions extends CompileOptions {
  endpoints: Endpoints
  warningsOf: WarningsOf
}

/** What was sent of an endpoint, without fields that only the service sets. */
export function endpointFields(body: unknown): Record<string, unknown> {
  return writableFields(body, [...commonReadOnly, ...readOnlyFields])
}

export type EndpointView = ReturnType<typeof view>
export type ChangedEndpoint = EndpointView & { warnings: Warning[] }

export function endpointKind(options: EndpointKindOptions): Kind<SavedEndpoint> {
  const { endpoints, warningsOf } = options
  return {
    name: 'endpoint',
    folder: 'endpoints',
    takesId: true,
    readOnly: readOnlyFields,
    items: endpoints,
    notFound: (reference) => endpointNotFound(reference, closestName(reference, endpoints.names())),
    read: (record) => endpoints.read(record),
    fieldsOf: ({ definition }) => definition,
    kept: ({ definition: { timestamps, published } }) => ({ timestamps, published }),
    // The type of a column of a source can change.
    isSame: (before, after) => JSON.stringify(before.columns) === JSON.stringify(after.columns),
    deletedBody: ({ id, name, created_at }) => ({
      ...{ definition: { id, name, query: 'SELECT 1' }, columns: [], created_at },
    }),
    async prepare(fields, { id, current, next, at, note, isAdmin }) {
      const definition = parseDefinition({ id, ...fields })
      if (!isAdmin && readsAudit(definition)) throw forbidden(auditRefusal)
      const typed = String(fields.query)
      const { engine, sources } = await stateOf(options, definition, next)
      const { columns } = await compileEndpoint(engine, definition, 1, sources).catch((error) => {
        throw errorInTypedText(error, typed)
      })
      return {
        body: { definition, columns: [...columns], created_at: current?.created_at ?? at, note },
        warnings: () => warningsOf(definition, typed, sources),
        shown: { columns },
      }
    },
    changes(before, after, next) {
      const changes = after ? contractChanges(before, after) : []
      const isBreaking = changes.some(({ breaking }) => breaking)
      const all = isBreaking ? next.usersOf('endpoints', before, 'all') : []
      const users = all.filter((user) => user.startsWith('dashboards/'))
      const message = `These use the endpoint: ${users.join(', ')}.`
      return users.length === 0
        ? changes
        : [...changes, { kind: 'dashboards_affected', breaking: true, message }]
    },
    // Those who use it by a name that it gives up are its users, too.
    refuseUsed(before, _after, next) {
      const users = next.usersOf('endpoints', before, 'lost')
      if (users.length > 0) throw inUse(before.name, users)
    },
    views: (items, change) =>
      items.map((item) => ({ ...view(item), ...(change && { warnings: change.warnings }) })),
  }
}

/** The sources after a change, and an engine that has what the query reads of them. */
async function stateOf(
  { engine, catalog, sources }: CompileOptions,
  { query }: Pick<EndpointDefinition, 'query'>,
  next: NextDefinitions,
): Promise<{ engine: Pick<Engine, 'query'>; sources: KnownSources }> {
  const current = sources()
  if (!next.isChanged('sources')) return { engine, sources: current }
  const all = next.list<Source>('sources')
  const known = { ...current, ...readableSources(all) }
  const words = possibleSources(query)
  const isMissing = (source: Source) => {
    const typed = current.has(source.name) ? (current.typedColumns?.(source.name) ?? []) : undefined
    const existing = new Set(typed && storedColumns({ columns: typed as Source['columns'] }).map(contentOf))
    return typed === undefined || storedColumns(source).some((column) => !existing.has(contentOf(column)))
  }
  if (!all.some((source) => words.has(source.name) && isMissing(source))) return { engine, sources: known }
  const scratch = await next.shared('scratch tables', () =>
    createScratchTables(catalog, engine, all.filter(isMissing)),
  )
  return { engine: scratch.engine, sources: known }
}

function contentOf({ name, comment }: { name: string; comment: string }): string {
  return `${name} ${comment}`
}

/** Names of the endpoints that no longer work without a source. */
export async function readersOf(
  options: CompileOptions,
  { name, aliases }: Pick<Source, 'name' | 'aliases'>,
  next: NextDefinitions,
): Promise<string[]> {
  const readers: string[] = []
  for (const { name: endpoint, definition } of next.list<SavedEndpoint>('endpoints')) {
    const words = possibleSources(definition.query)
    if (![name, ...aliases].some((word) => words.has(word))) continue
    const state = await stateOf(options, definition, next)
    // A word can also be the name of a column.
    const works = await compileEndpoint(state.engine, definition, 1, state.sources).then(
      () => true,
      (error) => !invalidQuery.is(error),
    )
    if (!works) readers.push(endpoint)
  }
  return readers
}

function view({ definition, version, columns, created_at, updated_at, updated_by, note }: SavedEndpoint) {
  return {
    ...definition,
    parameters: shownParameters(definition.parameters),
    ...{ version, columns, created_at, updated_at, updated_by, note },
  }
}
