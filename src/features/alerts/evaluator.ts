import { createHash } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import { overloaded, WellheadError } from '../../core/base/errors.ts'
import { mayRead } from '../../core/definitions/visibility.ts'
import { EngineTime } from '../../core/endpoints/call/call.ts'
import { type AlertFields, isEnabledBy, type SavedAlert, type StateName } from './alert.ts'
import {
  evaluateGroups,
  evaluateWhole,
  type GroupState,
  keyText,
  recordedChanges,
  resolve,
} from './alert-groups.ts'
import type { AlertParts } from './alert-parts.ts'
import { outcomeBy, outcomeOf, readResult } from './alert-results.ts'
import {
  type AlertEntry,
  type AlertState,
  dueNotification,
  evaluate,
  isMuted,
  type NotificationType,
  newState,
  toldAs,
} from './alert-state.ts'
import { AlertStore } from './alert-store.ts'
import type { ResultRows } from './condition.ts'
import { Deliveries } from './deliveries.ts'
import { notificationFor, shownRows } from './notification.ts'
import { hasUnreadableSecret, unreadableSecret } from './secrets.ts'

/** By the machine's own clock, as the share of the engine. */
const tickMs = 100
/** Times and values of evaluations that changed nothing else are stored together. */
const flushEveryMs = 10_000
const retryAfterMs = 1_000

