import type { Entry } from '../api/shapes.ts'

const keyOf = ({ timestamp, id }: Pick<Entry, 'timestamp' | 'id'>): string => `${timestamp} ${id}`

/** A key for each entry. Entries with the same timestamp and id have a number as well. */
export function keysOf(entries: readonly Entry[]): string[] {
  const seen = new Map<string, number>()
  return entries.map((entry) => {
    const key = keyOf(entry)
    const before = seen.get(key) ?? 0
    seen.set(key, before + 1)
    return before === 0 ? key : `${key} ${before}`
  })
}

/** Filters out entries that were seen before, as far back as the limit reaches. */
class SeenEntries {
  readonly #keys = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Returns the new ones and remembers them. */
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

/** The entries that a live view shows, and those that wait to be shown. Both are bounded; drops are counted. */
export class LiveBuffer {
  readonly #max: number
  readonly #seen: SeenEntries
  #waiting: Entry[] = []
  /** Newest first. */
  shown: readonly Entry[] = []
  /** Entries that were dropped before they could be shown. */
  dropped = 0

  constructor(max: number) {
    this.#max = max
    this.#seen = new SeenEntries(max * 10)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Adds entries older than the view, newest first. */
  begin(entries: readonly Entry[]): void {
    this.shown = [...this.shown, ...this.#seen.fresh(entries)].slice(0, this.#max)
  }

  /** Adds entries that arrived, oldest first. Returns how many of them are new. */
  add(entries: readonly Entry[]): number {
    const fresh = this.#seen.fresh(entries)
    const waiting = [...this.#waiting, ...fresh]
    this.#waiting = waiting.slice(-this.#max)
    this.dropped += waiting.length - this.#waiting.length
    return fresh.length
  }

  /** Shows the waiting entries; the oldest that are shown make room, unless they stay. */
  show(stays = false): void {
    const room = stays ? this.#max - this.shown.length : this.#max
    const next = this.#waiting.slice(0, Math.max(0, room))
    if (next.length === 0) return
    this.shown = [...next.toReversed(), ...this.shown].slice(0, this.#max)
    this.#waiting = this.#waiting.slice(next.length)
  }
}
