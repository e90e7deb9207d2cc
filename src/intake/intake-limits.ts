import type { Clock } from '../base/clock.ts'
import { diskFull, rateLimited } from '../base/errors.ts'

export type BudgetShare = ReturnType<ByteBudget['share']>

/** Bounds the bytes that all requests hold together. Each request also has a limit of its own. */
export class ByteBudget {
  readonly #maxBytes: number
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  share() {
    let own = 0
    return {
      /** Throws if all requests together would hold more than the budget. */
      add: (bytes: number) => {
        // A lone request may exceed the budget; otherwise it could never succeed.
        const alone = this.#heldBytes === own
        if (!alone && this.#heldBytes + bytes > this.#maxBytes) {
          throw rateLimited('Too many request bodies are being read. Send this request again later.', 1)
        }
        own += bytes
        this.#heldBytes += bytes
      },
      release: () => {
        this.#heldBytes -= own
        own = 0
      },
    }
  }
}

interface DiskGuardOptions {
  /** Free bytes on the disk that holds the data; undefined if unknown. */
  freeBytes: () => number | undefined
  /** Entries are refused below this, while queries and merges still work. */
  reserveBytes: number
  clock: Clock
}

const checkEveryMs = 1_000

/** Refuses entries before the disk is full, and accepts them again once there is room. */
export class DiskGuard {
  readonly #options: DiskGuardOptions
  #checkedAt = Number.NEGATIVE_INFINITY
  #full = false

  constructor(options: DiskGuardOptions) {
    this.#options = options
  }

  check(): void {
    const now = this.#options.clock.now()
    if (Math.abs(now - this.#checkedAt) >= checkEveryMs) {
      this.#checkedAt = now
      const free = this.#options.freeBytes()
      this.#full = free !== undefined && free < this.#options.reserveBytes
    }
    if (this.#full) throw diskFull()
  }
}
