import type { LiveEntry } from './live-entry.ts'

/** The newest entries of a source, within a bound of bytes: what readers catch up from. */
export class LiveRing {
  #entries: (LiveEntry | undefined)[] = []
  #first = 0
  #bytes = 0
  #since: number

  /** Everything that comes after this place will be in it. */
  constructor(since: number) {
    this.#since = since
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whoever has read up to here, or further, can go on without a gap. */
  get since(): number {
    return this.#since
  }

  push(entry: LiveEntry, maxBytes: number): void {
    this.#entries.push(entry)
    this.#bytes += entry.bytes
    while (this.#bytes > maxBytes) {
      const oldest = this.#entries[this.#first] as LiveEntry
      this.#entries[this.#first++] = undefined
      this.#bytes -= oldest.bytes
      this.#since = oldest.cursor
    }
    if (this.#first * 2 <= this.#entries.length) return
    // Moving the rest costs no more than was pushed since the last time.
    this.#entries = this.#entries.slice(this.#first)
    this.#first = 0
  }

  /** Entries behind this place, in their order. */
  *after(cursor: number): Generator<LiveEntry> {
    let [low, high] = [this.#first, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle] as LiveEntry).cursor <= cursor) low = middle + 1
      else high = middle
    }
    for (let i = low; i < this.#entries.length; i++) yield this.#entries[i] as LiveEntry
  }
}
