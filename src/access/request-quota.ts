export interface Quota {
  limit: number
  /** Requests left in this minute. */
  remaining: number
  resetSeconds: number
  exceeded: boolean
}

export interface RequestLimit {
  /** Who is limited: a token or a session. */
  id: string
  perMinute: number
}

interface Window {
  startedAt: number
  count: number
}

const windowMs = 60_000

/** Counts requests per token. Each minute begins with the token's first request. */
export class RequestQuota {
  /** Oldest first. */
  readonly #windows = new Map<string, Window>()

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
    if (known && isOpen(known, nowMs)) return known
    this.#windows.delete(id)
    // Sessions come and go, so their windows must not stay.
    for (const [other, window] of this.#windows) {
      if (isOpen(window, nowMs)) break
      this.#windows.delete(other)
    }
    const window = { startedAt: nowMs, count: 0 }
    this.#windows.set(id, window)
    return window
  }
}

/** A clock that is set back must not lock anyone out. */
function isOpen({ startedAt }: Window, nowMs: number): boolean {
  return nowMs >= startedAt && nowMs < startedAt + windowMs
}
