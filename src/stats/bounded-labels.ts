/** What is too much for a label of its own has this one. */
const other = 'other'

/** Names as labels of metrics. Each new one costs whoever keeps the metrics, so only so many are told apart. */
export class BoundedLabels {
  readonly #known = new Set<string>()
  readonly #maxNames: number

  constructor(maxNames: number) {
    this.#maxNames = maxNames
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#maxNames) return other
    this.#known.add(name)
    return name
  }
}
