import type { Timers } from '../base/clock.ts'
import { overloaded } from '../base/errors.ts'

export interface QueryQueueOptions {
  /** So many queries run at once. */
  maxRunning: number
  /** So many may wait, of one caller and of all. */
  maxWaitingPerCaller: number
  maxWaiting: number
  /** Whoever has not had a turn after so long is told to come back: what is answered late is of no use to anybody. */
  maxWaitMs: number
  time: Pick<Timers, 'after'>
}

interface Waiter {
  start: () => void
}

/**
 * Lets a bounded number of queries run. The others wait in a line for each caller, and the lines take turns,
 * so that a caller with a thousand queries does not keep one with a single query waiting.
 */
export class QueryQueue {
  readonly #options: QueryQueueOptions
  readonly #lines = new Map<string, Waiter[]>()
  #running = 0
  #waiting = 0

  constructor(options: QueryQueueOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  async run<T>(caller: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running < this.#options.maxRunning) this.#running++
    else await this.#wait(caller, signal)
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    const line = this.#lines.get(caller) ?? []
    if (line.length >= this.#options.maxWaitingPerCaller || this.#waiting >= this.#options.maxWaiting) {
      throw overloaded('Too many calls are waiting. Try again in a moment.')
    }
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        line.splice(line.indexOf(waiter), 1)
        if (line.length === 0) this.#lines.delete(caller)
        this.#waiting--
        over()
        reject(reason)
      }
      const gone = () => leave(signal?.reason)
      const { time, maxWaitMs } = this.#options
      const stopTimer = time.after(maxWaitMs, () =>
        leave(overloaded('The call waited too long for its turn. Try again in a moment.')),
      )
      const over = () => {
        stopTimer()
        signal?.removeEventListener('abort', gone)
      }
      const waiter: Waiter = {
        start: () => {
          over()
          resolve()
        },
      }
      line.push(waiter)
      this.#lines.set(caller, line)
      this.#waiting++
      signal?.addEventListener('abort', gone, { once: true })
    })
  }

  /** The place goes to the first of the line that has waited longest for its turn. */
  #next(): void {
    const turn = this.#lines.entries().next().value
    if (turn === undefined) {
      this.#running--
      return
    }
    const [caller, line] = turn
    const waiter = line.shift() as Waiter
    this.#lines.delete(caller)
    if (line.length > 0) this.#lines.set(caller, line)
    this.#waiting--
    waiter.start()
  }
}
