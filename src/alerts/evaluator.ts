import { createHash } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import { overloaded, WellheadError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { EngineTime } from '../endpoints/call/engine-time.ts'
import { type SavedAlert, targetKey } from './alert.ts'
import { type AlertResults, outcomeOf } from './alert-results.ts'
import {
  type AlertState,
  afterEvaluation,
  dueNotification,
  type NotificationType,
  newState,
  toldAs,
} from './alert-state.ts'
import type { AlertStore } from './alert-store.ts'
import type { Row } from './condition.ts'
import type { Deliveries } from './deliveries.ts'
import { EngineShare } from './engine-share.ts'
import { notificationsFor, shownRows } from './notification.ts'

interface EvaluatorOptions {
  /** By id, with deleted ones. */
  alerts: ReadonlyMap<string, SavedAlert>
  results: AlertResults
  store: AlertStore
  deliveries: Deliveries
  /** Queries that the engine runs at a time. */
  engineSlots: number
  time: Timers
  log: Log
  onEvaluated: (result: 'ok' | 'failed', lateMs: number) => void
}

interface Entry {
  alert: SavedAlert
  /** The same object for as long as the alert exists: deliveries change it, too. */
  readonly state: AlertState
  dueMs: number
  running: boolean
}

const tickMs = 200
const maxRunning = { quick: 4, slow: 1 }
/** Times and values of evaluations that changed nothing else are stored together. */
const flushEveryMs = 10_000
const retryAfterMs = 1_000
/** Maximum number of notifications of one alert that wait for delivery; the oldest are dropped. */
const maxOutbox = 100

/** Evaluates alerts on time, and keeps their states. Of several services, the one with the lease does it. */
export class Evaluator {
  readonly #options: EvaluatorOptions
  readonly #share: EngineShare
  /** Undefined while another service evaluates. */
  #entries: Map<string, Entry> | undefined
  #loading = false
  #flushMs = 0
  readonly #runs = new Map<Promise<void>, 'quick' | 'slow'>()
  readonly #stop = new AbortController()
  #cancelTimer: (() => void) | undefined

  constructor(options: EvaluatorOptions) {
    this.#options = options
    this.#share = new EngineShare(options.engineSlots)
  }

  start(): void {
    if (this.#stop.signal.aborted) return
    const { store, time, log } = this.#options
    const follow = () => this.#followLease()
    void store
      .renew()
      .then(follow)
      .catch((error) => log.warn({ err: error }, 'states of alerts could not be read; retrying'))
    this.#work()
    this.#cancelTimer = time.after(tickMs, () => this.start())
  }

  /** What is missed happens once after the next start. */
  async stop(): Promise<void> {
    const { deliveries, store } = this.#options
    this.#stop.abort()
    this.#cancelTimer?.()
    await Promise.all(this.#runs.keys())
    deliveries.stop()
    await store.stop()
  }

  /** States of all alerts, by id. */
  async states(): Promise<ReadonlyMap<string, AlertState>> {
    return this.#entries ? new Map(this.known()) : this.#options.store.load()
  }

  /** Empty while another service evaluates. */
  known(): [string, AlertState][] {
    return [...(this.#entries ?? [])].map(([id, { state }]) => [id, state])
  }

  changed(alerts: Iterable<SavedAlert>): void {
    for (const alert of alerts) this.#reconcile(alert, this.#entries?.get(alert.id)?.state)
    this.#work()
  }

  async #followLease(): Promise<void> {
    const { store, alerts, deliveries } = this.#options
    if (this.#stop.signal.aborted || this.#loading || store.isHeld === (this.#entries !== undefined)) return
    if (!store.isHeld) {
      this.#entries = undefined
      return deliveries.stop()
    }
    this.#loading = true
    try {
      const states = await store.load()
      this.#entries = new Map()
      for (const alert of alerts.values()) this.#reconcile(alert, states.get(alert.id))
    } finally {
      this.#loading = false
    }
    this.#work()
  }

  /** Makes the state follow the definition. One that was deleted, disabled or changed is resolved and starts anew. */
  #reconcile(alert: SavedAlert, known: AlertState | undefined): void {
    const entries = this.#entries
    if (!entries || (alert.deleted && !known)) return
    const now = this.#options.time.now()
    const { name, notify, every_seconds } = alert.definition
    const state = known ?? newState(alert.rule, name, now)
    const before = state.state
    const isOver = alert.deleted || state.rule !== alert.rule
    if (isOver) {
      const { told, outbox } = state
      Object.assign(state, { ...newState(alert.rule, name, now), previous: before, told, outbox })
      if (told !== 'ok') this.#notify(alert, state, 'alert.resolved', [])
    }
    state.name = name
    if (!alert.deleted) {
      // Notifications for targets that were removed are dropped; others use the current secret.
      const current = new Map(notify.map((target) => [targetKey(target), target]))
      state.outbox = state.outbox.flatMap((each) => {
        const target = current.get(targetKey(each.target))
        return target ? [Object.assign(each, { target })] : []
      })
      state.off = state.off.filter((target) => current.has(target))
      const isDue = state.evaluatedMs === null || now - state.evaluatedMs >= every_seconds * 1000
      const dueMs = isDue ? now : nextSlot(alert, now)
      entries.set(alert.id, { alert, state, dueMs, running: false })
    } else entries.delete(alert.id)
    void this.#keep(alert.id, state, before)
  }

  #work(): void {
    const { time, store, deliveries, log } = this.#options
    const entries = this.#entries
    if (!entries || this.#stop.signal.aborted || !store.isHeld) return
    const now = time.now()
    deliveries.work()
    if (now >= this.#flushMs) {
      this.#flushMs = now + flushEveryMs
      void store.flush()
    }
    const due = [...entries.values()].filter(
      ({ alert, dueMs, running }) => dueMs <= now && !running && alert.definition.enabled,
    )
    due.sort((one, other) => one.dueMs - other.dueMs)
    for (const { alert, running: isTaken } of due) {
      const { resultKey: key } = alert
      const lane = this.#share.laneOf(key)
      const running = [...this.#runs.values()].filter((each) => each === lane).length
      if (isTaken || running >= maxRunning[lane] || !this.#share.isFree(key, now)) continue
      // Alerts on the same result share one query.
      const group = due.filter((entry) => entry.alert.resultKey === key)
      const run = this.#evaluate(key, group, now)
        .catch((error) => log.error({ err: error }, 'evaluating an alert failed'))
        .finally(() => {
          for (const entry of group) entry.running = false
          this.#runs.delete(run)
          this.#work()
        })
      this.#runs.set(run, lane)
    }
  }

  async #evaluate(key: string, group: readonly Entry[], now: number): Promise<void> {
    const { results, time, log, onEvaluated } = this.#options
    const { signal } = this.#stop
    const [{ alert }] = group as [Entry]
    const dueMs = group.map((entry) => entry.dueMs)
    for (const entry of group) {
      entry.running = true
      // If the evaluation takes longer than that, the one that was missed follows at once.
      entry.dueMs = nextSlot(entry.alert, now)
    }
    const engineTime = new EngineTime()
    // A result that somebody else caused is new enough for half of an interval.
    const maxAge = Math.floor(Math.min(...group.map((entry) => entry.alert.definition.every_seconds)) / 2)
    const result = await results.read(alert, signal, maxAge, engineTime).catch((error: Error) => error)
    this.#share.use(key, engineTime.ms)
    if (signal.aborted) return
    if (overloaded.is(result)) {
      for (const entry of group) entry.dueMs = time.now() + retryAfterMs
      return
    }
    if (result instanceof Error && !(result instanceof WellheadError)) {
      log.warn({ err: result, alert: alert.definition.name }, 'evaluating an alert failed')
    }
    for (const [index, entry] of group.entries()) {
      // Changed or deleted in the meantime: the result may be that of another query.
      if (this.#entries?.get(entry.alert.id) !== entry) continue
      const isFailed = this.#take(entry, result)
      onEvaluated(isFailed ? 'failed' : 'ok', time.now() - (dueMs[index] as number))
    }
  }

  #take({ alert, state }: Entry, result: readonly Row[] | Error): boolean {
    const { time, store } = this.#options
    const now = time.now()
    const before = state.state
    const outcome = outcomeOf(alert, result)
    Object.assign(state, afterEvaluation(state, alert.definition, outcome, now))
    const type = dueNotification(state, alert.definition, now, time.wall.now())
    if (type) this.#notify(alert, state, type, result instanceof Error ? [] : result)
    if (type || state.state !== before) void this.#keep(alert.id, state, before)
    else store.set(alert.id, state)
    return 'error' in outcome
  }

  #notify(alert: SavedAlert, state: AlertState, type: NotificationType, result: readonly Row[]): void {
    const { time } = this.#options
    const nowMs = time.now()
    const rows = shownRows(alert, result)
    const isRepeat = state.told === toldAs(state.state)
    const waiting = new Set(state.outbox.map(({ target }) => targetKey(target)))
    const added = notificationsFor({ type, alert, state, rows, nowMs, wallMs: time.wall.now() })
      // A receiver that has not even got the first one needs no repetition.
      .filter(({ target }) => !isRepeat || !waiting.has(targetKey(target)))
    state.outbox = [...state.outbox, ...added].slice(-maxOutbox)
    state.told = toldAs(state.state)
    state.toldMs = nowMs
  }

  /** Stores the change, then sends notifications. */
  async #keep(id: string, state: AlertState, before: AlertState['state']): Promise<void> {
    const { store, deliveries, time } = this.#options
    const { name: alert, state: now, previous: previous_state, value, error } = state
    const fields = {
      kind: 'state',
      alert,
      state: now,
      previous_state,
      value,
      ...(error !== null && { error }),
    }
    if (now !== before) store.record(id, `${alert} is ${now}`, fields)
    this.save(id, state)
    while (!(await store.flush())) {
      if (this.#stop.signal.aborted || !store.isHeld) return
      await new Promise<void>((resolve) => time.after(retryAfterMs, resolve))
    }
    deliveries.add(id, state)
  }

  /** The state of a deleted alert is removed when its last notification is delivered. */
  save(id: string, state: AlertState): void {
    const isGone = state.outbox.length === 0 && this.#options.alerts.get(id)?.deleted !== false
    this.#options.store.set(id, isGone ? undefined : state)
  }
}

/** Evaluations are spread over the interval, but those of the same result are at the same time. */
function nextSlot({ resultKey, definition }: SavedAlert, nowMs: number): number {
  const everyMs = definition.every_seconds * 1000
  const offset = createHash('sha256').update(resultKey).digest().readUInt32BE() % everyMs
  return Math.floor((nowMs - offset) / everyMs + 1) * everyMs + offset
}
