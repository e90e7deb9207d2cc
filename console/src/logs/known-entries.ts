import type { Entry } from '../api/api-types.ts'

export const keyOf = ({ timestamp, id }: Pick<Entry, 'timestamp' | 'id'>): string => `${timestamp} ${id}`

/** Tells entries that were not seen yet from others, as far back as the bound reaches. */
export class KnownEntries {
  readonly #keys = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Those that are new; from now on they are known. */
  fresh(entries: readonly Entry[]): Entry[] {
    const found = entries.filter((entry) => {
      const key = keyOf(entry)
      if (this.#keys.has(key)) return false
      this.#keys.add(key)
      return true
    })
    for (const key of this.#keys) {
      if (this.#keys.size <= this.#max) break
      this.#keys.delete(key)
    }
    return found
  }
}
