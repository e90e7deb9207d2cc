import type { Clock } from '../base/clock.ts'
import { diskFull } from '../base/errors.ts'

export interface DiskGuardOptions {
  /** Bytes that are free where the data lies; undefined where nobody here can know. */
  freeBytes: () => number | undefined
  /** Less than this, and logs are refused while reading and merging still work. */
  reserveBytes: number
  clock: Clock
}

const lookEveryMs = 1_000

/** Refuses logs before the disk is really full, and takes them again by itself when there is room. */
export class DiskGuard {
  readonly #options: DiskGuardOptions
  #lookedAt = Number.NEGATIVE_INFINITY
  #full = false

  constructor(options: DiskGuardOptions) {
    this.#options = options
  }

  check(): void {
    const now = this.#options.clock.now()
    if (Math.abs(now - this.#lookedAt) >= lookEveryMs) {
      this.#lookedAt = now
      const free = this.#options.freeBytes()
      this.#full = free !== undefined && free < this.#options.reserveBytes
    }
    if (this.#full) throw diskFull()
  }
}
