import { z } from 'zod'
import { definitionShape as endpointShape } from '../endpoints/definition/definition.ts'
import { parseCondition } from './condition.ts'

const webhook = z.strictObject({
  type: z.literal('webhook'),
  url: z.string().max(2000),
  /** Sent only to get a new one: `new`. */
  secret: z.string().max(200).optional(),
})
const slack = z.strictObject({ type: z.literal('slack'), url: z.string().max(2000) })

const seconds = (min: number, max: number) => {
  const error = `must be a whole number of seconds from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

const maxTargets = 10
const aMonth = 30 * 86_400

/** What users write. `secret` of a webhook never leaves the service except when it is created. */
export const alertShape = z.strictObject({
  name: endpointShape.shape.name,
  description: z.string().max(10_000).default(''),
  endpoint: z.string().min(1, 'is required').max(200),
  parameters: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({}),
  every_seconds: seconds(5, 86_400).default(60),
  when: z
    .string()
    .trim()
    .max(300)
    .refine((text) => parseCondition(text) !== undefined, {
      error: 'must be a condition such as rows > 0, any(errors) >= 10 or all(p95_ms) > 500',
    }),
  for_seconds: seconds(0, aMonth).default(0),
  repeat_seconds: seconds(5, aMonth).nullable().default(null),
  notify: z
    .array(z.discriminatedUnion('type', [webhook, slack]))
    .max(maxTargets, `must have at most ${maxTargets} targets`)
    .default([]),
  enabled: z.boolean().default(true),
  muted_until: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z' })
    .nullable()
    .default(null),
})

export type AlertFields = z.output<typeof alertShape>
export type TargetFields = AlertFields['notify'][number]

const storedTarget = z.object({
  type: z.enum(['webhook', 'slack']),
  url: z.string(),
  /** From which the secret of a webhook is derived, with a mark that tells whether the key is the right one. */
  secret: z.object({ salt: z.string(), mark: z.string() }).optional(),
})

export type Target = z.output<typeof storedTarget>

/** The catalog record of an alert. */
export const storedAlertShape = z.object({
  // Stored alerts are read even if they exceed today's limits.
  definition: z.object({
    name: z.string(),
    description: z.string(),
    endpoint: z.string(),
    parameters: z.record(z.string(), z.string()),
    every_seconds: z.number(),
    when: z.string(),
    for_seconds: z.number(),
    repeat_seconds: z.number().nullable(),
    notify: z.array(storedTarget),
    enabled: z.boolean(),
    muted_until: z.string().nullable(),
  }),
  /** Stays the same if the endpoint is renamed. */
  endpoint_id: z.string(),
  created_at: z.string(),
})

export type StoredAlert = z.output<typeof storedAlertShape>
export type AlertDefinition = StoredAlert['definition']

export const alertStates = ['ok', 'pending', 'firing', 'failing'] as const
export type StateName = (typeof alertStates)[number]

export function targetKey({ type, url }: Pick<Target, 'type' | 'url'>): string {
  return `${type} ${url}`
}

/** What the state depends on: if it changes, the alert starts anew. */
export function ruleOf({ definition, endpoint_id }: StoredAlert): string {
  const { parameters, when, for_seconds, enabled } = definition
  return JSON.stringify([endpoint_id, sortedEntries(parameters), when, for_seconds, enabled])
}

/** Alerts with the same key read the same result, so one query serves all of them. */
export function resultKey({ definition, endpoint_id }: StoredAlert): string {
  return JSON.stringify([endpoint_id, sortedEntries(definition.parameters)])
}

function sortedEntries(fields: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1))
}
