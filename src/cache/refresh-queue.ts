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
  readonly #waiting = new Map<string, WaitingJob>()
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
      this.#waiting.set(job.key, { ...job, settle })
      this.#drain()
    })
  }

  has(key: string): boolean {
    return this.#waiting.has(key)
  }

  delete(key: string): void {
    this.#waiting.get(key)?.settle()
    this.#waiting.delete(key)
  }

  drop(group: string): void {
    for (const job of this.#waiting.values()) if (job.group === group) this.delete(job.key)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelRetry?.()
    for (const key of this.#waiting.keys()) this.delete(key)
    await Promise.all(this.#running)
  }

  #drain(): void {
    const { maxRunning, time } = this.#options
    while (this.#running.size < maxRunning) {
      const job = this.#next()
      if (job === undefined) break
      this.#waiting.delete(job.key)
      this.#start(job)
    }
    const hasFreeSlot = this.#running.size < maxRunning
    if (hasFreeSlot && this.#waiting.size > 0) {
      this.#cancelRetry ??= time.after(busyPollMs, () => {
        this.#cancelRetry = undefined
        this.#drain()
      })
    }
  }

  #next(): WaitingJob | undefined {
    const untilMs = this.#options.busy() ? this.#options.time.now() : Infinity
    let failing: WaitingJob | undefined
    for (const job of this.#waiting.values()) {
      if (job.urgentAtMs > untilMs) continue
      if (!job.failing) return job
      failing ??= job
    }
    return this.#runningFailing < Math.max(1, this.#options.maxRunning - 1) ? failing : undefined
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
