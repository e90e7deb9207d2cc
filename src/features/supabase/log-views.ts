import type { TypedColumn } from '../../core/catalog/source.ts'
import { type EndpointDefinition, parseDefinition } from '../../core/endpoints/definition/definition.ts'
import { sqlName } from '../../core/sql/names.ts'
import { baseColumns, type LogTable } from './bigquery/table-columns.ts'

/** The sources of a self-hosted Supabase, with the names that senders use for them. */
export const logSources = {
  edge_logs: 'cloudflare.logs.prod',
  postgres_logs: 'postgres.logs',
  function_edge_logs: 'deno-relay-logs',
  function_logs: 'deno-subhosting-events',
  auth_logs: 'gotrue.logs.prod',
  realtime_logs: 'realtime.logs.prod',
  storage_logs: 'storage.logs.prod.2',
  postgrest_logs: 'postgREST.logs.prod',
  pgbouncer_logs: 'pgbouncer.logs.prod',
} as const

/** Tables that Studio offers but that only the hosted platform fills. */
const emptyTables = [
  'supavisor_logs',
  'pg_upgrade_logs',
  'auth_audit_logs',
  'etl_replication_logs',
  'multigres_logs',
  'supamonitor_logs',
]

type TypedColumnsOf = (source: string) => readonly TypedColumn[] | undefined

/** Studio's panel for a request reads the headers without asking whether there are any. */
function withHeaders(metadata: string): string {
  const lacks = `JSONHas(${metadata}, 'request') AND JSONExtractRaw(${metadata}, 'request', 'headers') IN ('', 'null')`
  const object = (members: string) => `concat('{', arrayStringConcat(${members}, ','), '}')`
  const others = `arrayFilter(r -> r.1 != 'headers', JSONExtractKeysAndValuesRaw(m.2))`
  const added = object(
    `arrayPushFront(arrayMap(r -> concat(toJSONString(r.1), ':', r.2), ${others}), '"headers":{}')`,
  )
  const members = `arrayMap(m -> concat(toJSONString(m.1), ':', if(m.1 = 'request' AND startsWith(m.2, '{'), ${added}, m.2)), JSONExtractKeysAndValuesRaw(${metadata}))`
  return `if(${lacks}, ${object(members)}, ${metadata})`
}

/** A capital letter, because no source has one: the name of a view must not be that of a source. */
function viewOf(source: string): string {
  return `View_${source}`
}

/** The tables of BigQuery SQL, each with the columns of a source: its view, or the source itself. */
export function logTables(typedColumnsOf: TypedColumnsOf, read: 'views' | 'sources'): Map<string, LogTable> {
  const nameOf = read === 'views' ? viewOf : (source: string) => source
  const tables = new Map<string, LogTable>()
  for (const source of Object.keys(logSources)) {
    const isShown = read === 'views' && source === 'edge_logs'
    const columns = typedColumnsOf(source) ?? []
    tables.set(source, { view: nameOf(source), columns, ...(isShown && { wholeMetadata: withHeaders }) })
  }
  const nothing = `(SELECT ${baseColumns.join(', ')} FROM ${nameOf('edge_logs')} WHERE 0)`
  for (const name of emptyTables) tables.set(name, { view: nothing, columns: [] })
  return tables
}

const parameters = {
  project: { required: true, description: 'Project reference.' },
  iso_timestamp_start: { type: 'timestamp', empty_is_omitted: true, description: 'Only later entries.' },
  iso_timestamp_end: { type: 'timestamp', empty_is_omitted: true, description: 'No later entries.' },
}

const inWindow =
  'project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start) ' +
  'AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)'

/** A sandbox with one view per source. Project and time are filtered inside of the views. */
export function bigQueryDefinition(typedColumnsOf: TypedColumnsOf): EndpointDefinition {
  const views = Object.keys(logSources).map((source) => {
    const typed = (typedColumnsOf(source) ?? []).map((column) => sqlName(column.name))
    const columns = [...baseColumns, ...typed].join(', ')
    return `${viewOf(source)} AS (SELECT ${columns} FROM ${source} WHERE ${inWindow})`
  })
  return parseDefinition({
    id: '0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e01',
    name: 'logs.all',
    query: `WITH ${views.join(',\n')}\nSELECT * FROM ${viewOf('edge_logs')}`,
    parameters,
    sandbox: true,
    timestamps: 'logflare',
  })
}
