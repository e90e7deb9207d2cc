import { exceptions } from './exceptions.ts'

export interface PooledSession {
  readonly spoiled: boolean
  /** Resolves when the memory of the session is free. */
  close(): Promise<void>
}

interface SessionPoolOptions<S> {
  open: () => Promise<S>
  size: number
  maxWaiting: number
  /** Maximum number of closing sessions that already have a replacement. */
  maxClosing: number
}

/** Gives each session to one query at a time, and replaces spoiled sessions. */
export class SessionPool<S extends PooledSession> {
  readonly #options: SessionPoolOptions<S>
  readonly #idle: S[] = []
  readonly #waiting = new Set<() => void>()
  #lent = 0
  #closing = 0
  /** Number of slots that become free only when a session has closed. */
  #withheld = 0

  constructor(options: SessionPoolOptions<S>) {
    this.#options = options
  }

  async use<T>(stop: AbortSignal, work: (session: S) => Promise<T>): Promise<T> {
    stop.throwIfAborted()
    await this.#acquire(stop)
    let session: S | undefined
    try {
      session = this.#idle.pop() ?? (await this.#options.open())
      stop.throwIfAborted()
      return await work(session)
    } finally {
      if (session?.spoiled) this.#retire(session)
      else {
        if (session) this.#idle.push(session)
        this.#release()
      }
    }
  }

  /** Closing takes as long as the longest running query, and queries can fail faster than that. */
  #retire(session: S): void {
    this.#closing++
    const withheld = this.#closing > this.#options.maxClosing
    if (withheld) this.#withheld++
    void session.close().finally(() => {
      this.#closing--
      if (this.#withheld === 0) return
      this.#withheld--
      this.#release()
    })
    if (!withheld) this.#release()
  }

  #acquire(stop: AbortSignal): Promise<void> | undefined {
    if (this.#lent < this.#options.size) {
      this.#lent++
      return undefined
    }
    if (this.#waiting.size >= this.#options.maxWaiting) throw exceptions.tooMany()
    return new Promise((resolve, reject) => {
      const start = () => {
        stop.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.delete(start)
        reject(stop.reason)
      }
      stop.addEventListener('abort', leave, { once: true })
      this.#waiting.add(start)
    })
  }

  /** Passes the slot to the query that has waited longest. */
  #release(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#lent--
  }

  close(): void {
    for (const session of this.#idle.splice(0)) void session.close()
  }
}
