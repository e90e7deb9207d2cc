import type { Timers } from '../../base/clock.ts'
import { overloaded } from '../../base/errors.ts'

export interface QueryQueueOptions {
  /** So many queries run at once. */
  maxRunning: number
  /** So many may wait, of one caller and of all. */
  maxWaitingPerCaller: number
  maxWaiting: number
  /**
   * The longest wait for a turn. A query that would probably wait longer behind others is refused at once, and one that
   * does is refused then.
   */
  maxWaitMs: number
  /** The longest wait of a query that nobody waits for. It is never refused for how long it would probably take. */
  maxBackgroundWaitMs: number
  time: Pick<Timers, 'after' | 'now'>
}

export interface Turn {
  caller: string
  signal?: AbortSignal | undefined
  /** Whether nobody waits for the result. */
  background?: boolean
}

interface Waiter {
  start: () => void
}

const maxRetryAfterSeconds = 60

/**
 * A moving average of how long queries run. It begins low, and a single query raises it by a fifth at most: one slow query
 * says nothing about the next ones.
 */
class RunTime {
  averageMs = 10

  add(ms: number): void {
    this.averageMs += (Math.min(ms, 4 * this.averageMs) - this.averageMs) / 16
    // Runs of no time at all must not bring it down to where it takes long to rise.
    this.averageMs = Math.max(this.averageMs, 1)
  }
}

/**
 * Lets a bounded number of queries run. The others wait in a line for each caller, and the lines take turns,
 * so that a caller with a thousand queries does not keep one with a single query waiting.
 */
export class QueryQueue {
  readonly #options: QueryQueueOptions
  readonly #lines = new Map<string, Waiter[]>()
  readonly #runTime = new RunTime()
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

  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.maxRunning) this.#running++
    else await this.#wait(turn)
    const { time } = this.#options
    const since = time.now()
    try {
      return await work()
    } finally {
      this.#runTime.add(time.now() - since)
      this.#next()
    }
  }

  /** How long a newcomer would wait: the lines take turns, so no line has more of them before it than its own. */
  #expectedWaitMs(caller: string): number {
    const own = this.#lines.get(caller)?.length ?? 0
    let turns = own + 1
    for (const [other, line] of this.#lines) if (other !== caller) turns += Math.min(line.length, own + 1)
    return (turns * this.#runTime.averageMs) / this.#options.maxRunning
  }

  #wait({ caller, signal, background = false }: Turn): Promise<void> {
    const { time, maxWaitMs, maxBackgroundWaitMs } = this.#options
    const line = this.#lines.get(caller) ?? []
    const expectedMs = this.#expectedWaitMs(caller)
    const isFull =
      line.length >= this.#options.maxWaitingPerCaller || this.#waiting >= this.#options.maxWaiting
    // Whoever is first in line gets the next free slot, and how long the running queries still take is unknown.
    const isTooLong = !background && this.#waiting > 0 && expectedMs > maxWaitMs
    if (isFull || isTooLong) {
      const seconds = Math.min(Math.max(1, Math.ceil(expectedMs / 1000)), maxRetryAfterSeconds)
      const reason = isFull
        ? 'Too many queries are waiting.'
        : 'Other queries are waiting, and this one would wait too long for its turn.'
      throw overloaded(`${reason} Try again in ${seconds} s.`, seconds)
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
      const stopTimer = time.after(background ? maxBackgroundWaitMs : maxWaitMs, () =>
        leave(overloaded('The query waited too long for its turn. Try again in a moment.')),
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
