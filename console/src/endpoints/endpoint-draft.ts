import type { Endpoint, Parameters } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'

/** The fields of an endpoint that people set. A copy has nothing else. */
export type EndpointDraft = { parameters: Parameters } & Pick<
  Endpoint,
  | 'name'
  | 'description'
  | 'query'
  | 'max_rows'
  | 'cache_seconds'
  | 'warm_seconds'
  | 'timeout_seconds'
  | 'json'
  | 'sandbox'
  | 'strict'
  | 'timestamps'
  | 'published'
  | 'chart'
>

export const newDraft: EndpointDraft = {
  name: '',
  description: '',
  query:
    'SELECT\n    toStartOfMinute(timestamp) AS minute,\n    count() AS requests\nFROM edge_logs\nWHERE project = @project\n    AND timestamp > @now - INTERVAL 1 HOUR\nGROUP BY minute\nORDER BY minute',
  parameters: { project: { required: true, description: 'Project reference.' } },
  max_rows: 1000,
  cache_seconds: null,
  warm_seconds: null,
  timeout_seconds: 30,
  sandbox: false,
  strict: false,
  timestamps: 'iso',
  published: true,
  chart: null,
  json: [],
}

const fields = Object.keys(newDraft) as (keyof EndpointDraft)[]

export const endpointKind: Kind<Endpoint, EndpointDraft> = {
  path: 'endpoints',
  one: 'endpoint',
  sql: 'query',
  draftOf: (saved) =>
    Object.fromEntries(fields.map((field) => [field, saved[field]])) as unknown as EndpointDraft,
}
