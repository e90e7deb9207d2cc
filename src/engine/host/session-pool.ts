export class PoolFull extends Error {}

/** What the pool has to know of a session. */
export interface Lendable {
  readonly spoiled: boolean
  /** Resolves when the session takes no memory any more. */
  close(): Promise<void>
}

export interface SessionPoolOptions<S> {
  open: () => Promise<S>
  size: number
  maxWaiting: number
  /** So many spoiled sessions may still be closing while others are opened in their place. */
  maxClosing: number
}

/** Lends each session to one query at a time, and replaces those in which something failed. */
export class SessionPool<S extends Lendable> {
  readonly #options: SessionPoolOptions<S>
  readonly #idle: S[] = []
  readonly #waiting = new Set<() => void>()
  #lent = 0
  #closing = 0
  /** Places of sessions that have to be closed before somebody else gets them. */
  #withheld = 0

  constructor(options: SessionPoolOptions<S>) {
    this.#options = options
  }

  async use<T>(stop: AbortSignal, work: (session: S) => Promise<T>): Promise<T> {
    stop.throwIfAborted()
    await this.#turn(stop)
    let session: S | undefined
    try {
      session = this.#idle.pop() ?? (await this.#options.open())
      stop.throwIfAborted()
      return await work(session)
    } finally {
      if (session?.spoiled) this.#retire(session)
      else {
        if (session) this.#idle.push(session)
        this.#pass()
      }
    }
  }

  /** A close can take as long as the longest query that runs, and queries can fail faster than that. */
  #retire(session: S): void {
    this.#closing++
    const withheld = this.#closing > this.#options.maxClosing
    if (withheld) this.#withheld++
    void session.close().finally(() => {
      this.#closing--
      if (this.#withheld === 0) return
      this.#withheld--
      this.#pass()
    })
    if (!withheld) this.#pass()
  }

  #turn(stop: AbortSignal): Promise<void> | undefined {
    if (this.#lent < this.#options.size) {
      this.#lent++
      return undefined
    }
    if (this.#waiting.size >= this.#options.maxWaiting) throw new PoolFull()
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

  /** The place goes straight to who waits longest, so that nobody overtakes. */
  #pass(): void {
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
