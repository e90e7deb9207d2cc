import { Webhook } from 'standardwebhooks'
import { withDeadline } from '../base/clock.ts'
import { grouped } from '../base/grouped.ts'
import type { SavedAlert, Target } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { type AlertEntry, type Attempts, isMuted, type Notification } from './alert-state.ts'
import type { AlertStore } from './alert-store.ts'
import { targetForms } from './notification.ts'
import { unreadableSecret } from './secrets.ts'
import { postJson } from './target.ts'

const withinMs = 10_000
const retriedForMs = 86_400_000
const maxSending = 32
/** A host that does not respond leaves room for others. */
const maxSendingToHost = 4

/** Pauses between attempts double from five seconds to fifteen minutes. */
const firstPauseMs = 5_000
const maxPauseMs = 900_000

interface Delivery extends AlertEntry {
  notification: Notification
  attempts: Attempts
  /** Of the target. */
  key: string
  host: string
}

/** Delivers notifications at least once, and those of one alert to one target in order. */
export class Deliveries {
  readonly counts = { delivered: 0, failed: 0, abandoned: 0 }
  readonly #parts: AlertParts
  readonly #store: AlertStore
  /** The hosts of all attempts that are running. */
  readonly #sending: string[] = []
  #stop = new AbortController()

  constructor(parts: AlertParts, store: AlertStore) {
    this.#parts = parts
    this.#store = store
  }

  /** Sends what is due, first to the hosts with the fewest attempts that are running. */
  work(entries: Map<string, AlertEntry>): void {
    this.#drop(entries)
    const due = grouped(this.#due(entries), ({ host }) => host)
    const sendingTo = (host: string) => this.#sending.filter((each) => each === host).length
    while (due.size > 0 && this.#sending.length < maxSending) {
      const [host] = [...due.keys()].sort((one, other) => sendingTo(one) - sendingTo(other)) as [string]
      const next = sendingTo(host) < maxSendingToHost ? due.get(host)?.shift() : undefined
      if (next) this.#begin(next, entries)
      else due.delete(host)
    }
  }

  /** Of each alert and target the first notification, if it is stored, since a crash could lose it otherwise. */
  #due(entries: Map<string, AlertEntry>): Delivery[] {
    const { time } = this.#parts
    const [now, wallMs] = [time.now(), time.wall.now()]
    const due: Delivery[] = []
    for (const [id, entry] of entries) {
      const { alert, state } = entry
      if (alert.deleted && state.outbox.length === 0) entries.delete(id)
      if (state.outbox.length === 0 || (!alert.deleted && isMuted(alert.definition, wallMs))) continue
      const seen = new Set<string>()
      for (const notification of state.outbox) {
        if (seen.size === alert.targets.size) break
        for (const [key, attempts] of notification.to) {
          if (seen.has(key)) continue
          seen.add(key)
          if (attempts.nextMs > now || !this.#store.has(id, notification)) continue
          due.push({ ...entry, notification, attempts, key, host: alert.targets.get(key)?.host ?? '' })
        }
      }
    }
    return due.sort((one, other) => one.attempts.nextMs - other.attempts.nextMs)
  }

  #drop(entries: Map<string, AlertEntry>): void {
    for (const { alert, state, notification } of dropExcess(entries.values())) {
      const { id: webhook_id, type, to } = notification
      this.counts.abandoned += to.size
      const fields = { kind: 'dropped', alert: state.name, type, webhook_id }
      this.#parts.log.warn(
        fields,
        'a notification was dropped: too many wait for targets that do not accept them',
      )
      this.#store.record(alert.id, `${type} of ${state.name} was dropped`, fields)
      this.#store.set(alert.id, state)
    }
  }

  #begin(delivery: Delivery, entries: Map<string, AlertEntry>): void {
    const { signal } = this.#stop
    delivery.attempts.nextMs = Infinity
    this.#sending.push(delivery.host)
    void this.#attempt(delivery, signal).finally(() => {
      this.#sending.splice(this.#sending.indexOf(delivery.host), 1)
      if (!signal.aborted) this.work(entries)
    })
  }

  /** Abandons attempts that are running; they are repeated by whoever continues. */
  stop(): void {
    this.#stop.abort()
    this.#stop = new AbortController()
  }

  async #attempt({ alert, state, notification, attempts, key }: Delivery, signal: AbortSignal) {
    const { time, log } = this.#parts
    const { status } = await this.send(alert, key, notification, signal)
    if (signal.aborted) return
    const isDelivered = status !== null && status >= 200 && status < 300
    // Tried once more even then: a mute can be longer.
    const isLate = time.now() - notification.createdMs > retriedForMs
    const isOver = isLate || status === 410
    this.counts[isDelivered ? 'delivered' : isOver ? 'abandoned' : 'failed']++
    attempts.nextMs = time.now() + Math.min(firstPauseMs * 2 ** attempts.count++, maxPauseMs)
    if (!isDelivered && !isOver) return
    // The target may have been removed meanwhile.
    if (status === 410 && notification.to.has(key)) state.off.push(key)
    for (const each of status === 410 ? state.outbox : [notification]) each.to.delete(key)
    state.outbox = state.outbox.filter(({ to }) => to.size > 0)
    if (isDelivered && state.outbox.length === 0) state.dropped = 0
    if (!isDelivered && isLate) {
      state.dropped++
      log.warn(
        { alert: state.name, webhook_id: notification.id },
        'a notification was not accepted for a day',
      )
    }
    this.#store.set(alert.id, state)
    void this.#store.flush()
  }

  /** Sends once, and records the outcome. */
  async send(
    { id: alertId, definition, targets }: SavedAlert,
    key: string,
    { id, type, bodies, to }: Notification,
    signal = this.#stop.signal,
  ) {
    const target = targets.get(key) as Target & { host: string }
    const { host } = target
    const body = bodies[target.type] as string
    const since = performance.now()
    const sent = { status: null as number | null, error: null as string | null, response: '' }
    const post = async (limited: AbortSignal) => {
      try {
        const headers = targetForms[target.type].isSigned ? this.#signed(id, target, body) : {}
        const options = { ...this.#parts.rules, signal: limited }
        const { status, text } = await postJson(target.url, headers, body, options)
        Object.assign(sent, { status, response: text })
      } catch (error) {
        sent.error = limited.aborted ? `No response within ${withinMs / 1000} s.` : (error as Error).message
      }
    }
    await withDeadline(withinMs, signal, post, this.#parts.time)
    if (signal.aborted) return sent
    // Without the URL: that of Slack is a secret.
    const result = sent.status === null ? `failed: ${sent.error}` : `got ${sent.status}`
    const attempt = (to.get(key)?.count ?? 0) + 1
    this.#store.record(alertId, `${type} of ${definition.name} to ${target.type} ${host} ${result}`, {
      kind: 'delivery',
      alert: definition.name,
      type,
      target: target.type,
      host,
      webhook_id: id,
      target_key: key,
      attempt,
      ...sent,
      ms: Math.round(performance.now() - since),
    })
    void this.#store.flush()
    return sent
  }

  #signed(id: string, { secret = '' }: Target, body: string): Record<string, string> {
    const readable = this.#parts.secrets.read(secret)
    if (readable === undefined) throw new Error(unreadableSecret)
    const at = new Date(this.#parts.time.wall.now())
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(readable).sign(id, at, body),
    }
  }
}

