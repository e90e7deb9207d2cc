import { Webhook } from 'standardwebhooks'
import { type Target, targetKey } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { type AlertEntry, type AlertState, isMuted, type Notification } from './alert-state.ts'
import type { AlertStore } from './alert-store.ts'
import { postJson, timeoutMs } from './target.ts'

const retriedForMs = 86_400_000
const maxSending = 32

/** Pauses between attempts double from five seconds to fifteen minutes. */
const firstPauseMs = 5_000
const maxPauseMs = 900_000

export const unreadableSecret =
  'The secret of this webhook was created with another key, so nothing is sent. Remove the target, then add it again.'

/** Delivers notifications at least once, and those of one alert to one target in order. */
export class Deliveries {
  readonly counts = { delivered: 0, failed: 0, abandoned: 0 }
  readonly #parts: AlertParts
  readonly #store: AlertStore
  readonly #sending = new Set<string>()
  #stop = new AbortController()

  constructor(parts: AlertParts, store: AlertStore) {
    this.#parts = parts
    this.#store = store
  }

  /** Sends what is due: of each target the first notification, if it is stored, since a crash could lose it otherwise. */
  work(entries: Map<string, AlertEntry>): void {
    const { time } = this.#parts
    const now = time.now()
    for (const [id, { alert, state }] of entries) {
      if (alert.deleted && state.outbox.length === 0) entries.delete(id)
      if (!alert.deleted && isMuted(alert.definition, time.wall.now())) continue
      const seen = new Set<string>()
      for (const notification of state.outbox) {
        const key = `${id} ${targetKey(notification.target)}`
        const isNext = !seen.has(key) && !this.#sending.has(key) && this.#store.has(notification)
        seen.add(key)
        if (!isNext || notification.nextMs > now || this.#sending.size >= maxSending) continue
        this.#sending.add(key)
        const { signal } = this.#stop
        void this.#attempt(id, state, notification, signal).finally(() => {
          this.#sending.delete(key)
          if (!signal.aborted) this.work(entries)
        })
      }
    }
  }

  /** Abandons attempts that are running; they are repeated by whoever continues. */
  stop(): void {
    this.#stop.abort()
    this.#stop = new AbortController()
  }

  async #attempt(id: string, state: AlertState, notification: Notification, signal: AbortSignal) {
    const { time } = this.#parts
    const status = (await this.send(id, state.name, notification, signal)).status ?? 0
    if (signal.aborted) return
    // Tried once more even then: a mute can be longer.
    const isLate = time.now() - notification.createdMs > retriedForMs
    const target = targetKey(notification.target)
    if (status === 410) {
      state.off.push(target)
      state.outbox = state.outbox.filter((each) => targetKey(each.target) !== target)
    }
    const isDelivered = status >= 200 && status < 300
    if (isDelivered || isLate) state.outbox = state.outbox.filter((each) => each !== notification)
    notification.attempts++
    notification.nextMs = time.now() + Math.min(firstPauseMs * 2 ** (notification.attempts - 1), maxPauseMs)
    this.counts[isDelivered ? 'delivered' : isLate || status === 410 ? 'abandoned' : 'failed']++
    this.#store.set(id, state)
    void this.#store.flush()
  }

  /** Sends once, and records the outcome. */
  async send(id: string, alert: string, notification: Notification, signal = this.#stop.signal) {
    const { type, target, body, attempts } = notification
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const since = performance.now()
    const sent = { status: null as number | null, error: null as string | null, response: '' }
    try {
      const headers = target.type === 'webhook' ? this.#signed(notification.id, target, body) : {}
      const { status, text } = await postJson(target.url, headers, body, {
        ...this.#parts.rules,
        signal: limited,
      })
      Object.assign(sent, { status, response: text })
    } catch (error) {
      sent.error = limited.aborted ? `No response within ${timeoutMs / 1000} s.` : (error as Error).message
    }
    // Without the URL: that of Slack is a secret.
    const host = URL.canParse(target.url) ? new URL(target.url).host : ''
    const result = sent.status === null ? `failed: ${sent.error}` : `got ${sent.status}`
    this.#store.record(id, `${type} of ${alert} to ${target.type} ${host} ${result}`, {
      ...{ kind: 'delivery', alert, type, target: target.type, host, webhook_id: notification.id },
      ...{ attempt: attempts + 1, ...sent, ms: Math.round(performance.now() - since) },
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
