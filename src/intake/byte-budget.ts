import { rateLimited } from '../base/errors.ts'

/** What one request holds of a budget, until it is done. */
export interface BudgetShare {
  /** Throws when all requests together would hold too much. */
  add(bytes: number): void
  release(): void
}

/** Bytes that all requests together may hold at once; each of them has its own bound besides. */
export class ByteBudget {
  readonly #maxBytes: number
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  share(): BudgetShare {
    let own = 0
    return {
      add: (bytes) => {
        // A request that is alone is held to nothing but its own bound, or it could never be taken.
        const alone = this.#heldBytes === own
        if (!alone && this.#heldBytes + bytes > this.#maxBytes) {
          throw rateLimited('More logs arrive than can be read at the moment.', 1)
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
