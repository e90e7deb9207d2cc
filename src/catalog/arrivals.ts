interface Note {
  sequence: number
  earliestMicros: bigint
}

/** Maximum number of notes per source; the oldest two are merged beyond it. */
const maxNotes = 1000

/** Tells how far back the entries reach that arrived after a mark. It may overestimate, but never underestimates. */
export class Arrivals {
  readonly #notes = new Map<string, Note[]>()
  #sequence = 0

  /** Called when entries can be read, and also if an insert failed and they may be readable. */
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

  /** The earliest timestamp that came into any of these sources after the mark. */
  earliestSince(mark: number, sources: Iterable<string>): bigint | undefined {
    let earliest: bigint | undefined
    for (const source of sources) {
      // Older notes reach further back, so the first one counts.
      const note = this.#notes.get(source)?.find(({ sequence }) => sequence > mark)
      if (note && (earliest === undefined || note.earliestMicros < earliest)) earliest = note.earliestMicros
    }
    return earliest
  }
}
