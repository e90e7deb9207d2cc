import type { Timers } from '../base/clock.ts'

export interface RefreshQueueOptions {
  time: Timers
  /** So many refreshes run at once. */
  maxRunning: number
  /** Whether callers need the engine now. */
  busy: () => boolean
}

export interface RefreshJob {
  key: string
  /** What is dropped together. */
  group: string
  /** Its last attempt failed. */
  failing: boolean
  /** From then on it does not give way to callers. */
  urgentAtMs: number
  /** Never rejects: what fails is dealt with where it is known what failed. */
  run: () => Promise<void>
}

type WaitingJob = RefreshJob & { settle: () => void }

/** How long to wait before asking again whether callers need the engine. */
const giveWayMs = 200

/**
 * Refreshes in the order in which they fell due. Those whose last attempt failed come after the others and never
 * take the last place, so that keys which are broken, and slow to say so, do not keep the others from being warmed.
 */
export class RefreshQueue {
  readonly #options: RefreshQueueOptions
  readonly #healthy = new Map<string, WaitingJob>()
  readonly #failing = new Map<string, WaitingJob>()
  readonly #running = new Set<Promise<void>>()
  #runningFailing = 0
  #cancelRetry: (() => void) | undefined
  #stopped = false

  constructor(options: RefreshQueueOptions) {
    this.#options = options
  }

  /** Resolves when the job is done, or is not needed any more. */
  add(job: RefreshJob): Promise<void> {
    if (this.#stopped || this.has(job.key)) return Promise.resolve()
    return new Promise((settle) => {
      this.#lineOf(job).set(job.key, { ...job, settle })
      this.#drain()
    })
  }

  has(key: string): boolean {
    return this.#healthy.has(key) || this.#failing.has(key)
  }

  delete(key: string): void {
    for (const line of [this.#healthy, this.#failing]) {
      line.get(key)?.settle()
      line.delete(key)
    }
  }

  drop(group: string): void {
    for (const job of [...this.#healthy.values(), ...this.#failing.values()]) {
      if (job.group === group) this.delete(job.key)
    }
  }

  /** Begins no more, and waits for what runs. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelRetry?.()
    for (const key of [...this.#healthy.keys(), ...this.#failing.keys()]) this.delete(key)
    await Promise.all(this.#running)
  }

  #drain(): void {
    const { maxRunning, time } = this.#options
    while (this.#running.size < maxRunning) {
      const job = this.#next()
      if (job === undefined) break
      this.#lineOf(job).delete(job.key)
      this.#start(job)
    }
    const places = this.#running.size < maxRunning
    if (places && this.#healthy.size + this.#failing.size > 0 && this.#cancelRetry === undefined) {
      this.#cancelRetry = time.after(giveWayMs, () => {
        this.#cancelRetry = undefined
        this.#drain()
      })
    }
  }

  #lineOf({ failing }: RefreshJob): Map<string, WaitingJob> {
    return failing ? this.#failing : this.#healthy
  }

  #next(): WaitingJob | undefined {
    const mayFail = this.#runningFailing < Math.max(1, this.#options.maxRunning - 1)
    if (!this.#options.busy()) return first(this.#healthy) ?? (mayFail ? first(this.#failing) : undefined)
    const now = this.#options.time.now()
    return firstUrgent(this.#healthy, now) ?? (mayFail ? firstUrgent(this.#failing, now) : undefined)
  }

  #start(job: WaitingJob): void {
    if (job.failing) this.#runningFailing++
    const run = job.run().finally(() => {
      this.#running.delete(run)
      if (job.failing) this.#runningFailing--
      job.settle()
      if (!this.#stopped) this.#drain()
    })
    this.#running.add(run)
  }
}

function first(line: Map<string, WaitingJob>): WaitingJob | undefined {
  return line.values().next().value
}

function firstUrgent(line: Map<string, WaitingJob>, nowMs: number): WaitingJob | undefined {
  for (const job of line.values()) if (job.urgentAtMs <= nowMs) return job
  return undefined
}