/** Evaluates alerts on time, and keeps their states. Of several services, the one with the lease does it. */
export class Evaluator {
  readonly deliveries: Deliveries
  /** By id. They may have states that are not resolved yet. */
  readonly #deleted = new Map<string, SavedAlert>()
  readonly #parts: AlertParts
  readonly #store: AlertStore
  readonly #share: EngineShare
  /** Undefined while another service evaluates. */
  #entries: Map<string, AlertEntry> | undefined
  #following: Promise<void> | undefined
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
  }

  start(): void {
    this.#isStarted = true
    this.#beginTicking()
  }

  /** A service that never had an alert does not wake up for them. */
  #beginTicking(): void {
    if (!this.#isStarted || this.#timer || this.#all().length === 0 || this.#stop.signal.aborted) return
    this.#timer = setInterval(() => this.#tick(), tickMs).unref()
    this.#tick()
  }

  /** What is missed happens once after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#timer)
    this.deliveries.stop()
    await Promise.all(this.#runs)
    await this.#store.stop()
  }

  /** States of all alerts, by id. */
  async states(): Promise<ReadonlyMap<string, AlertState>> {
    if (!this.#entries) return this.#store.states()
    return new Map([...this.#entries].map(([id, { state }]) => [id, state]))
  }

  /** Of the alerts that this service evaluates, by state. */
  counts(): Record<StateName, number> {
    const counts = { ok: 0, pending: 0, firing: 0, failing: 0 }
    for (const { alert, state } of this.#entries?.values() ?? []) if (!alert.deleted) counts[state.state]++
    return counts
  }

  /** Follows changes of alerts, also deletions. */
  changed(alerts: readonly SavedAlert[]): void {
    for (const alert of alerts) if (alert.deleted) this.#deleted.set(alert.id, alert)
    for (const alert of alerts) this.#reconcile(alert, this.#entries?.get(alert.id)?.state)
    this.#work()
    this.#beginTicking()
  }

  /** Forgets what waits to be sent on behalf of a project, and groups that quote it. */
  async forget(project: string): Promise<void> {
    for (const [id, { alert, state }] of this.#entries ?? []) {
      const isOwn = alert.definition.parameters.project === project
      const groups = state.groups?.filter(({ key }) => !isOwn && key.project !== project)
      if (!isOwn && groups?.length === state.groups?.length) continue
      if (groups) state.groups = groups
      if (isOwn) state.outbox = []
      // Another entry: an evaluation that is running has read what is gone.
      this.#entries?.set(id, { alert, state, dueMs: this.#parts.time.now() })
      this.#store.set(id, state)
    }
    this.#store.forget(project)
    await this.#store.flush()
  }

  #all(): SavedAlert[] {
    return [...this.#deleted.values(), ...this.#parts.alerts.values()]
  }

  #tick(): void {
    this.#work()
    this.#store.retry()
    this.#following ??= this.#followLease()
      .catch((error) =>
        this.#parts.log.warn({ err: error }, 'the lease or states of alerts could not be read; retrying'),
      )
      .finally(() => {
        this.#following = undefined
      })
  }

  async #followLease(): Promise<void> {
    const { lease } = this.#store
    await lease.renew()
    if (this.#stop.signal.aborted || lease.isHeld === (this.#entries !== undefined)) return
    if (!lease.isHeld) {
      this.#entries = undefined
      this.#store.close()
      return this.deliveries.stop()
    }
    const states = await this.#store.open()
    if (this.#stop.signal.aborted || !lease.isHeld) return
    this.#entries = new Map()
    for (const alert of this.#all()) this.#reconcile(alert, states.get(alert.id))
    const { secrets, log } = this.#parts
    const silent = this.#parts.alerts.values().filter((alert) => hasUnreadableSecret(alert, secrets))
    if (silent.length > 0) log.error({ alerts: silent.length }, unreadableSecret)
    this.#work()
  }

  /** Makes the state follow the definition. One that was deleted, disabled or changed is resolved and starts anew. */
  #reconcile(alert: SavedAlert, known: AlertState | undefined): void {
    if (!this.#entries || (alert.deleted && !known)) return
    const now = this.#parts.time.now()
    const { name, every_seconds, enabled } = alert.definition
    const state = known ?? newState(alert.rule, name, now)
    const { state: before, told, outbox, dropped, rule, groups = [] } = state
    if (alert.deleted || state.rule !== alert.rule) {
      const fired = groups.filter((group) => group.told !== 'ok')
      for (const group of fired) {
        resolve(group, now)
        group.missingMs = 0
      }
      const off = enabled && !isEnabledBy(rule) ? [] : state.off
      const kept = { previous: before, told, outbox, dropped, off }
      Object.assign(state, { ...newState(alert.rule, name, now), ...kept, groups: fired, groupsLeftOut: 0 })
      // An evaluation after the mute tells the difference, but those of deleted and disabled alerts have ended.
      const isToldLater = enabled && !alert.deleted && isMuted(alert.definition, this.#parts.time.wall.now())
      const isKnown = told !== 'ok' || fired.length > 0
      if (isKnown && !isToldLater) {
        this.#notify(alert, state, 'alert.resolved', undefined, fired.length > 0 ? fired : undefined)
        state.groups = []
      }
    }
    // Nothing is sent to targets that were removed.
    for (const { to } of state.outbox) {
      for (const key of to.keys()) if (!alert.targets.has(key)) to.delete(key)
    }
    state.outbox = state.outbox.filter(({ to }) => to.size > 0)
    state.off = state.off.filter((key) => alert.targets.has(key))
    Object.assign(state, { name, deleted: alert.deleted })
    const isDue = state.evaluatedMs === null || now - state.evaluatedMs >= every_seconds * 1000
    this.#entries.set(alert.id, { alert, state, dueMs: isDue ? now : nextSlot(alert, now) })
    this.#keep(alert, state, before)
  }

  /** Undefined while nothing must be evaluated or delivered. */
  get #workedOn(): Map<string, AlertEntry> | undefined {
    return this.#stop.signal.aborted || !this.#store.lease.isHeld ? undefined : this.#entries
  }

  #work(): void {
    const { time, log } = this.#parts
    const entries = this.#workedOn
    if (!entries) return
    const now = time.now()
    if (now >= this.#flushMs) {
      this.#flushMs = now + flushEveryMs
      void this.#store.flush().then((isStored) => {
        if (!isStored) this.#flushMs = now + retryAfterMs
        if (this.#workedOn) this.deliveries.work(this.#workedOn)
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
    if (!isMissed && result instanceof Error && !(result instanceof WellheadError) && !signal.aborted) {
      log.warn({ err: result, alert: alert.definition.name }, 'evaluating an alert failed')
    }
    for (const [index, entry] of group.entries()) {
      // Hundreds of alerts can share a large result, and requests must not wait for all of them.
      if (index > 0) await giveWay()
      if (signal.aborted) return
      // If the evaluation took longer than an interval, the one that was missed follows at once.
      entry.dueMs = isMissed ? time.now() + retryAfterMs : nextSlot(entry.alert, now)
      // Changed or deleted in the meantime: the result may be that of another query.
      if (isMissed || this.#entries?.get(entry.alert.id) !== entry) continue
      const isFailed = this.#take(entry, result)
      onEvaluated(isFailed ? 'failed' : 'ok', time.now() - (dueMs[index] as number))
    }
  }

  #take({ alert, state }: AlertEntry, result: ResultRows | Error): boolean {
    const { time } = this.#parts
    const [now, wallMs] = [time.now(), time.wall.now()]
    const { definition } = alert
    const { state: before, groups = [] } = state
    const outcome =
      definition.by.length > 0
        ? outcomeBy(result, (rows) => evaluateGroups(alert, groups, rows, now))
        : outcomeOf(alert, result)
    let type: NotificationType | undefined
    let told: readonly GroupState[] | undefined
    if ('groups' in outcome) {
      evaluateWhole(state, outcome.groups, now)
      this.#recordGroups(alert, state, outcome)
      state.groupsLeftOut = outcome.groupsLeftOut
      told = groupsToTell(alert, state, now, wallMs)
      if (told) type = told.some((group) => group.state === 'firing') ? 'alert.firing' : 'alert.resolved'
    } else {
      evaluate(state, definition, outcome, now)
      type = dueNotification(state, definition, now, wallMs)
    }
    const isFailed = 'error' in outcome
    if (type) this.#notify(alert, state, type, isFailed ? undefined : (result as ResultRows), told)
    if (type || state.state !== before) this.#keep(alert, state, before)
    else this.#store.set(alert.id, state)
    return isFailed
  }

  #recordGroups(
    saved: SavedAlert,
    state: AlertState,
    { changed, groupsLeftOut }: Pick<ReturnType<typeof evaluateGroups>, 'changed' | 'groupsLeftOut'>,
  ): void {
    const { definition } = saved
    const { name: alert } = definition
    if (groupsLeftOut > 0 && !state.groupsLeftOut) {
      const fields = { kind: 'groups', alert, groups_left_out: groupsLeftOut }
      this.#store.record(saved, `${alert} has too many groups`, fields)
    }
    if (!this.#isReadable(definition)) return
    const recorded = recordedChanges(changed)
    for (const { id: group_id, key, state: now, previous: previous_state, value } of recorded) {
      const fields = { kind: 'state', alert, state: now, previous_state, value, group_id, key }
      this.#store.record(saved, `${alert} is ${now} for ${keyText(key)}`, fields)
    }
    const changes_left_out = changed.length - recorded.length
    if (changes_left_out > 0) {
      const message = `${alert} changed for ${changed.length} groups; ${changes_left_out} of the changes have no entry`
      this.#store.record(saved, message, { kind: 'groups', alert, changes_left_out })
    }
  }

  /** Everybody who reads entries can read those of alerts. */
  #isReadable({ endpoint: reference }: AlertFields): boolean {
    const endpoint = this.#parts.endpoints.find(reference)
    return endpoint !== undefined && mayRead({ isAdmin: false }, endpoint.definition)
  }

  #notify(
    alert: SavedAlert,
    state: AlertState,
    type: NotificationType,
    result?: ResultRows,
    groups?: readonly GroupState[],
  ): void {
    const { time, publicUrl } = this.#parts
    const isRepeated = groups?.length
      ? groups.every((group) => group.told === toldAs(group.state))
      : state.told === toldAs(state.state)
    // A receiver that has not even got the first one needs no repetition.
    const waiting = isRepeated ? state.outbox.flatMap(({ to }) => [...to.keys()]) : []
    const keys = [...alert.targets.keys()].filter((key) => !state.off.includes(key) && !waiting.includes(key))
    const rows = result ? shownRows(alert, result) : []
    if (keys.length > 0)
      state.outbox.push(notificationFor({ type, alert, state, rows, groups, time, publicUrl }, keys))
    state.told = groups ? 'ok' : toldAs(state.state)
    state.toldMs = time.now()
    for (const group of groups ?? [])
      Object.assign(group, { told: toldAs(group.state), toldMs: state.toldMs })
  }

  /** Has the change stored at once. */
  #keep(alert: SavedAlert, state: AlertState, before: StateName): void {
    const { id, definition } = alert
    const { name, state: now, previous: previous_state, value, error } = state
    const found = this.#isReadable(definition) ? { value, error } : {}
    const fields = { kind: 'state', alert: name, state: now, previous_state, ...found }
    if (now !== before) this.#store.record(alert, `${name} is ${now}`, fields)
    this.#store.set(id, state)
    this.#flushMs = 0
  }
}

/** The groups of which receivers are notified. Undefined: nothing is sent. */
function groupsToTell(
  { definition: { repeat_seconds, muted_until, muted_groups } }: SavedAlert,
  { groups = [], told }: AlertState,
  now: number,
  wallMs: number,
): readonly GroupState[] | undefined {
  if (isMuted({ muted_until }, wallMs)) return undefined
  const due = groups.filter((group) => {
    const rules = { repeat_seconds, muted_until: muted_groups[group.id] ?? null }
    return dueNotification(group, rules, now, wallMs) !== undefined
  })
  if (due.length > 0) return due
  // Receivers that were notified of a failure learn what fires now.
  return told === 'ok' ? undefined : groups.filter((group) => group.state === 'firing')
}

/** Evaluations are spread over the interval, but those of the same result are at the same time. */
function nextSlot({ resultKey, definition }: SavedAlert, nowMs: number): number {
  const everyMs = definition.every_seconds * 1000
  const offset = createHash('sha256').update(resultKey).digest().readUInt32BE() % everyMs
  return Math.floor((nowMs - offset) / everyMs + 1) * everyMs + offset
}

/** Queries that take longer are slow. */
const slowMs = 1_000

/** How long a share may be saved up. */
const burstMs = 5_000

/** Limits evaluations to a tenth of the engine's time, by the machine's own clock. */
class EngineShare {
  /** Slow queries have their own share, so that they do not delay the others. */
  readonly #lanes = {
    quick: { share: 0.09, maxRunning: 4, leftMs: Infinity, atMs: 0, running: 0 },
    slow: { share: 0.01, maxRunning: 1, leftMs: Infinity, atMs: 0, running: 0 },
  }
  readonly #slow = new Set<string>()
  readonly #slots: number

  /** Takes the number of queries that the engine runs at a time. */
  constructor(slots: number) {
    this.#slots = slots
  }

  /** Undefined if the query of this key has to wait. Otherwise a function that ends it and takes the time that it used. */
  begin(key: string): ((usedMs: number) => void) | undefined {
    const lane = this.#lanes[this.#slow.has(key) ? 'slow' : 'quick']
    const nowMs = performance.now()
    const perMs = lane.share * this.#slots
    lane.leftMs = Math.min(burstMs * perMs, lane.leftMs + (nowMs - lane.atMs) * perMs)
    lane.atMs = nowMs
    if (lane.leftMs <= 0 || lane.running >= lane.maxRunning) return undefined
    lane.running++
    return (usedMs) => {
      lane.running--
      const isSlow = usedMs > slowMs
      this.#slow[isSlow ? 'add' : 'delete'](key)
      this.#lanes[isSlow ? 'slow' : 'quick'].leftMs -= usedMs
    }
  }
}
