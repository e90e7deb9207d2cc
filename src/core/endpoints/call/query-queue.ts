import type { Timers } from '../../base/clock.ts'
import { overloaded } from '../../base/errors.ts'

export interface QueryQueueOptions {
  maxRunning: number
  maxWaitingPerCaller: number
  maxWaiting: number
  /** A query that is expected to wait longer behind others is refused at once. */
  maxWaitMs: number
  /** A background query is never refused because of its expected wait. */
  maxBackgroundWaitMs: number
  time: Pick<Timers, 'after' | 'now'>
}

interface Turn {
  /** Those who share a line: a project, or a token without one. */
  caller: string
  signal?: AbortSignal | undefined
  /** Whether no request waits for the result. */
  background?: boolean
}

const maxRetryAfterSeconds = 60

/**
 * Limits running queries. The others wait in one line per caller, and the lines take turns. A caller runs at most half as many as all
 * together, because slow queries keep their places for long, and a query of another one would share the processors with all of them.
 */
export class QueryQueue {
  readonly #options: QueryQueueOptions
  readonly #lines = new Map<string, (() => void)[]>()
  /** A moving average of run times. It starts low, and one slow query raises it by at most a fifth. */
  #averageMs = 10
  readonly #runningOf = new Map<string, number>()
  readonly #runs = new Set<Promise<unknown>>()
  #running = 0
  #waiting = 0

  constructor(options: QueryQueueOptions) {
    this.#options = options
  }

  get maxRunning(): number {
    return this.#options.maxRunning
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Resolves when all queries have ended that run or wait now. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#runs)
  }

  run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    const run = this.#run(turn, work).finally(() => this.#runs.delete(run))
    this.#runs.add(run)
    return run
  }

  async #run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    const { caller } = turn
    if (this.#mayStart(caller)) this.#count(caller, 1)
    else await this.#wait(turn)
    const { time } = this.#options
    const since = time.now()
    try {
      return await work()
    } finally {
      const change = Math.min(time.now() - since, 4 * this.#averageMs) - this.#averageMs
      // From zero it could not rise.
      this.#averageMs = Math.max(1, this.#averageMs + change / 16)
      this.#count(caller, -1)
      this.#next()
    }
  }

  get #maxRunningPerCaller(): number {
    return Math.max(1, this.#options.maxRunning >> 1)
  }

  #mayStart(caller: string): boolean {
    const own = this.#runningOf.get(caller) ?? 0
    return this.#running < this.#options.maxRunning && own < this.#maxRunningPerCaller
  }

  #count(caller: string, change: 1 | -1): void {
    this.#running += change
    const own = (this.#runningOf.get(caller) ?? 0) + change
    if (own === 0) this.#runningOf.delete(caller)
    else this.#runningOf.set(caller, own)
  }

  /** The lines take turns, so each other line is served at most as often as the caller's own, which has its share at most. */
  #expectedWaitMs(caller: string): number {
    const own = this.#lines.get(caller)?.length ?? 0
    let turns = own + 1
    for (const [other, line] of this.#lines) if (other !== caller) turns += Math.min(line.length, own + 1)
    const rounds = Math.max(turns / this.#options.maxRunning, (own + 1) / this.#maxRunningPerCaller)
    return rounds * this.#averageMs
  }

  #wait({ caller, signal, background = false }: Turn): Promise<void> {
    const { time, maxWaitMs, maxBackgroundWaitMs } = this.#options
    const line = this.#lines.get(caller) ?? []
    const expectedMs = this.#expectedWaitMs(caller)
    const isFull =
      line.length >= this.#options.maxWaitingPerCaller || this.#waiting >= this.#options.maxWaiting
    // With an empty queue the wait depends only on the running queries, whose remaining time is unknown.
    const isTooLong = !background && this.#waiting > 0 && expectedMs > maxWaitMs
    if (isFull || isTooLong) {
      const seconds = Math.min(Math.max(1, Math.ceil(expectedMs / 1000)), maxRetryAfterSeconds)
      const reason = isFull
        ? 'Too many queries are waiting.'
        : 'Other queries are waiting, and this one would wait too long for its turn.'
      throw overloaded(`${reason} Try again in ${seconds} s.`, seconds)
    }
    return new Promise((resolve, reject) => {
      const settle = () => {
        stopTimer()
        signal?.removeEventListener('abort', onAbort)
      }
      const start = () => {
        settle()
        resolve()
      }
      const leave = (reason: unknown) => {
        line.splice(line.indexOf(start), 1)
        if (line.length === 0) this.#lines.delete(caller)
        this.#waiting--
        settle()
        reject(reason)
      }
      const onAbort = () => leave(signal?.reason)
      const stopTimer = time.after(background ? maxBackgroundWaitMs : maxWaitMs, () =>
        leave(overloaded('The query waited too long for its turn. Try again in a moment.')),
      )
      line.push(start)
      this.#lines.set(caller, line)
      this.#waiting++
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  #next(): void {
    for (const [caller, line] of this.#lines) {
      if (!this.#mayStart(caller)) continue
      const start = line.shift() as () => void
      this.#lines.delete(caller)
      if (line.length > 0) this.#lines.set(caller, line)
      this.#waiting--
      this.#count(caller, 1)
      start()
      return
    }
  }
}
