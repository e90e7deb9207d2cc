import { createHash } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { EngineTime } from '../endpoints/call/engine-time.ts'
import { targetKey } from './alert.ts'
import type { AlertEvent, AlertEvents } from './alert-events.ts'
import type { AlertLease } from './alert-lease.ts'
import { type AlertResult, type AlertResults, decideBy, shownError } from './alert-results.ts'
import {
  type AlertState,
  afterEvaluation,
  dueNotification,
  type NotificationType,
  newState,
  type Outcome,
  toldAs,
} from './alert-state.ts'
import type { AlertStore } from './alert-store.ts'
import type { Deliveries } from './delivery/deliveries.ts'
import { notificationsFor, shownRows } from './delivery/notification.ts'
import { EngineShare } from './engine-share.ts'
import type { SavedAlert, SavedAlerts } from './saved-alerts.ts'

interface EvaluatorOptions {
  alerts: SavedAlerts
  results: AlertResults
  store: AlertStore
  lease: AlertLease
  deliveries: Deliveries
  events: AlertEvents
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

/** A timer may not see that the clock was set forward, so the time is read at least this often. */
const maxSleepMs = 1_000
const saveEveryMs = 10_000
const retryLoadMs = 1_000
/** Maximum number of notifications of one alert that wait for delivery; the oldest are dropped. */
const maxOutbox = 100

/** Evaluates alerts on time, and keeps their states. Of several services, the one with the lease does it. */
export class Evaluator {
  readonly #options: EvaluatorOptions
  readonly #share: EngineShare
  /** Undefined while another service evaluates. */
  #entries: Map<string, Entry> | undefined
  #loading: Promise<void> | undefined
  #unsaved = new Set<string>()
  readonly #runs = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #cancelTimer: (() => void) | undefined
  #cancelSave: (() => void) | undefined

  constructor(options: EvaluatorOptions) {
    this.#options = options
    this.#share = new EngineShare(options.engineSlots, options.time.now())
    options.alerts.onChange((changed) => {
      for (const alert of changed) this.#reconcile(alert, this.#entries?.get(alert.id)?.state)
      this.#tick()
    })
  }

  start(): Promise<void> {
    return this.#options.lease.start(() => this.#followLease())
  }

