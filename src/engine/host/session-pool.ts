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
  readonly #waiting: (() => void)[] = []
  #lent = 0

  constructor(options: SessionPoolOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#lent
  }

  async use<T>(work: (session: EngineSession) => Promise<T>): Promise<T> {
    await this.#turn()
    let session: EngineSession | undefined
    try {
      session = this.#idle.pop() ?? (await this.#options.open())
      return await work(session)
    } finally {
      if (session?.spoiled) session.close()
      else if (session) this.#idle.push(session)
      this.#pass()
    }
  }

  #turn(): Promise<void> | undefined {
    if (this.#lent < this.#options.size) {
      this.#lent++
      return undefined
    }
    if (this.#waiting.length >= this.#options.maxWaiting) throw new PoolFull()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes straight to who waits longest, so that nobody overtakes. */
  #pass(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#lent--
  }

  close(): void {
    for (const session of this.#idle.splice(0)) session.close()
  }
}
