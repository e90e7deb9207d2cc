interface Note {
  sequence: number
  earliestMicros: bigint
}

/** So many steps back are told apart for each source; what is older is told as if it were newer. */
const maxNotes = 1000

/**
 * What came into each source, as far as this service wrote it: since a mark that somebody took, how far back do new
 * entries reach? It may tell too much, never too little.
 */
export class Arrivals {
  readonly #notes = new Map<string, Note[]>()
  #sequence = 0

  /** Called when the entries can be read, and again when nobody knows whether they can. */
  note(source: string, earliestMicros: bigint): void {
    const notes = this.#notes.get(source) ?? []
    // A note says nothing beside a later one that reaches as far back.
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
      // They reach the further back the older they are, so the first one counts.
      const note = this.#notes.get(source)?.find(({ sequence }) => sequence > mark)
      if (note && (earliest === undefined || note.earliestMicros < earliest)) earliest = note.earliestMicros
    }
    return earliest
  }
}