/** Lengths are characters of all bodies. */
const limits = {
  /** Notifications of one alert. */
  count: 100,
  length: 2 ** 20,
  /** Of all alerts. */
  total: 64 * 2 ** 20,
}

interface Dropped extends AlertEntry {
  notification: Notification
}

/** Drops the oldest notifications of alerts with too many. Beyond the total, those of the alert with the most are dropped. */
export function dropExcess(entries: Iterable<AlertEntry>, { count, length, total } = limits): Dropped[] {
  const dropped: Dropped[] = []
  const waiting = [...entries].filter(({ state }) => state.outbox.length > 0)
  const drop = (entry: AlertEntry) => {
    // The next one must not overtake one that is being sent.
    const oldest = Math.max(0, entry.state.outbox.findIndex(isAtRest))
    const [notification] = entry.state.outbox.splice(oldest, 1) as [Notification]
    entry.state.dropped++
    dropped.push({ ...entry, notification })
  }
  for (const entry of waiting) {
    const { outbox } = entry.state
    // One that is too large by itself is kept.
    while (outbox.length > count || (outbox.length > 1 && lengthOf(entry) > length)) drop(entry)
  }
  while (waiting.reduce((sum, entry) => sum + lengthOf(entry), 0) > total) {
    drop(waiting.reduce((one, other) => (lengthOf(other) > lengthOf(one) ? other : one)))
  }
  return dropped
}

function isAtRest({ to }: Notification): boolean {
  return [...to.values()].every(({ nextMs }) => nextMs < Infinity)
}

function lengthOf({ state: { outbox } }: AlertEntry): number {
  return outbox.reduce(
    (sum, { bodies }) => Object.values(bodies).reduce((length, body) => length + body.length, sum),
    0,
  )
}
