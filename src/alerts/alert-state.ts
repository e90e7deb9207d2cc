import { z } from 'zod'
import { type AlertDefinition, alertStates, type StateName } from './alert.ts'
import type { Decision } from './condition.ts'

export const notificationTypes = ['alert.firing', 'alert.resolved', 'alert.failing', 'alert.test'] as const
export type NotificationType = (typeof notificationTypes)[number]

const notificationShape = z.object({
  /** The header webhook-id, by which receivers recognize a repeated delivery. */
  id: z.string(),
  type: z.enum(notificationTypes),
  target: z.object({
    type: z.enum(['webhook', 'slack']),
    url: z.string(),
    secret: z.object({ salt: z.string(), mark: z.string() }).optional(),
  }),
  body: z.string(),
  createdMs: z.number(),
  attempts: z.number(),
  nextMs: z.number(),
})

/** A notification for one target that is not delivered yet. */
export type Notification = z.output<typeof notificationShape>

export const stateShape = z.object({
  rule: z.string(),
  name: z.string(),
  state: z.enum(alertStates),
  previous: z.enum(alertStates),
  sinceMs: z.number(),
  evaluatedMs: z.number().nullable(),
  value: z.number().nullable(),
  error: z.string().nullable(),
  /** Evaluations that failed in a row. */
  failures: z.number(),
  /** How long the condition has been met. Null: it is not met. */
  heldMs: z.number().nullable(),
  /** What receivers were last notified of. */
  told: z.enum(['ok', 'firing', 'failing']),
  toldMs: z.number(),
  /** Targets that responded 410, and when. */
  off: z.array(z.object({ target: z.string(), atMs: z.number() })),
  outbox: z.array(notificationShape),
})

/** The stored state of an alert, with the notifications that are not delivered yet: both change together. */
export type AlertState = z.output<typeof stateShape>

/** Evaluations that fail in a row before an alert is failing. */
const failuresUntilFailing = 3

export function newState(rule: string, name: string, nowMs: number): AlertState {
  return {
    rule,
    name,
    state: 'ok',
    previous: 'ok',
    sinceMs: nowMs,
    evaluatedMs: null,
    value: null,
    error: null,
    failures: 0,
    heldMs: null,
    told: 'ok',
    toldMs: nowMs,
    off: [],
    outbox: [],
  }
}

export type Outcome = Decision | { error: string }

/** The state after an evaluation. The given one is not changed. */
export function afterEvaluation(
  before: AlertState,
  { every_seconds, for_seconds }: Pick<AlertDefinition, 'every_seconds' | 'for_seconds'>,
  outcome: Outcome,
  nowMs: number,
): AlertState {
  if ('error' in outcome) {
    const failures = before.failures + 1
    const failed = { ...before, evaluatedMs: nowMs, error: outcome.error, failures }
    return failures >= failuresUntilFailing ? inState(failed, 'failing', nowMs) : failed
  }
  const { met, value } = outcome
  // Nobody saw the condition while the service was down or the clock was set, so such a gap counts as two intervals at most.
  const elapsedMs = Math.min(Math.max(0, nowMs - (before.evaluatedMs ?? nowMs)), 2000 * every_seconds)
  const heldMs = met ? (before.heldMs === null ? 0 : before.heldMs + elapsedMs) : null
  const state = heldMs === null ? 'ok' : heldMs >= for_seconds * 1000 ? 'firing' : 'pending'
  return inState({ ...before, evaluatedMs: nowMs, value, error: null, failures: 0, heldMs }, state, nowMs)
}

function inState(before: AlertState, state: StateName, nowMs: number): AlertState {
  return state === before.state ? before : { ...before, state, previous: before.state, sinceMs: nowMs }
}

/** The notification that is due, or undefined. */
export function dueNotification(
  { state, told, toldMs }: AlertState,
  { repeat_seconds, muted_until }: Pick<AlertDefinition, 'repeat_seconds' | 'muted_until'>,
  nowMs: number,
  /** By the wall clock, since people choose the end of a mute by it. */
  wallMs: number,
): NotificationType | undefined {
  if (muted_until !== null && Date.parse(muted_until) > wallMs) return undefined
  const current = toldAs(state)
  if (current !== told) return typeOf(current)
  const isRepeated = current !== 'ok' && repeat_seconds !== null && nowMs - toldMs >= repeat_seconds * 1000
  return isRepeated ? typeOf(current) : undefined
}

/** Receivers are not notified of a pending alert. */
export function toldAs(state: StateName): AlertState['told'] {
  return state === 'pending' ? 'ok' : state
}

function typeOf(told: AlertState['told']): NotificationType {
  switch (told) {
    case 'ok':
      return 'alert.resolved'
    case 'firing':
      return 'alert.firing'
    case 'failing':
      return 'alert.failing'
  }
}
