import type { Clock } from '../base/clock.ts'
import { diskFull, rateLimited } from '../base/errors.ts'

export type BudgetShare = ReturnType<ByteBudget['share']>

/** Bounds the bytes that all requests hold together, of which a sender gets half. Each request also has a limit of its own. */
export class ByteBudget {
  readonly #maxBytes: number
  readonly #heldBySender = new Map<string, number>()
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  share(sender: string) {
    let own = 0
    const heldBySender = () => this.#heldBySender.get(sender) ?? 0
    const hold = (bytes: number) => {
      own += bytes
      this.#heldBytes += bytes
      const held = heldBySender() + bytes
      if (held === 0) this.#heldBySender.delete(sender)
      else this.#heldBySender.set(sender, held)
    }
    return {
      /** Throws if all requests together would hold more than the budget, or those of the sender more than half. */
      add: (bytes: number) => {
        // A lone request may exceed either; otherwise it could never succeed.
        const exceeds = (held: number, most: number) => held !== own && held + bytes > most
        if (exceeds(this.#heldBytes, this.#maxBytes) || exceeds(heldBySender(), this.#maxBytes / 2)) {
          throw rateLimited('Too many request bodies are being read. Send this request again later.', 1)
        }
        hold(bytes)
      },
      release: () => hold(-own),
    }
  }
}

interface DiskGuardOptions {
  /** Free bytes on the disk that holds the data; undefined if unknown. */
  freeBytes: () => number | undefined
  /** Number of files that can still be created there; undefined if unknown. */
  freeInodes: () => number | undefined
  /** Entries are refused below this, while queries and merges still work. */
  reserveBytes: number
  clock: Clock
}

const checkEveryMs = 1_000

/** Each part of a table has a dozen files, and merged parts stay for minutes. */
const reserveInodes = 5_000

/** Refuses entries before the disk is full, and accepts them again once there is room. */
export class DiskGuard {
  readonly #options: DiskGuardOptions
  #checkedAt = Number.NEGATIVE_INFINITY
  #lacking: 'space' | 'inodes' | undefined

  constructor(options: DiskGuardOptions) {
    this.#options = options
  }

  check(): void {
    const now = this.#options.clock.now()
    if (Math.abs(now - this.#checkedAt) >= checkEveryMs) {
      this.#checkedAt = now
      this.#lacking = this.#find()
    }
    if (this.#lacking) throw diskFull(this.#lacking)
  }

  #find(): 'space' | 'inodes' | undefined {
    const { freeBytes, freeInodes, reserveBytes } = this.#options
    if ((freeBytes() ?? Number.POSITIVE_INFINITY) < reserveBytes) return 'space'
    if ((freeInodes() ?? Number.POSITIVE_INFINITY) < reserveInodes) return 'inodes'
    return undefined
  }
}
