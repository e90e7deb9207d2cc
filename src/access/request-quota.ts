export interface Quota {
  limit: number
  /** Requests left in this minute. */
  remaining: number
  resetSeconds: number
  exceeded: boolean
}

const windowMs = 60_000

/** Counts requests per token. Each minute begins with the token's first request. */
export class RequestQuota {
  readonly #windows = new Map<string, { startedAt: number; count: number }>()

  take(id: string, limit: number, nowMs: number): Quota {
    let window = this.#windows.get(id)
    // A clock that is set back must not lock anyone out.
    if (!window || nowMs >= window.startedAt + windowMs || nowMs < window.startedAt) {
      window = { startedAt: nowMs, count: 0 }
      this.#windows.set(id, window)
    }
    const exceeded = window.count >= limit
    if (!exceeded) window.count++
    return {
      limit,
      remaining: Math.max(0, limit - window.count),
      resetSeconds: Math.max(1, Math.ceil((window.startedAt + windowMs - nowMs) / 1000)),
      exceeded,
    }
  }

  forget(id: string): void {
    this.#windows.delete(id)
  }
}
