import type { Endpoint, Parameters } from '../api/shapes.ts'

/** The fields of an endpoint that can be edited here. */
export type EndpointDraft = { parameters: Parameters } & Pick<
  Endpoint,
  | 'name'
  | 'description'
  | 'query'
  | 'max_rows'
  | 'cache_seconds'
  | 'warm_seconds'
  | 'timeout_seconds'
  | 'sandbox'
  | 'strict'
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
  published: true,
  chart: null,
}

const draftFields = Object.keys(newDraft) as (keyof EndpointDraft)[]

export function draftOf(endpoint: Endpoint): EndpointDraft {
  return Object.fromEntries(draftFields.map((field) => [field, endpoint[field]])) as unknown as EndpointDraft
}

export function changedFields(one: EndpointDraft, other: EndpointDraft): (keyof EndpointDraft)[] {
  return draftFields.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
}

/** Applies the changes that a draft made to its base to a newer version. */
export function rebased(draft: EndpointDraft, base: EndpointDraft, newer: EndpointDraft): EndpointDraft {
  const own = changedFields(draft, base).map((name) => [name, draft[name]] as const)
  return { ...newer, ...Object.fromEntries(own) }
}

interface FieldChange {
  field: string
  /** As text; undefined where the field is not set. */
  before: string | undefined
  after: string | undefined
}

/** The differences between two versions except for the SQL, with each field of each parameter. */
export function fieldChanges(before: EndpointDraft, after: EndpointDraft): FieldChange[] {
  const one = leaves(before)
  const other = leaves(after)
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((field) => one.get(field) !== other.get(field))
    .map((field) => ({ field, before: one.get(field), after: other.get(field) }))
}

function leaves({ query: _, parameters, ...fields }: EndpointDraft): Map<string, string> {
  const found = new Map(Object.entries(fields).map(([name, value]) => [name, shown(value)]))
  for (const [name, parameter] of Object.entries(parameters)) {
    const parts = Object.entries(parameter)
    if (parts.length === 0) found.set(`@${name}`, 'declared')
    for (const [part, value] of parts) found.set(`@${name} ${part}`, shown(value))
  }
  return found
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)
}
