import { Webhook } from 'standardwebhooks'
import { withDeadline } from '../../core/base/clock.ts'
import { grouped } from '../../core/base/grouped.ts'
import type { SavedAlert, Target } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { type AlertEntry, type Attempts, isMuted, type Notification } from './alert-state.ts'
import type { AlertStore } from './alert-store.ts'
import { noMailServer } from './mailer.ts'
import { targetForms } from './notification.ts'
import { unreadableSecret } from './secrets.ts'
import { postJson } from './target.ts'

const withinMs = 10_000
const retriedForMs = 86_400_000
const maxSending = 32
/** A server that does not respond leaves room for others. */
const maxSendingToServer = 4

/** Pauses between attempts double from five seconds to fifteen minutes. */
const firstPauseMs = 5_000
const maxPauseMs = 900_000

interface Delivery extends AlertEntry {
  notification: Notification
  attempts: Attempts
  /** Of the target. */
  key: string
  /** What may not respond: a host, or the mail server. */
  server: string
}

/** Delivers notifications at least once, and those of one alert to one target in order. */
export class Deliveries {
  readonly counts = { delivered: 0, failed: 0, abandoned: 0 }
  readonly #parts: AlertParts
  readonly #store: AlertStore
  /** The servers of all attempts that are running. */
  readonly #sending: string[] = []
  #stop = new AbortController()

  constructor(parts: AlertParts, store: AlertStore) {
    this.#parts = parts
    this.#store = store
  }

  /** Sends what is due, first to the servers with the fewest attempts that are running. */
  work(entries: Map<string, AlertEntry>): void {
    this.#drop(entries)
    const due = grouped(this.#due(entries), ({ server }) => server)
    const sendingTo = (server: string) => this.#sending.filter((each) => each === server).length
    while (due.size > 0 && this.#sending.length < maxSending) {
      const [server] = [...due.keys()].sort((one, other) => sendingTo(one) - sendingTo(other)) as [string]
      const next = sendingTo(server) < maxSendingToServer ? due.get(server)?.shift() : undefined
      if (next) this.#begin(next, entries)
      else due.delete(server)
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
          const { type, host = '' } = alert.targets.get(key) ?? {}
          due.push({ ...entry, notification, attempts, key, server: type === 'email' ? 'mail' : host })
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
      this.#store.record(alert, `${type} of ${state.name} was dropped`, fields)
      this.#store.set(alert.id, state)
    }
  }

  #begin(delivery: Delivery, entries: Map<string, AlertEntry>): void {
    const { signal } = this.#stop
    delivery.attempts.nextMs = Infinity
    this.#sending.push(delivery.server)
    void this.#attempt(delivery, signal).finally(() => {
      this.#sending.splice(this.#sending.indexOf(delivery.server), 1)
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
    const isEmail = alert.targets.get(key)?.type === 'email'
    const isGone = status === 410 && !isEmail
    // A mail server accepts a message that it has refused for good no later either.
    const isRefused = isEmail && (status ?? 0) >= 500
    // Tried once more even then: a mute can be longer.
    const isLate = time.now() - notification.createdMs > retriedForMs
    const isOver = isLate || isGone || isRefused
    this.counts[isDelivered ? 'delivered' : isOver ? 'abandoned' : 'failed']++
    attempts.nextMs = time.now() + Math.min(firstPauseMs * 2 ** attempts.count++, maxPauseMs)
    if (!isDelivered && !isOver) return
    // The target may have been removed meanwhile.
    if (isGone && notification.to.has(key)) state.off.push(key)
    for (const each of isGone ? state.outbox : [notification]) each.to.delete(key)
    state.outbox = state.outbox.filter(({ to }) => to.size > 0)
    if (!isDelivered && !isGone) {
      state.dropped++
      notification.isIncomplete = true
      const fields = { alert: state.name, webhook_id: notification.id }
      log.warn(fields, `a notification was ${isRefused ? 'refused' : 'not accepted for a day'}`)
    }
    if (isDelivered && state.outbox.length === 0 && !notification.isIncomplete) state.dropped = 0
    this.#store.set(alert.id, state)
    void this.#store.flush()
  }

  /** Sends once, and records the outcome. */
  async send(alert: SavedAlert, key: string, notification: Notification, signal = this.#stop.signal) {
    const { definition } = alert
    const target = alert.targets.get(key) as Target & { host: string }
    const { host } = target
    const { id, type, to } = notification
    const since = performance.now()
    const sent = { status: null as number | null, error: null as string | null, response: '' }
    const post = async (limited: AbortSignal) => {
      try {
        const { status, text } = await this.#transmit(target, notification, limited)
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
    this.#store.record(alert, `${type} of ${definition.name} to ${target.type} ${host} ${result}`, {
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

  async #transmit(target: Target, { id, createdMs, bodies }: Notification, signal: AbortSignal) {
    const { rules, mailer } = this.#parts
    const { type, url = '', to = '' } = target
    const body = bodies[type] as string
    if (type !== 'email') {
      const headers = targetForms[type].isSigned ? this.#signed(id, target, body) : {}
      return postJson(url, headers, body, { ...rules, signal })
    }
    if (!mailer) throw new Error(noMailServer)
    return mailer.send({ id, atMs: createdMs, to, ...JSON.parse(body) }, signal)
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
