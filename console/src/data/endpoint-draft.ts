import type { Endpoint, Parameters } from './api-types.ts'

/** The fields of an endpoint that people write. */
export interface EndpointDraft {
  name: string
  description: string
  query: string
  parameters: Parameters
  max_rows: number
  cache_seconds: number | null
  warm_seconds: number | null
  timeout_seconds: number
  sandbox: boolean
}

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
}

export function draftOf(endpoint: Endpoint): EndpointDraft {
  const {
    name,
    description,
    query,
    parameters,
    max_rows,
    cache_seconds,
    warm_seconds,
    timeout_seconds,
    sandbox,
  } = endpoint
  return {
    name,
    description,
    query,
    parameters,
    max_rows,
    cache_seconds,
    warm_seconds,
    timeout_seconds,
    sandbox,
  }
}

/** The fields in which two drafts differ. */
export function changedFields(one: EndpointDraft, other: EndpointDraft): (keyof EndpointDraft)[] {
  const names = Object.keys(one) as (keyof EndpointDraft)[]
  return names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
}
