/** What every service has from its first start. Endpoints are listed by id, because they can be renamed. */
export const builtInSources: ReadonlySet<string> = new Set([
  'alert_events',
  'audit_events',
  'auth_logs',
  'edge_logs',
  'endpoint_requests',
  'function_edge_logs',
  'function_logs',
  'otel_logs',
  'pgbouncer_logs',
  'postgres_logs',
  'postgrest_logs',
  'quarantine',
  'realtime_logs',
  'storage_logs',
])

/** What the service writes itself. */
export const ownSources: ReadonlySet<string> = new Set([
  'endpoint_requests',
  'alert_events',
  'audit_events',
  'quarantine',
])

/** Built-in endpoints by id, each with the source that it reads. */
export const builtInEndpoints: ReadonlyMap<string, string> = new Map([
  ['de267b0d-59a4-4f82-ba4c-f499a8ff0db7', 'edge_logs'],
  ['a6aaea29-3c0e-46c9-90ff-4d635f66c00a', 'edge_logs'],
  ['ab04667e-7513-42e8-b52f-c416ad7d1123', 'function_edge_logs'],
  ['0d6f0c5e-6a0b-4f43-9a56-6f2c1b7d90e1', 'endpoint_requests'],
  ['7b1f5f0a-3f0e-4c0d-8d6c-2b9a4e1c57d3', 'endpoint_requests'],
])
