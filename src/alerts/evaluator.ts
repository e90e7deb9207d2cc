import { createHash } from 'node:crypto'
import { overloaded, WellheadError } from '../base/errors.ts'
import { EngineTime } from '../endpoints/call/engine-time.ts'
import { isEnabledBy, readAlert, type SavedAlert, type StateName, targetKey } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { outcomeOf, readResult } from './alert-results.ts'
import {
  type AlertEntry,
  type AlertState,
  afterEvaluation,
  dueNotification,
  isMuted,
  type NotificationType,
  newState,
  toldAs,
} from './alert-state.ts'
import { AlertStore } from './alert-store.ts'
import type { Row } from './condition.ts'
import { Deliveries } from './deliveries.ts'
import { EngineShare } from './engine-share.ts'
import { notificationsFor, shownRows } from './notification.ts'

/** By the machine's own clock, as the share of the engine. */
const tickMs = 100
/** Times and values of evaluations that changed nothing else are stored together. */
const flushEveryMs = 10_000
const retryAfterMs = 1_000
/** Maximum number of notifications of one alert that wait for delivery; the oldest are dropped. */
const maxOutbox = 100

/** Evaluates alerts on time, and keeps their states. Of several services, the one with the lease does it. */
export class Evaluator {
  readonly deliveries: Deliveries
  /** By id, with deleted ones. */
  readonly alerts = new Map<string, SavedAlert>()
  readonly #parts: AlertParts
  readonly #store: AlertStore
  readonly #share: EngineShare
  /** Undefined while another service evaluates. */
  #entries: Map<string, AlertEntry> | undefined
  #loading = false
  #flushMs = 0
  readonly #runs = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #isStarted = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: AlertParts) {
    this.#parts = parts
    this.#store = new AlertStore(parts)
    this.deliveries = new Deliveries(parts, this.#store)
    this.#share = new EngineShare(parts.engineSlots)
    parts.catalog.onChange('alert', (records) => this.#changed(records.map(readAlert)))
  }

  start(): void {
    this.#isStarted = true
    this.#beginTicking()
  }

  /** A service that never had an alert does not wake up for them. */
  #beginTicking(): void {
    if (!this.#isStarted || this.#timer || this.alerts.size === 0 || this.#stop.signal.aborted) return
    this.#timer = setInterval(() => void this.#tick(), tickMs).unref()
    void this.#tick()
  }

  /** What is missed happens once after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    await Promise.all(this.#runs)
    this.deliveries.stop()
    await this.#store.stop()
  }

  /** States of all alerts, by id. */
  async states(): Promise<ReadonlyMap<string, AlertState>> {
    if (!this.#entries) return this.#store.load()
    return new Map([...this.#entries].map(([id, { state }]) => [id, state]))
  }

  /** Of the alerts that this service evaluates, by state. */
  counts(): Record<StateName, number> {
    const counts = { ok: 0, pending: 0, firing: 0, failing: 0 }
    for (const { alert, state } of this.#entries?.values() ?? []) if (!alert.deleted) counts[state.state]++
    return counts
  }

  #changed(alerts: readonly SavedAlert[]): void {
    for (const alert of alerts) this.alerts.set(alert.id, alert)
    for (const alert of alerts) this.#reconcile(alert, this.#entries?.get(alert.id)?.state)
    this.#work()
    this.#beginTicking()
  }

  async #tick(): Promise<void> {
    this.#work()
    try {
      await this.#store.renew()
      await this.#followLease()
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the lease or states of alerts could not be read; retrying')
    }
  }

  async #followLease(): Promise<void> {
    const { isHeld } = this.#store
    if (this.#stop.signal.aborted || this.#loading || isHeld === (this.#entries !== undefined)) return
    if (!isHeld) {
      this.#entries = undefined
      return this.deliveries.stop()
    }
    this.#loading = true
    try {
      const states = await this.#store.load()
      this.#entries = new Map()
      for (const alert of this.alerts.values()) this.#reconcile(alert, states.get(alert.id))
    } finally {
      this.#loading = false
    }
    this.#work()
  }

  /** Makes the state follow the definition. One that was deleted, disabled or changed is resolved and starts anew. */
  #reconcile(alert: SavedAlert, known: AlertState | undefined): void {
    if (!this.#entries || (alert.deleted && !known)) return
    const now = this.#parts.time.now()
    const { name, notify, every_seconds, enabled } = alert.definition
    const state = known ?? newState(alert.rule, name, now)
    const { state: before, told, outbox, rule } = state
    if (alert.deleted || state.rule !== alert.rule) {
      const off = enabled && !isEnabledBy(rule) ? [] : state.off
      Object.assign(state, { ...newState(alert.rule, name, now), previous: before, told, outbox, off })
      // An evaluation after the mute tells the difference, but those of deleted and disabled alerts have ended.
      const isToldLater = enabled && !alert.deleted && isMuted(alert.definition, this.#parts.time.wall.now())
      if (told !== 'ok' && !isToldLater) this.#notify(alert, state, 'alert.resolved', [])
    }
    // Nothing is sent to targets that were removed.
    const targets = new Set(notify.map(targetKey))
    state.outbox = state.outbox.filter(({ target }) => targets.has(targetKey(target)))
    state.off = state.off.filter((target) => targets.has(target))
    Object.assign(state, { name, deleted: alert.deleted })
    const isDue = state.evaluatedMs === null || now - state.evaluatedMs >= every_seconds * 1000
    this.#entries.set(alert.id, { alert, state, dueMs: isDue ? now : nextSlot(alert, now) })
    this.#keep(alert.id, state, before)
  }

  #work(): void {
    const { time, log } = this.#parts
    const entries = this.#entries
    if (!entries || this.#stop.signal.aborted || !this.#store.isHeld) return
    const now = time.now()
    if (now >= this.#flushMs) {
      this.#flushMs = now + flushEveryMs
      void this.#store.flush().then((isStored) => {
        if (!isStored) this.#flushMs = now + retryAfterMs
        this.deliveries.work(entries)
      })
    } else this.deliveries.work(entries)
    const due = [...entries.values()].filter(
      ({ alert, dueMs }) => dueMs <= now && alert.definition.enabled && !alert.deleted,
    )
    due.sort((one, other) => one.dueMs - other.dueMs)
    for (const { alert, dueMs } of due) {
      const end = dueMs === Infinity ? undefined : this.#share.begin(alert.resultKey)
      if (!end) continue
      // Alerts on the same result share one query.
      const group = due.filter((entry) => entry.alert.resultKey === alert.resultKey)
      const run = this.#evaluate(group, now, end)
        .catch((error) => log.error({ err: error }, 'evaluating an alert failed'))
        .finally(() => {
          this.#runs.delete(run)
          this.#work()
        })
      this.#runs.add(run)
    }
  }

  async #evaluate(group: readonly AlertEntry[], now: number, end: (usedMs: number) => void): Promise<void> {
    const { time, log, onEvaluated } = this.#parts
    const { signal } = this.#stop
    const [{ alert }] = group as [AlertEntry]
    const dueMs = group.map((entry) => entry.dueMs)
    for (const entry of group) entry.dueMs = Infinity
    const engineTime = new EngineTime()
    // A result that somebody else caused is new enough for half of an interval.
    const maxAge = Math.floor(Math.min(...group.map((entry) => entry.alert.definition.every_seconds)) / 2)
    const result = await readResult(this.#parts, alert, signal, maxAge, engineTime).catch(
      (error: Error) => error,
    )
    end(engineTime.ms)
    const isMissed = overloaded.is(result)
    // If the evaluation took longer than an interval, the one that was missed follows at once.
    for (const entry of group) entry.dueMs = isMissed ? time.now() + retryAfterMs : nextSlot(entry.alert, now)
    if (signal.aborted || isMissed) return
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

  #take({ alert, state }: AlertEntry, result: readonly Row[] | Error): boolean {
    const { time } = this.#parts
    const now = time.now()
    const before = state.state
    const outcome = outcomeOf(alert, result)
    Object.assign(state, afterEvaluation(state, alert.definition, outcome, now))
    const type = dueNotification(state, alert.definition, now, time.wall.now())
    if (type) this.#notify(alert, state, type, result instanceof Error ? [] : result)
    if (type || state.state !== before) this.#keep(alert.id, state, before)
    else this.#store.set(alert.id, state)
    return 'error' in outcome
  }

  #notify(alert: SavedAlert, state: AlertState, type: NotificationType, result: readonly Row[]): void {
    const { time } = this.#parts
    // A receiver that has not even got the first one needs no repetition.
    const waiting =
      state.told === toldAs(state.state) ? state.outbox.map(({ target }) => targetKey(target)) : []
    const all = notificationsFor({ type, alert, state, rows: shownRows(alert, result), time })
    const added = all.filter(({ target }) => !waiting.includes(targetKey(target)))
    state.outbox = [...state.outbox, ...added].slice(-maxOutbox)
    state.told = toldAs(state.state)
    state.toldMs = time.now()
  }

  /** Has the change stored at once. */
  #keep(id: string, state: AlertState, before: StateName): void {
    const { name, state: now, previous: previous_state, value, error } = state
    const fields = { kind: 'state', alert: name, state: now, previous_state, value, error }
    if (now !== before) this.#store.record(id, `${name} is ${now}`, fields)
    this.#store.set(id, state)
    this.#flushMs = 0
  }
}

/** Evaluations are spread over the interval, but those of the same result are at the same time. */
function nextSlot({ resultKey, definition }: SavedAlert, nowMs: number): number {
  const everyMs = definition.every_seconds * 1000
  const offset = createHash('sha256').update(resultKey).digest().readUInt32BE() % everyMs
  return Math.floor((nowMs - offset) / everyMs + 1) * everyMs + offset
}
