import { type NewSource, newSourceShape } from './source.ts'

/** Rejected entries are kept here, whatever source they were meant for. */
export const quarantineSource = 'quarantine'
/** Where OpenTelemetry records go that name no source. */
export const otelSource = 'otel_logs'
/** Calls of endpoints. The service writes them; nobody else does. */
export const callsSource = 'endpoint_requests'

/** The sources that exist from the first start, with the names that other senders know them by. */
export const builtInSources: readonly NewSource[] = [
  {
    name: 'edge_logs',
    aliases: ['cloudflare.logs.prod'],
    description: 'Requests at the edge.',
    hot_fields: [
      { column: 'request_url', path: 'request.url', type: 'text', searched: true },
      { column: 'request_path', path: 'request.path', type: 'text' },
    ],
  },
  { name: 'postgres_logs', aliases: ['postgres.logs'], description: 'Databases.' },
  {
    name: 'function_edge_logs',
    aliases: ['deno-relay-logs'],
    description: 'Invocations of functions, as the relay saw them.',
    hot_fields: [
      { column: 'function_id', path: 'function_id', type: 'text' },
      { column: 'execution_time_ms', path: 'execution_time_ms', type: 'number' },
      { column: 'status_code', path: 'response.status_code', type: 'number' },
    ],
  },
  { name: 'function_logs', aliases: ['deno-subhosting-events'], description: 'Events inside of functions.' },
  { name: 'auth_logs', aliases: ['gotrue.logs.prod'], description: 'Authentication.' },
  { name: 'realtime_logs', aliases: ['realtime.logs.prod'], description: 'Realtime.' },
  { name: 'storage_logs', aliases: ['storage.logs.prod.2'], description: 'Storage.' },
  { name: 'postgrest_logs', aliases: ['postgREST.logs.prod'], description: 'REST API.' },
  { name: 'pgbouncer_logs', aliases: ['pgbouncer.logs.prod'], description: 'Connection pooler.' },
  { name: quarantineSource, description: 'Entries that were rejected, as text, with the reason.' },
  { name: otelSource, description: 'OpenTelemetry records that name no source.' },
  {
    name: callsSource,
    description: 'Calls of endpoints: by whom, how they went and what they cost. Written by the service.',
    retention_days: 30,
    hot_fields: [
      { column: 'endpoint', path: 'endpoint', type: 'text' },
      { column: 'token_id', path: 'token_id', type: 'text' },
      { column: 'status', path: 'status', type: 'number' },
      { column: 'cache', path: 'cache', type: 'text' },
      { column: 'calls', path: 'calls', type: 'number' },
      { column: 'total_ms', path: 'total_ms', type: 'number' },
      { column: 'engine_ms', path: 'engine_ms', type: 'number' },
      { column: 'bytes', path: 'bytes', type: 'number' },
    ],
  },
].map((source) => newSourceShape.parse(source))

const names = new Set(builtInSources.map(({ name }) => name))

export function isBuiltIn(name: string): boolean {
  return names.has(name)
}
