import type { EngineSession } from './session.ts'

export class PoolFull extends Error {}

export interface SessionPoolOptions {
  open: () => Promise<EngineSession>
  size: number
  maxWaiting: number
}

/** Lends each session to one query at a time, and replaces those in which something failed. */
export class SessionPool {
  readonly #options: SessionPoolOptions
  readonly #idle: EngineSession[] = []
  readonly #waiting = new Set<() => void>()
  #lent = 0

  constructor(options: SessionPoolOptions) {
    this.#options = options
  }

  async use<T>(stop: AbortSignal, work: (session: EngineSession) => Promise<T>): Promise<T> {
    stop.throwIfAborted()
    await this.#turn(stop)
    let session: EngineSession | undefined
    try {
      session = this.#idle.pop() ?? (await this.#options.open())
      stop.throwIfAborted()
      return await work(session)
    } finally {
      if (session?.spoiled) session.close()
      else if (session) this.#idle.push(session)
      this.#pass()
    }
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
    for (const session of this.#idle.splice(0)) session.close()
  }
}
