/** What has no label of its own has this one, which no endpoint and no source can be called. */
export const otherLabel = '_other'

/** Names as labels of metrics. Each new one costs whoever keeps the metrics, so only so many are told apart. */
export class BoundedLabels {
  readonly #known = new Set<string>()
  readonly #maxNames: number
  readonly #exists: (name: string) => boolean

  constructor(maxNames: number, exists: (name: string) => boolean) {
    this.#maxNames = maxNames
    this.#exists = exists
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    // What is gone already would keep its place for ever.
    if (this.#known.size >= this.#maxNames || !this.#exists(name)) return otherLabel
    this.#known.add(name)
    return name
  }

  /** Gives the places of names back that are none any more, and tells which. */
  release(): string[] {
    const gone = [...this.#known].filter((name) => !this.#exists(name))
    for (const name of gone) this.#known.delete(name)
    return gone
  }
}
