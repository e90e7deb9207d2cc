import type { Timers } from '../base/clock.ts'
import { type CacheEntry, endOf, isInUse, isWarmed } from './cache-entry.ts'

export interface EntryEvents {
  refresh: (entry: CacheEntry, nowMs: number) => void
  end: (entry: CacheEntry) => void
}

/** Refreshes warmed entries that are in use, and ends each entry at its maximum age. */
export class EntryTimers {
  readonly #time: Timers
  readonly #on: EntryEvents
  #stopped = false

  constructor(time: Timers, on: EntryEvents) {
    this.#time = time
    this.#on = on
  }

  /** Must be called whenever the times of an entry have changed. */
  schedule(entry: CacheEntry): void {
    const now = this.#time.now()
    const isRefreshed = isWarmed(entry) && (now < entry.refreshAtMs || isInUse(entry, now))
    this.#wakeAt(entry, isRefreshed ? entry.refreshAtMs : endOf(entry), now)
  }

  stop(): void {
    this.#stopped = true
  }

  #wakeAt(entry: CacheEntry, dueMs: number, nowMs: number): void {
    entry.cancelTimer()
    entry.cancelTimer = this.#time.after(dueMs - nowMs, () => this.#wake(entry))
  }

  #wake(entry: CacheEntry): void {
    if (this.#stopped) return
    const now = this.#time.now()
    if (now >= endOf(entry)) this.#on.end(entry)
    else if (now >= entry.refreshAtMs && isWarmed(entry) && isInUse(entry, now)) {
      // The refresh reschedules the entry when it is over, but it may outlast the entry.
      this.#wakeAt(entry, endOf(entry), now)
      this.#on.refresh(entry, now)
    } else this.schedule(entry)
  }
}
