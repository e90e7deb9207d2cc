import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { atMost } from '../base/cache-limit.ts'

export type Quota = NonNullable<ReturnType<RequestQuota['take']>>

export interface RequestLimit {
  /** Who is limited: a token, a session or a client address. */
  id: string
  perMinute: number
  /** Whether all tokens of a project share it. */
  isShared?: boolean
}

interface Window {
  startedAt: number
  count: number
}

const windowMs = 60_000

/** Counts requests per minute. The minute of a token starts with its first request. */
export class RequestQuota {
  readonly #windows: LRUCache<string, Window>

  /** Beyond the maximum, the least recent window is forgotten. */
  constructor(maxWindows: number) {
    this.#windows = new LRUCache(atMost(maxWindows))
  }

  /** Counts a request, unless it exceeds a limit. Returns the limit with the fewest requests left. */
  take(limits: readonly RequestLimit[], nowMs: number) {
    const counted = limits.map(({ id, perMinute: limit, isShared = false }) => ({
      limit,
      isShared,
      window: this.#window(id, nowMs),
    }))
    const full = counted.find(({ limit, window }) => window.count >= limit)
    if (!full) for (const { window } of counted) window.count++
    const quotas = (full ? [full] : counted).map(({ limit, isShared, window }) => ({
      limit,
      isShared,
      remaining: Math.max(0, limit - window.count),
      resetSeconds: Math.max(1, Math.ceil((window.startedAt + windowMs - nowMs) / 1000)),
      exceeded: full !== undefined,
    }))
    return quotas.sort((one, other) => one.remaining - other.remaining)[0]
  }

  forget(id: string): void {
    this.#windows.delete(id)
  }

  #window(id: string, nowMs: number): Window {
    const known = this.#windows.get(id)
    // A clock that is set back must not lock anyone out.
    if (known && nowMs >= known.startedAt && nowMs < known.startedAt + windowMs) return known
    const window = { startedAt: nowMs, count: 0 }
    this.#windows.set(id, window)
    return window
  }
}

/** An IPv6 client usually has all addresses of a /64 network. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')
}
