import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseDuration } from '../../core/base/text/duration.ts'
import { isoInstant, valuesText } from '../../core/base/validation.ts'
import type { CatalogRecord } from '../../core/catalog/catalog-state.ts'
import { readerOf } from '../../core/definitions/kind.ts'
import { definitionShape as endpointShape, seconds } from '../../core/endpoints/definition/definition.ts'
import { type Condition, parseCondition } from './condition.ts'
import { emailAddress } from './mail-server.ts'

const maxTargets = 10
const aMonth = 30 * 86_400

/** `targetForms` has what each receives. */
const targetTypes = ['webhook', 'slack', 'email'] as const

export const targetShape = z.object({
  type: z.enum(targetTypes).describe('Form of the notification.'),
  url: z.string().max(2000).exactOptional().describe('Address that receives a POST request.'),
  to: emailAddress.exactOptional().describe('Address that receives email.'),
})

export const addressShape = targetShape.superRefine(({ type, ...fields }, { addIssue }) => {
  const [needed, other] = type === 'email' ? (['to', 'url'] as const) : (['url', 'to'] as const)
  if (fields[needed] === undefined) addIssue({ code: 'custom', path: [needed], message: 'is required' })
  if (fields[other] !== undefined)
    addIssue({ code: 'custom', path: [other], message: `is not a field of a target of the type ${type}` })
})

export function notifyOf<Shape extends z.ZodType>(target: Shape) {
  return z
    .array(target)
    .max(maxTargets, `must have at most ${maxTargets} targets`)
    .default([])
    .describe('Where notifications are sent.')
}

function durationMs(text: string): number | undefined {
  const ms = (parseDuration(text) ?? 0) * 1000
  return ms > 0 && ms <= 1000 * aMonth ? ms : undefined
}

/** What users write. */
export const alertShape = z.strictObject({
  name: endpointShape.shape.name.describe('Unique among alerts.'),
  description: z.string().max(10_000).default('').describe('What the alert is for.'),
  endpoint: z.string().min(1, 'is required').max(200).describe('Name or id of the endpoint to evaluate.'),
  parameters: z.record(z.string(), valuesText).default({}).describe('Parameters of the endpoint, by name.'),
  every_seconds: seconds(86_400, 5).default(60).describe('How often the alert is evaluated.'),
  when: z
    .string()
    .trim()
    .max(300)
    .refine((text) => parseCondition(text) !== undefined, {
      error: 'must be a condition such as rows > 0, any(errors) >= 10 or all(p95_ms) > 500',
    })
    .describe(
      '`rows > 0`, `any(column) >= 10` or `all(column) > 500`: the number of rows, or a column of any or of all rows, compared (`>` `>=` `<` `<=` `=` `!=`) with a number. An empty result meets neither `any` nor `all`.',
    ),
  for_seconds: seconds(aMonth, 0).default(0).describe('How long the condition must hold before it fires.'),
  repeat_seconds: seconds(aMonth, 5)
    .nullable()
    .default(null)
    .describe('How often to notify again while it fires. Null: only of changes.'),
  notify: notifyOf(addressShape),
  enabled: z.boolean().default(true).describe('Whether the alert is evaluated.'),
  muted_until: isoInstant
    .nullable()
    .default(null)
    .describe('Until then no notifications are sent. Null: not muted.'),
  by: z
    .array(z.string().min(1).max(200))
    .max(3, 'must have at most three columns')
    .refine((columns) => new Set(columns).size === columns.length, { error: 'must have distinct columns' })
    .default([])
    .describe(
      'Columns of the result. Each combination of their values is a group with a state of its own. Empty: no groups.',
    ),
  keep_missing: z
    .string()
    .refine((text) => durationMs(text) !== undefined, {
      error: 'must be a duration of up to 30 days, such as 30s, 5m, 2h or 1d',
    })
    .default('5m')
    .describe('How long a group without rows keeps its state. Then it is resolved.'),
  muted_groups: z
    .record(z.string().max(40), isoInstant)
    .refine((muted) => Object.keys(muted).length <= 1000, { error: 'must have at most 1000 groups' })
    .default({})
    .describe('Until when groups are muted, by their ids.'),
})

export type AlertFields = z.output<typeof alertShape>

const readStored = readerOf(
  alertShape.extend({
    // What the secret of a webhook is derived from.
    notify: z.array(targetShape.extend({ secret: z.string().optional() })),
  }),
)

export type Target = ReturnType<typeof readStored>['definition']['notify'][number]
export type SavedAlert = ReturnType<typeof readAlert>

export function readAlert(record: Omit<CatalogRecord, 'entry' | 'kind'>) {
  const stored = readStored({ entry: '', kind: 'alert', ...record })
  const { endpoint, parameters, when, for_seconds, enabled, notify, by, keep_missing } = stored.definition
  // Alerts with the same key read the same result, so one query serves all of them.
  const resultKey = JSON.stringify([endpoint, Object.entries(parameters).sort()])
  return {
    ...stored,
    deleted: record.deleted,
    resultKey,
    /** By their keys. */
    targets: new Map(notify.map((target) => [targetKey(target), { ...target, host: hostOf(target) }])),
    // The shape has checked it.
    condition: parseCondition(when) as Condition,
    /** What the state depends on: if it changes, the alert starts anew. See `isEnabledBy`. */
    rule: JSON.stringify([resultKey, when, for_seconds, ...(by.length > 0 ? [by] : []), enabled]),
    keepMissingMs: durationMs(keep_missing) as number,
  }
}

export function isEnabledBy(rule: string): boolean {
  return (JSON.parse(rule) as unknown[]).at(-1) === true
}

export const alertStates = ['ok', 'pending', 'firing', 'failing'] as const
export type StateName = (typeof alertStates)[number]

export type Address = z.output<typeof targetShape>

/** Without its secret. */
export function addressOf({ type, url, to }: Address): Address {
  return { type, ...(url !== undefined && { url }), ...(to !== undefined && { to }) }
}

/** Short, because every notification that waits has those of its targets. */
export function targetKey({ type, url, to = '' }: Address): string {
  return createHash('sha256')
    .update(`${type} ${url ?? to}`)
    .digest('base64url')
    .slice(0, 16)
}

function hostOf({ url = '', to = '' }: Address): string {
  return URL.canParse(url) ? new URL(url).host : to.slice(to.indexOf('@') + 1)
}
