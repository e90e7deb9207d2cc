import type { AlertFields, SavedAlert, StateName, Target } from './alert.ts'
import type { GroupState } from './alert-groups.ts'
import type { Decision } from './condition.ts'

/** The types of notifications, by the state that they report. */
const types = { ok: 'alert.resolved', firing: 'alert.firing', failing: 'alert.failing' } as const
export type NotifiedState = keyof typeof types
export type NotificationType = (typeof types)[NotifiedState] | 'alert.test'

/** A notification that is not delivered to all targets yet. */
export interface Notification {
  /** The header webhook-id, by which receivers recognize a repeated delivery. */
  readonly id: string
  readonly type: NotificationType
  readonly createdMs: number
  readonly bodies: Partial<Record<Target['type'], string>>
  /** The keys of targets that wait for it, with the attempts since this service delivers. */
  readonly to: Map<string, Attempts>
  /** Whether a target was dropped from it. */
  isIncomplete?: true
}

export interface Attempts {
  count: number
  /** Infinity during an attempt. */
  nextMs: number
}

/** What an evaluation changes, and receivers are notified of: of an alert, or of one of its groups. */
export interface Progress {
  state: StateName
  previous: StateName
  sinceMs: number
  evaluatedMs: number | null
  value: number | null
  error: string | null
  /** Evaluations that failed in a row. */
  failures: number
  /** How long the condition has been met. Null: it is not met. */
  heldMs: number | null
  /** What receivers were last notified of, and when. */
  told: NotifiedState
  toldMs: number
}

/** The stored state of an alert, with the notifications that are not delivered yet: both change together. */
export interface AlertState extends Progress {
  rule: string
  name: string
  /** The keys of targets that responded 410. */
  off: string[]
  /** Such a state is removed when its last notification is delivered. */
  deleted: boolean
  outbox: Notification[]
  /** Notifications that were dropped since the outbox was last empty. */
  dropped: number
  /** Of an alert by group, in the order of the rows. Receivers are notified of them, and of the alert only if it fails. */
  groups?: readonly GroupState[]
  groupsLeftOut?: number
}

/** What the service that evaluates alerts has of each in memory. */
export interface AlertEntry {
  /** A deleted one stays until its last notification is delivered. */
  alert: SavedAlert
  /** The same object for as long as the alert exists: deliveries change it, too. */
  readonly state: AlertState
  /** Infinity while it is evaluated. */
  dueMs: number
}

/** Evaluations that fail in a row before an alert is failing. */
const failuresUntilFailing = 3

export function newState(rule: string, name: string, nowMs: number): AlertState {
  return { rule, name, ...newProgress(nowMs), off: [], deleted: false, outbox: [], dropped: 0 }
}

export function newProgress(nowMs: number): Progress {
  return {
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
  }
}

export type Outcome = Decision | { error: string }

/** Changes the state of an alert or a group as an evaluation demands. */
export function evaluate(
  state: Progress,
  { every_seconds, for_seconds }: Pick<AlertFields, 'every_seconds' | 'for_seconds'>,
  outcome: Outcome,
  nowMs: number,
): void {
  const beforeMs = state.evaluatedMs ?? nowMs
  state.evaluatedMs = nowMs
  if ('error' in outcome) {
    state.failures++
    state.error = outcome.error
    if (state.failures >= failuresUntilFailing) enter(state, 'failing', nowMs)
    return
  }
  // Nobody saw the condition while the service was down or the clock was set, so such a gap counts as two intervals at most.
  const elapsedMs = Math.min(Math.max(0, nowMs - beforeMs), 2000 * every_seconds)
  const heldMs = outcome.met ? (state.heldMs === null ? 0 : state.heldMs + elapsedMs) : null
  enter(state, heldMs === null ? 'ok' : heldMs >= for_seconds * 1000 ? 'firing' : 'pending', nowMs)
  state.value = outcome.value
  state.error = null
  state.failures = 0
  state.heldMs = heldMs
}

export function enter(state: Progress, name: StateName, nowMs: number): void {
  if (name === state.state) return
  state.previous = state.state
  state.state = name
  state.sinceMs = nowMs
}

/** The notification that is due, or undefined. */
export function dueNotification(
  { state, told, toldMs, failures }: Progress,
  { repeat_seconds, muted_until }: Pick<AlertFields, 'repeat_seconds' | 'muted_until'>,
  nowMs: number,
  wallMs: number,
): NotificationType | undefined {
  // An evaluation that failed does not know whether the alert still fires.
  const isUnknown = failures > 0 && state !== 'failing'
  if (isUnknown || isMuted({ muted_until }, wallMs)) return undefined
  const current = toldAs(state)
  if (current !== told) return types[current]
  const isRepeated = current !== 'ok' && repeat_seconds !== null
  return isRepeated && nowMs - toldMs >= repeat_seconds * 1000 ? types[current] : undefined
}

/** By the wall clock, since people choose the end of a mute by it. */
export function isMuted({ muted_until }: Pick<AlertFields, 'muted_until'>, wallMs: number): boolean {
  return muted_until !== null && Date.parse(muted_until) > wallMs
}

/** Receivers are not notified of a pending alert. */
export function toldAs(state: StateName): NotifiedState {
  return state === 'pending' ? 'ok' : state
}
