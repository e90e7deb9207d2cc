/** Tells whether entries may have arrived in a source after a mark. */
export class Arrivals {
  /** Number of the newest arrival, by source. */
  readonly #newest = new Map<string, number>()
  /** Batches that are being stored, by source. A query may read any of their entries. */
  readonly #storing = new Map<string, number>()
  #sequence = 0

  /** Called before entries are stored. Call what it returns afterward, also if storing failed: they may be readable. */
  begin(source: string): () => void {
    this.#storing.set(source, (this.#storing.get(source) ?? 0) + 1)
    return () => {
      const left = (this.#storing.get(source) ?? 1) - 1
      if (left > 0) this.#storing.set(source, left)
      else this.#storing.delete(source)
      this.note(source)
    }
  }

  /** Called when results may have changed as if entries had arrived. */
  note(source: string): void {
    this.#newest.set(source, ++this.#sequence)
  }

  mark(): number {
    return this.#sequence
  }

  /** Whether any of these sources got entries after the mark, or is getting some. */
  hasNew(mark: number, sources: Iterable<string>): boolean {
    for (const source of sources) {
      if (this.#storing.has(source) || (this.#newest.get(source) ?? 0) > mark) return true
    }
    return false
  }
}
