import type { Entry } from '../api/api-types.ts'
import { KnownEntries } from './known-entries.ts'

/** What a live view shows, and what waits to be shown. Both are bounded; what does not fit is counted. */
export class LiveBuffer {
  readonly #max: number
  readonly #known: KnownEntries
  #shown: Entry[] = []
  #waiting: Entry[] = []
  #dropped = 0

  constructor(max: number) {
    this.#max = max
    this.#known = new KnownEntries(max * 10)
  }

  /** Newest first. */
  get shown(): readonly Entry[] {
    return this.#shown
  }

  /** How many came and are not shown yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** How many left before anybody could see them. */
  get dropped(): number {
    return this.#dropped
  }

  /** What was there before the view was, newest first. */
  begin(entries: readonly Entry[]): void {
    this.#shown = [...this.#shown, ...this.#known.fresh(entries)].slice(0, this.#max)
  }

  /** What came, the oldest first; tells how many of them are new. */
  add(entries: readonly Entry[]): number {
    const fresh = this.#known.fresh(entries)
    this.#waiting = [...this.#waiting, ...fresh]
    const over = this.#waiting.length - this.#max
    if (over > 0) {
      this.#waiting = this.#waiting.slice(over)
      this.#dropped += over
    }
    return fresh.length
  }

  /** Shows what waits. */
  show(): void {
    if (this.#waiting.length === 0) return
    this.#shown = [...this.#waiting.toReversed(), ...this.#shown].slice(0, this.#max)
    this.#waiting = []
  }
}
