import { Webhook } from 'standardwebhooks'
import type { Timers } from '../../base/clock.ts'
import { type Target, targetKey } from '../alert.ts'
import type { AlertEvents } from '../alert-events.ts'
import type { AlertState, Notification } from '../alert-state.ts'
import { type PostOptions, postJson } from './post-json.ts'
import type { WebhookSecrets } from './secrets.ts'

interface DeliveriesOptions {
  time: Timers
  secrets: WebhookSecrets
  events: AlertEvents
  post: Pick<PostOptions, 'allowedHosts' | 'lookup'>
  /** Resolves when the state is on disk. */
  save: (id: string, state: AlertState) => Promise<void>
}

interface Sent {
  status: number | null
  /** Why there is no response. */
  error: string | null
  response: string
  ms: number
}

const timeoutMs = 10_000
const retriedForMs = 86_400_000
const maxSending = 32

/** Pauses between attempts double from five seconds to fifteen minutes. */
const firstPauseMs = 5_000
const maxPauseMs = 900_000

/** Delivers notifications at least once, and those of one alert to one target in order. */
export class Deliveries {
  readonly counts = { delivered: 0, failed: 0, abandoned: 0 }
  readonly #options: DeliveriesOptions
  /** Alerts with notifications that are not delivered. */
  readonly #pending = new Map<string, AlertState>()
  readonly #sending = new Set<string>()
  readonly #runs = new Set<Promise<void>>()
  #stop = new AbortController()
  #cancelTimer: (() => void) | undefined

  constructor(options: DeliveriesOptions) {
    this.#options = options
  }

  /** The state must be stored, or a crash could lose its notifications. */
  deliver(id: string, state: AlertState): void {
    if (state.outbox.length === 0) this.#pending.delete(id)
    else this.#pending.set(id, state)
    this.#tick()
  }

  /** Sends without storing or retrying. */
  async sendOnce(
    alert: { id: string; definition: { name: string } },
    notification: Notification,
  ): Promise<Sent> {
    const sent = await this.#send(notification)
    this.#record(alert.id, alert.definition.name, notification, sent)
    return sent
  }

  /** Abandons attempts that are running; they are repeated by whoever continues. */
  async stop(): Promise<void> {
    this.#cancelTimer?.()
    this.#stop.abort()
    this.#pending.clear()
    await Promise.all(this.#runs)
    this.#stop = new AbortController()
  }

  #tick(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#options.time.now()
    let nextMs = Infinity
    for (const [id, state] of this.#pending) {
      const first = new Map<string, Notification>()
      for (const each of state.outbox) {
        const key = targetKey(each.target)
        if (!first.has(key)) first.set(key, each)
      }
      for (const [target, notification] of first) {
        const key = `${id} ${target}`
        if (this.#sending.has(key)) continue
        if (notification.nextMs > now) nextMs = Math.min(nextMs, notification.nextMs)
        else if (this.#sending.size < maxSending) this.#start(key, id, state, notification)
      }
    }
    if (nextMs < Infinity) this.#cancelTimer = this.#options.time.after(nextMs - now, () => this.#tick())
  }

  #start(key: string, id: string, state: AlertState, notification: Notification): void {
    this.#sending.add(key)
    const { signal } = this.#stop
    const run = this.#attempt(id, state, notification, signal)
      .catch(() => {})
      .finally(() => {
        this.#sending.delete(key)
        this.#runs.delete(run)
        if (!signal.aborted) this.deliver(id, state)
      })
    this.#runs.add(run)
  }

  async #attempt(
    id: string,
    state: AlertState,
    notification: Notification,
    signal: AbortSignal,
  ): Promise<void> {
    const { time, save } = this.#options
    const isLate = time.now() - notification.createdMs > retriedForMs
    const sent = isLate ? undefined : await this.#send(notification)
    if (signal.aborted) return
    const keepOnly = (isKept: (each: Notification) => boolean) => {
      state.outbox = state.outbox.filter(isKept)
    }
    const isDelivered = sent?.status != null && sent.status >= 200 && sent.status < 300
    if (sent) this.#record(id, state.name, notification, sent)
    if (isDelivered || !sent) keepOnly((each) => each !== notification)
    if (isDelivered) this.counts.delivered++
    else if (!sent) this.counts.abandoned++
    else if (sent.status === 410) {
      this.counts.abandoned++
      const target = targetKey(notification.target)
      state.off.push({ target, atMs: time.now() })
      keepOnly((each) => targetKey(each.target) !== target)
    } else {
      this.counts.failed++
      notification.attempts++
      notification.nextMs = time.now() + Math.min(firstPauseMs * 2 ** (notification.attempts - 1), maxPauseMs)
    }
    await save(id, state)
  }

  async #send({ id, target, body }: Notification): Promise<Sent> {
    const since = performance.now()
    try {
      const headers = target.type === 'webhook' ? this.#signed(id, target, body) : {}
      const { signal } = this.#stop
      const { status, text } = await postJson(target.url, headers, body, {
        ...this.#options.post,
        timeoutMs,
        signal,
      })
      return { status, error: null, response: text, ms: performance.now() - since }
    } catch (error) {
      return { status: null, error: reasonOf(error), response: '', ms: performance.now() - since }
    }
  }

  #signed(id: string, { secret }: Target, body: string): Record<string, string> {
    const readable = secret && this.#options.secrets.read(secret)
    if (readable === undefined) throw new Error(unreadableSecret)
    const at = new Date(this.#options.time.wall.now())
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(readable).sign(id, at, body),
    }
  }

  /** Without the URL: that of Slack is a secret. */
  #record(
    id: string,
    name: string,
    { type, target, attempts, id: webhookId }: Notification,
    sent: Sent,
  ): void {
    const { status, error, response, ms } = sent
    const host = URL.canParse(target.url) ? new URL(target.url).host : ''
    const result = status === null ? `failed: ${error}` : `got ${status}`
    this.#options.events.add(
      { id, definition: { name } },
      {
        atMs: this.#options.time.wall.now(),
        kind: 'delivery',
        message: `${type} of ${name} to ${target.type} ${host} ${result}`,
        fields: {
          type,
          target: target.type,
          host,
          webhook_id: webhookId,
          attempt: attempts + 1,
          status,
          error,
          response,
          ms: Math.round(ms),
        },
      },
    )
  }
}

export const unreadableSecret =
  'The secret of this webhook was created with another key, so nothing is sent. Create a new secret.'

function reasonOf(error: unknown): string {
  const { name, message } = error as Error
  if (name === 'TimeoutError' || name === 'AbortError') return `No response within ${timeoutMs / 1000} s.`
  return message
}