  /** Finishes nothing: what is missed happens once after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancelTimer?.()
    this.#cancelSave?.()
    await this.#loading
    await Promise.all(this.#runs)
    await this.#options.deliveries.stop()
    this.#saveUnsaved()
    await this.#options.store.stop()
    await this.#options.lease.stop()
    this.#entries = undefined
  }

  /** States of all alerts, by id. */
  async states(): Promise<ReadonlyMap<string, AlertState>> {
    if (!this.#entries) return this.#options.store.load()
    return new Map([...this.#entries].map(([id, { state }]) => [id, state]))
  }

  /** Counts of alerts by state; empty while another service evaluates. */
  known(): readonly AlertState[] {
    return [...(this.#entries?.values() ?? [])].map(({ state }) => state)
  }

  #followLease(): void {
    const { lease, deliveries } = this.#options
    if (this.#stop.signal.aborted) return
    if (lease.isHeld && !this.#entries) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = undefined
      })
    } else if (!lease.isHeld && this.#entries) {
      this.#entries = undefined
      void deliveries.stop()
    }
  }

  async #load(): Promise<void> {
    const { store, alerts, time, log } = this.#options
    try {
      const states = await store.load()
      this.#entries = new Map()
      for (const id of new Set([...alerts.list().map((alert) => alert.id), ...states.keys()])) {
        const alert = alerts.last(id)
        if (alert) this.#reconcile(alert, states.get(id))
      }
      this.#saveLater()
      this.#tick()
    } catch (error) {
      log.warn({ err: error }, 'states of alerts could not be read; retrying')
      time.after(retryLoadMs, () => this.#followLease())
    }
  }

  /** Makes the state follow the definition. One that was deleted, disabled or changed is resolved and starts anew. */
  #reconcile(alert: SavedAlert, known: AlertState | undefined): void {
    const { time } = this.#options
    const entries = this.#entries
    if (!entries) return
    const now = time.now()
    const before = entries.get(alert.id)
    const state = known ?? newState(alert.rule, alert.definition.name, now)
    const wasIn = state.state
    const isNewVersion = before !== undefined && before.alert.version !== alert.version
    if (isNewVersion) state.off = []
    state.name = alert.definition.name
    const isOver = known !== undefined && (alert.deleted || known.rule !== alert.rule)
    if (isOver) {
      const { told, outbox, off } = known
      Object.assign(state, { ...newState(alert.rule, state.name, now), previous: wasIn, told, outbox, off })
      if (told !== 'ok') this.#notify(alert, state, 'alert.resolved', undefined)
    }
    if (!alert.deleted) keepCurrentTargets(alert, state)
    if (alert.deleted) entries.delete(alert.id)
    else {
      const isDue =
        state.evaluatedMs === null || now - state.evaluatedMs >= alert.definition.every_seconds * 1000
      entries.set(alert.id, { alert, state, dueMs: isDue ? now : nextSlot(alert, now), running: false })
    }
    const changed = isOver && wasIn !== 'ok' ? this.#stateEvent(state) : undefined
    if (isOver || isNewVersion || known === undefined || state.outbox.length > 0)
      void this.#keep(alert, state, changed)
  }

  #tick(): void {
    this.#cancelTimer?.()
    const entries = this.#entries
    if (!entries || this.#stop.signal.aborted || !this.#options.lease.isHeld) return
    const { time } = this.#options
    const now = time.now()
    let wakeMs = now + maxSleepMs
    const due: Entry[] = []
    for (const entry of entries.values()) {
      if (entry.running || !entry.alert.definition.enabled) continue
      if (entry.dueMs <= now) due.push(entry)
      else wakeMs = Math.min(wakeMs, entry.dueMs)
    }
    due.sort((one, other) => one.dueMs - other.dueMs)
    for (const first of due) {
      if (first.running) continue
      const freeMs = this.#share.freeAt(first.alert.resultKey, now)
      if (freeMs > now) {
        wakeMs = Math.min(wakeMs, freeMs)
        continue
      }
      this.#start(
        due.filter(({ alert, running }) => !running && alert.resultKey === first.alert.resultKey),
        now,
      )
    }
    this.#cancelTimer = time.after(Math.max(1, wakeMs - now), () => this.#tick())
  }

  /** Alerts on the same result share one query. */
  #start(group: readonly Entry[], now: number): void {
    const dueMs = group.map((entry) => entry.dueMs)
    for (const entry of group) {
      entry.running = true
      // If the evaluation takes longer than that, the one that was missed follows at once.
      entry.dueMs = nextSlot(entry.alert, now)
    }
    const run = this.#evaluate(group, dueMs)
      .catch((error) => this.#options.log.error({ err: error }, 'evaluating an alert failed'))
      .finally(() => {
        for (const entry of group) entry.running = false
        this.#runs.delete(run)
        this.#tick()
      })
    this.#runs.add(run)
  }

  async #evaluate(group: readonly Entry[], dueMs: readonly number[]): Promise<void> {
    const { results, time, log, onEvaluated } = this.#options
    const { signal } = this.#stop
    const [{ alert }] = group as [Entry]
    const engineTime = new EngineTime()
    const end = this.#share.begin(alert.resultKey)
    // A result that somebody else caused is new enough for half of an interval.
    const maxAgeSeconds = Math.floor(
      Math.min(...group.map((entry) => entry.alert.definition.every_seconds)) / 2,
    )
    let result: AlertResult | undefined
    let failure: string | undefined
    try {
      result = await results.read(alert, { maxAgeSeconds, engineTime, signal })
    } catch (error) {
      failure = shownError(error)
      if (failure === shownError(undefined))
        log.warn({ err: error, alert: alert.definition.name }, 'evaluating an alert failed')
    }
    end(engineTime.ms)
    if (signal.aborted) return
    for (const [index, entry] of group.entries()) {
      // Changed or deleted in the meantime: the result may be that of another query.
      if (this.#entries?.get(entry.alert.id) !== entry) continue
      const outcome = result ? decideSafely(entry.alert, result) : { error: failure as string }
      this.#take(entry, outcome, result)
      onEvaluated('error' in outcome ? 'failed' : 'ok', time.now() - (dueMs[index] as number))
    }
  }

  #take({ alert, state }: Entry, outcome: Outcome, result: AlertResult | undefined): void {
    const now = this.#options.time.now()
    const wasIn = state.state
    Object.assign(state, afterEvaluation(state, alert.definition, outcome, now))
    const type = dueNotification(state, alert.definition, now, this.#options.time.wall.now())
    if (type) this.#notify(alert, state, type, result)
    const changed = state.state === wasIn ? undefined : this.#stateEvent(state)
    if (changed || type) void this.#keep(alert, state, changed)
    else this.#unsaved.add(alert.id)
  }

  #notify(
    alert: SavedAlert,
    state: AlertState,
    type: NotificationType,
    result: AlertResult | undefined,
  ): void {
    const { results, time } = this.#options
    const nowMs = time.now()
    const isRepeat = state.told === toldAs(state.state)
    const rows = result ? shownRows(alert, result.rows()) : []
    const message = {
      type,
      alert,
      endpoint: results.endpointName(alert),
      state,
      rows,
      nowMs,
      wallMs: time.wall.now(),
    }
    const waiting = new Set(state.outbox.map(({ target }) => targetKey(target)))
    // A receiver that has not even got the first one needs no repetition.
    const added = notificationsFor(message, state.off).filter(
      ({ target }) => !isRepeat || !waiting.has(targetKey(target)),
    )
    state.outbox = [...state.outbox, ...added].slice(-maxOutbox)
    state.told = toldAs(state.state)
    state.toldMs = nowMs
  }

