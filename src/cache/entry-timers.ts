import type { Timers } from '../base/clock.ts'
import { type CacheEntry, endOf, isAsked, isWarmed } from './cache-entry.ts'

export interface EntryEvents {
  renewal: (entry: CacheEntry, nowMs: number) => void
  end: (entry: CacheEntry) => void
}

/** Does for an entry what is due although nobody asks: renew it while it is warmed, and forget it in the end. */
export class EntryTimers {
  readonly #time: Timers
  readonly #on: EntryEvents
  #stopped = false

  constructor(time: Timers, on: EntryEvents) {
    this.#time = time
    this.#on = on
  }

  /** Called whenever the times of an entry have changed. */
  schedule(entry: CacheEntry): void {
    const now = this.#time.now()
    const renews = isWarmed(entry) && (now < entry.renewAtMs || isAsked(entry, now))
    this.#wakeAt(entry, renews ? entry.renewAtMs : endOf(entry), now)
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
    if (now >= endOf(entry)) {
      this.#on.end(entry)
    } else if (now >= entry.renewAtMs && isWarmed(entry) && isAsked(entry, now)) {
      // The renewal sets the next time when it is over, but it may take longer than the entry has left.
      this.#wakeAt(entry, endOf(entry), now)
      this.#on.renewal(entry, now)
    } else this.schedule(entry)
  }
}
