interface Note {
  sequence: number
  earliestMicros: bigint
}

/** Maximum number of notes per source; the oldest two are merged beyond it. */
const maxNotes = 1000

/** Tells how far back the entries reach that arrived after a mark. It may overestimate, but never underestimates. */
export class Arrivals {
  readonly #notes = new Map<string, Note[]>()
  /** Entries that are being stored. A query may read any of them. */
  readonly #storing = new Map<string, Set<{ earliestMicros: bigint }>>()
  #sequence = 0

  /** Called before entries are stored. Call what it returns afterward, also if storing failed: they may be readable. */
  begin(source: string, earliestMicros: bigint): () => void {
    const entries = { earliestMicros }
    const storing = this.#storing.get(source) ?? new Set()
    this.#storing.set(source, storing.add(entries))
    return () => {
      storing.delete(entries)
      this.note(source, earliestMicros)
    }
  }

  /** Called when results may have changed as if entries had arrived. */
  note(source: string, earliestMicros: bigint): void {
    const notes = this.#notes.get(source) ?? []
    // A later note that reaches as far back makes an earlier one redundant.
    for (let last = notes.at(-1); last && last.earliestMicros >= earliestMicros; last = notes.at(-1))
      notes.pop()
    notes.push({ sequence: ++this.#sequence, earliestMicros })
    if (notes.length > maxNotes) {
      const [first, second] = notes.splice(0, 2) as [Note, Note]
      notes.unshift({ sequence: second.sequence, earliestMicros: first.earliestMicros })
    }
    this.#notes.set(source, notes)
  }

  mark(): number {
    return this.#sequence
  }

  /** The earliest timestamp that came into any of these sources after the mark, or that is being stored. */
  earliestSince(mark: number, sources: Iterable<string>): bigint | undefined {
    let earliest: bigint | undefined
    for (const source of sources) {
      // Older notes reach further back, so the first one counts.
      const note = this.#notes.get(source)?.find(({ sequence }) => sequence > mark)
      for (const { earliestMicros } of [...(note ? [note] : []), ...(this.#storing.get(source) ?? [])]) {
        if (earliest === undefined || earliestMicros < earliest) earliest = earliestMicros
      }
    }
    return earliest
  }
}
