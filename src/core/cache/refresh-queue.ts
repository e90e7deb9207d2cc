import type { Timers } from '../base/clock.ts'

interface RefreshQueueOptions {
  time: Timers
  maxRunning: number
  busy: () => boolean
}

interface RefreshJob {
  key: string
  group: string
  /** Whether its last attempt failed. */
  failing: boolean
  /** From then on it does not give way to requests. */
  urgentAtMs: number
  /** Never rejects. */
  run: () => Promise<void>
}

type WaitingJob = RefreshJob & { settle: () => void }

const busyPollMs = 200

/** In the order in which they became due; failing ones come last and leave a slot free, so that they do not block the others. */
export class RefreshQueue {
  readonly #options: RefreshQueueOptions
  /** Apart, because many may fail at once, and none of them should be looked at for the next healthy one. */
  readonly #healthy = new Map<string, WaitingJob>()
  readonly #failing = new Map<string, WaitingJob>()
  readonly #lines = [this.#healthy, this.#failing]
  readonly #running = new Set<Promise<void>>()
  #runningFailing = 0
  #cancelRetry: (() => void) | undefined
  #stopped = false

  constructor(options: RefreshQueueOptions) {
    this.#options = options
  }

  add(job: RefreshJob): Promise<void> {
    if (this.#stopped || this.has(job.key)) return Promise.resolve()
    return new Promise((settle) => {
      this.#lineOf(job).set(job.key, { ...job, settle })
      this.#drain()
    })
  }

  has(key: string): boolean {
    return this.#lines.some((line) => line.has(key))
  }

  delete(key: string): void {
    for (const line of this.#lines) {
      line.get(key)?.settle()
      line.delete(key)
    }
  }

  drop(group: string): void {
    for (const line of this.#lines) {
      for (const job of line.values()) if (job.group === group) this.delete(job.key)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelRetry?.()
    for (const line of this.#lines) for (const key of line.keys()) this.delete(key)
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
    const hasFreeSlot = this.#running.size < maxRunning
    if (hasFreeSlot && this.#lines.some(({ size }) => size > 0)) {
      this.#cancelRetry ??= time.after(busyPollMs, () => {
        this.#cancelRetry = undefined
        this.#drain()
      })
    }
  }

  #next(): WaitingJob | undefined {
    const { busy, time, maxRunning } = this.#options
    const untilMs = busy() ? time.now() : Infinity
    const hasSlotForFailing = this.#runningFailing < Math.max(1, maxRunning - 1)
    for (const line of hasSlotForFailing ? this.#lines : [this.#healthy]) {
      for (const job of line.values()) if (job.urgentAtMs <= untilMs) return job
    }
    return undefined
  }

  #lineOf({ failing }: RefreshJob): Map<string, WaitingJob> {
    return failing ? this.#failing : this.#healthy
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
