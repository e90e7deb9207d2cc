import type { components, paths } from './schema.d.ts'

type Schemas = components['schemas']
type Json<Body> = { content: { 'application/json': Body } }
/** What an operation returns. */
type Result<Operation> = Operation extends { responses: { 200: Json<infer Body> } } ? Body : never

export type Endpoint = Schemas['Endpoint']
/** A parameter as people declare it: everything is optional. */
export type Parameter = Schemas['ParameterFields']
export type Parameters = Record<string, Parameter>
export type Column = Endpoint['columns'][number]
export type Source = Schemas['Source']
export type TypedColumn = Source['hot_fields'][number]
export type SourcePath = Schemas['SourcePath']
export type JsonPath = Schemas['JsonPath']
export type SlowCall = Pick<Schemas['SlowCall'], 'engine_ms' | 'rows_read' | 'version'>
export type Replay = Schemas['Replay']
export type ReplayedRequest = Replay['requests'][number]
export type Plan = Schemas['Plan']
export type Entry = Schemas['StoredEntry']
export type Status = Schemas['Status']
export type Token = Schemas['AccessToken'] & { created_by?: string | null }
export type NewToken = Schemas['NewAccessToken']

export type Whoami = Result<paths['/api/whoami']['get']> & { logs?: boolean }
/** An endpoint as it is shown to tokens that can call it. */
export type CallableEndpoint = Whoami['endpoints'][number]
export type Usage = Result<paths['/api/usage']['get']> & {
  entries: { bucket_seconds: number; buckets: { timestamp: number; counts: Record<string, number> }[] }
  cache: { results: number; bytes: number; max_bytes: number; hits: number; misses: number }
}
export type Cache = Result<paths['/api/cache']['get']>
export type DraftCheck = Result<paths['/api/endpoints/check']['post']>
export type Histogram = Result<paths['/api/sources/{name}/histogram']['post']>
export type ValueCount = Result<paths['/api/sources/{name}/values']['post']>[number]
export type Row = Record<string, unknown>

/** A change that breaks callers, as errors list it. */
export interface ContractChange {
  kind: string
  message: string
}

/** A row of the endpoint `wellhead.endpoint-stats`. */
export interface EndpointStat {
  endpoint: string
  calls: number
  errors: number
  hit_ratio: number | null
  p95_ms: number | null
}

/** A request in the list of slow and failed ones. */
export type SlowRequest = Schemas['SlowCall'] & { endpoint?: string }

export interface Requests {
  interval: string
  bucket_seconds: number
  buckets: ({ timestamp: number } & Figures)[]
  totals: Figures
  endpoints: { endpoint: string; requests: number; errors: number; hits: number; p95_ms: number | null }[]
  callers: {
    token_id: string
    description: string | null
    requests: number
    errors: number
    p95_ms: number | null
    last_at: string
  }[]
  codes: { code: string; status: number; endpoint: string; requests: number; last_at: string }[]
}
interface Figures {
  requests: number
  errors: number
  hits: number
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
}
export interface EndpointCacheState {
  cache_seconds: number | null
  warm_seconds: number | null
  total: number
  results: {
    key: string
    parameters: Record<string, string>
    project: string | null
    format: string
    age_seconds: number
    expires_in_seconds: number
    refresh_in_seconds: number | null
    bytes: number
    rows: number | null
    uses: number
    last_used_seconds: number
    state: 'fresh' | 'stale' | 'expired'
    warm: boolean
    failure: string | null
  }[]
}

/** A short-lived token for a browser. */
export interface Session {
  token: string
  expires_at: string
}
