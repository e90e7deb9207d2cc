import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

export interface Quota {
  limit: number
  remaining: number
  resetSeconds: number
  exceeded: boolean
}

export interface RequestLimit {
  /** Who is limited: a token, a session or a client address. */
  id: string
  perMinute: number
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
    this.#windows = new LRUCache({ max: maxWindows })
  }

  /** Counts a request, unless it exceeds a limit. Returns the limit with the fewest requests left. */
  take(limits: readonly RequestLimit[], nowMs: number): Quota | undefined {
    const counted = limits.map(({ id, perMinute: limit }) => ({ limit, window: this.#window(id, nowMs) }))
    const full = counted.find(({ limit, window }) => window.count >= limit)
    if (!full) for (const { window } of counted) window.count++
    const quotas = (full ? [full] : counted).map(({ limit, window }) => ({
      limit,
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
  if (!isIPv6(address)) return address
  const [plain = ''] = address.split('%')
  const mapped = /^::ffff:(\d[\d.]+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  // `::` stands for zeros, which may be among the first four groups.
  const behind = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length)
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...behind]
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
