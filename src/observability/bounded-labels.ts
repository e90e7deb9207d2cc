/** The shared label of all further names; no endpoint or source can have this name. */
const otherLabel = '_other'

/** Names as metric labels. Every label costs memory in Prometheus, so only a limited number is used. */
export class BoundedLabels {
  readonly #names = new Set<string>()
  readonly #maxNames: number
  readonly #exists: (name: string) => boolean

  constructor(maxNames: number, exists: (name: string) => boolean) {
    this.#maxNames = maxNames
    this.#exists = exists
  }

  of(name: string): string {
    if (this.#names.has(name)) return name
    // A name that no longer exists would never free its slot.
    if (this.#names.size >= this.#maxNames || !this.#exists(name)) return otherLabel
    this.#names.add(name)
    return name
  }

  /** Frees the slots of names that no longer exist, and returns those names. */
  release(): string[] {
    const removed = [...this.#names].filter((name) => !this.#exists(name))
    for (const name of removed) this.#names.delete(name)
    return removed
  }
}
