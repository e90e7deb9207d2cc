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
export type TypedColumn = Source['columns'][number]
export type SourcePath = Schemas['SourcePath']
export type JsonPath = Schemas['JsonPath']
export type SlowCall = Pick<Schemas['SlowRequest'], 'engine_ms' | 'version'> & { rows_read?: number | null }
export type Replay = Schemas['Replay']
export type ReplayedRequest = Replay['requests'][number]
export type QueryPlan = Schemas['QueryPlan']
export type Plan = Schemas['Plan']
export type Project = Schemas['Project']
export type ProjectUsage = Schemas['ProjectUsage']
export type Erasure = Schemas['Erasure']
/** A table that users fill. */
export type LookupTable = Schemas['Table']
export type TableRows = Schemas['TableRows']
export type Rule = Source['rules'][number]
export type AppliedRule = Schemas['AppliedRule']
export type RulePreview = Schemas['RulePreview']
export type Entry = Schemas['StoredEntry']
/** An entry of the audit. */
export type AuditEntry = Omit<Entry, 'metadata'> & {
  metadata: {
    actor: { type: string; id: string; name: string }
    action: string
    target: string
    target_id?: string
    version?: number
    note?: string
    address: string
  }
}
export type Status = Schemas['Status']
export type Token = Schemas['AccessToken']
export type Person = Schemas['Person']
export type NewToken = Schemas['NewAccessToken']

export type Alert = Schemas['Alert']
export type Dashboard = Schemas['Dashboard']
export type DashboardLink = Schemas['DashboardLink']
export type NewDashboardLink = Schemas['NewDashboardLink']
export type OpenedLink = Schemas['OpenedLink']
export type AlertGroup = Schemas['AlertGroup']
export type AlertTest = Schemas['AlertTest']
export type AlertPreview = Schemas['AlertPreview']

export type Whoami = Result<paths['/api/whoami']['get']>
/** An endpoint as it is shown to tokens that can call it. */
export type CallableEndpoint = Whoami['endpoints'][number]
export type Usage = Result<paths['/api/usage']['get']>
export type Cache = Result<paths['/api/cache']['get']>
export type DraftCheck = Result<paths['/api/endpoints/check']['post']>
export type Histogram = Result<paths['/api/sources/{name}/histogram']['post']>
export type ValueCount = Result<paths['/api/sources/{name}/values']['post']>[number]
export type Row = Record<string, unknown>

/** A change that breaks callers, as errors list it. */
export interface ContractChange {
  kind: string
  message: string
  /** Number of entries that a shorter retention hides. */
  entries?: number
}

/** A request in the list of slow and failed ones. */
export type SlowRequest = Schemas['SlowRequest']

/** Statistics of requests. */
export type Requests = Schemas['RequestReport']

export type EndpointCacheState = Schemas['EndpointCache']

/** A short-lived token for a browser. */
export type Session = Schemas['NewSession']

export type Facets = Result<paths['/api/sources/{name}/facets']['post']>
export type Facet = Facets['facets'][number]
export type SearchSql = Result<paths['/api/sources/{name}/search-sql']['post']>
export type ListColumns = Result<paths['/api/sources/{name}/list-columns']['get']>
export type SavedSearch = Schemas['SavedSearch']
/** A source as the logs page needs it. */
export type LogSource = Whoami['sources'][number]
