/** What the service answers, as far as the console looks at it. */
export interface Column {
  name: string
  type: string
}

export type ParameterType = 'string' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'regex'

/** Of the parameter's own type, or text. */
export type ParameterValue = string | number | boolean

export interface Parameter {
  type?: ParameterType
  required?: boolean
  default?: ParameterValue
  enum?: ParameterValue[]
  empty_is_omitted?: boolean
  description?: string
  example?: ParameterValue
}

export type Parameters = Record<string, Parameter>

/** An endpoint as everybody sees it who may call it. */
export interface CallableEndpoint {
  id: string
  name: string
  description: string
  parameters: Parameters
  columns: Column[]
  max_rows: number
  cache_seconds: number | null
  sandbox: boolean
  version: number
}

export interface Endpoint extends CallableEndpoint {
  query: string
  warm_seconds: number | null
  timeout_seconds: number
  incremental: unknown
  created_at: string
  updated_at: string
  updated_by: string
}

export interface Whoami {
  id: string
  admin: boolean
  query: boolean
  ingest: boolean
  project: string | null
  parameters: Record<string, string>
  endpoints: CallableEndpoint[]
}

/** What the cache holds of an endpoint. */
export interface CachedEndpoint {
  id: string
  name: string
  results: number
  newest_age_seconds: number
}

export interface Source {
  name: string
  description: string
  aliases: string[]
  retention_days: number
  hot_fields: TypedColumn[]
}

export interface TypedColumn {
  column: string
  path: string
  type: 'text' | 'number'
  searched: boolean
}

export interface SourcePath {
  path: string
  types: string[]
  /** How many of the sampled entries have it. */
  entries: number
  sampled: number
  column: string | null
  /** From 0 to 1 while a column is stored for older entries. */
  filled: number | null
}

/** A path that an endpoint reads from the JSON text of each entry. */
export interface JsonPath {
  source: string
  path: string
  cast: string | null
}

export interface SlowCall {
  engine_ms: number
  rows_read: number | null
  version: number
}

export interface Usage {
  disk: { free_bytes: number; reserve_bytes: number } | null
  sources: { name: string; entries: number; bytes: number; per_minute: number[] }[]
}

export interface Entry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: Record<string, unknown>
}

export interface Status {
  version: string
  ready: boolean
  reason?: string
  engine: { ready: boolean; version?: string; restarts: number; reason?: string }
}

export interface Token {
  id: string
  description: string
  scopes: string[]
  project: string | null
  parameters: Record<string, string>
  expires_at: string | null
  requests_per_minute: number | null
  created_at: string
  last_used_at: string | null
  previous_valid_until: string | null
  token?: string
}

export interface Histogram {
  bucket_seconds: number
  buckets: { timestamp: number; count: number }[]
}

export interface EndpointStat {
  timestamp: number | string
  endpoint: string
  calls: number
  errors: number
  hit_ratio: number | null
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
}

export type Row = Record<string, unknown>
