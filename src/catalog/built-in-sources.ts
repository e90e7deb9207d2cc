import { type NewSource, newSourceShape } from './source.ts'

/** Holds rejected entries of all sources. */
export const quarantineSource = 'quarantine'
/** Holds OpenTelemetry records that name no source. */
export const otelSource = 'otel_logs'
/** Holds requests to endpoints. Only the service writes to it. */
export const callsSource = 'endpoint_requests'
/** Holds changes of alerts and their deliveries. Only the service writes to it. */
export const alertsSource = 'alert_events'

export function isWrittenByService(source: string): boolean {
  return source === callsSource || source === alertsSource
}

const text = (name: string, path = name) => ({ name, path, type: 'text' as const })
const texts = (...columns: string[]) => columns.map((column) => text(column))
const number = (name: string, path = name) => ({ name, path, type: 'number' as const })
const numbers = (...columns: string[]) => columns.map((column) => number(column))

/** The sources that exist from the first start. Their aliases are the names that existing senders use. */
export const builtInSources: readonly NewSource[] = [
  {
    name: 'edge_logs',
    aliases: ['cloudflare.logs.prod'],
    description: 'Requests at the edge.',
    columns: [
      { ...text('request_url', 'request.url'), searched: true },
      text('request_path', 'request.path'),
      text('request_method', 'request.method'),
      text('request_host', 'request.host'),
      number('status_code', 'response.status_code'),
      number('origin_time', 'response.origin_time'),
      text('country', 'request.cf.country'),
      text('user_agent', 'request.headers.user_agent'),
    ],
  },
  {
    name: 'postgres_logs',
    aliases: ['postgres.logs'],
    description: 'Databases.',
    columns: [
      text('error_severity', 'parsed.error_severity'),
      text('user_name', 'parsed.user_name'),
      text('database_name', 'parsed.database_name'),
      text('sql_state_code', 'parsed.sql_state_code'),
    ],
  },
  {
    name: 'function_edge_logs',
    aliases: ['deno-relay-logs'],
    description: 'Invocations of functions, as the relay saw them.',
    columns: [
      text('function_id'),
      number('execution_time_ms'),
      number('status_code', 'response.status_code'),
      ...texts('deployment_id', 'region', 'level'),
    ],
  },
  {
    name: 'function_logs',
    aliases: ['deno-subhosting-events'],
    description: 'Events inside of functions.',
    columns: texts('function_id', 'deployment_id', 'execution_id', 'event_type', 'level', 'region'),
  },
  {
    name: 'auth_logs',
    aliases: ['gotrue.logs.prod'],
    description: 'Authentication.',
    columns: [
      ...texts('path', 'method'),
      number('status'),
      text('level'),
      text('action', 'auth_event.action'),
      number('duration'),
    ],
  },
  {
    name: 'realtime_logs',
    aliases: ['realtime.logs.prod'],
    description: 'Realtime.',
    columns: texts('level', 'topic', 'region'),
  },
  {
    name: 'storage_logs',
    aliases: ['storage.logs.prod.2'],
    description: 'Storage.',
    columns: [
      text('request_method', 'req.method'),
      text('request_url', 'req.url'),
      number('status_code', 'res.statusCode'),
      number('response_time', 'responseTime'),
      text('level'),
    ],
  },
  {
    name: 'postgrest_logs',
    aliases: ['postgREST.logs.prod'],
    description: 'REST API.',
    columns: texts('host', 'component'),
  },
  {
    name: 'pgbouncer_logs',
    aliases: ['pgbouncer.logs.prod'],
    description: 'Connection pooler.',
    columns: texts('level', 'database', 'user'),
  },
  { name: quarantineSource, description: 'Entries that were rejected, as text, with the reason.' },
  { name: otelSource, description: 'OpenTelemetry records that name no source.' },
  {
    name: callsSource,
    description: 'Requests to endpoints: caller, outcome and cost. Written by the service.',
    retention_days: 30,
    columns: [
      ...texts('endpoint', 'token_id'),
      number('status'),
      text('cache'),
      ...numbers('calls', 'total_ms', 'engine_ms', 'bytes'),
    ],
  },
  {
    name: alertsSource,
    description: 'State changes of alerts, and deliveries of their notifications. Written by the service.',
    columns: [
      ...texts('alert', 'alert_id', 'kind', 'type', 'state', 'previous_state'),
      ...numbers('value', 'status'),
    ],
  },
].map((source) => newSourceShape.parse(source))

const names = new Set(builtInSources.map(({ name }) => name))

export function isBuiltIn(name: string): boolean {
  return names.has(name)
}