  #stateEvent({ name, state, previous, value, error }: AlertState): AlertEvent {
    return {
      atMs: this.#options.time.wall.now(),
      kind: 'state',
      message: `${name} is ${state}`,
      fields: { state, previous_state: previous, value, ...(error !== null && { error }) },
    } as const
  }

  /** Stores the state, then records the change and sends notifications. */
  async #keep(alert: SavedAlert, state: AlertState, changed?: AlertEvent): Promise<void> {
    const { deliveries, events } = this.#options
    this.#unsaved.delete(alert.id)
    await this.saveState(alert.id, state)
    if (changed) events.add(alert, changed)
    deliveries.deliver(alert.id, state)
  }

  /** The state of a deleted alert is removed when its last notification is delivered. */
  saveState(id: string, state: AlertState): Promise<void> {
    const isGone = state.outbox.length === 0 && !this.#options.alerts.findById(id)
    return this.#options.store.save(id, isGone ? undefined : state)
  }

  /** Times and values of evaluations that changed nothing else are stored together. */
  #saveLater(): void {
    this.#cancelSave?.()
    this.#cancelSave = this.#options.time.after(saveEveryMs, () => {
      this.#saveUnsaved()
      if (this.#entries) this.#saveLater()
    })
  }

  #saveUnsaved(): void {
    for (const id of this.#unsaved) {
      const entry = this.#entries?.get(id)
      if (entry) void this.saveState(id, entry.state)
    }
    this.#unsaved.clear()
  }
}

function decideSafely(alert: SavedAlert, result: AlertResult): Outcome {
  try {
    return decideBy(alert, result)
  } catch (error) {
    return { error: shownError(error) }
  }
}

/** Evaluations are spread over the interval, but those of the same result are at the same time. */
function nextSlot({ resultKey, definition }: SavedAlert, nowMs: number): number {
  const everyMs = definition.every_seconds * 1000
  const offset = createHash('sha256').update(resultKey).digest().readUInt32BE() % everyMs
  return Math.floor((nowMs - offset) / everyMs + 1) * everyMs + offset
}

/** Notifications for targets that were removed are dropped; others use the current secret. */
function keepCurrentTargets({ definition }: SavedAlert, state: AlertState): void {
  const current = new Map(definition.notify.map((target) => [targetKey(target), target]))
  state.outbox = state.outbox.filter((notification) => {
    const target = current.get(targetKey(notification.target))
    if (target) notification.target = target
    return target !== undefined
  })
}
