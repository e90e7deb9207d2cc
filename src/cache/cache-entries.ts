import { LRUCache } from 'lru-cache'
import type { Timers } from '../base/clock.ts'
import { type Compression, compressed, compressedNow } from '../base/compressed.ts'
import { type CacheEntry, endOf, isInUse, isWarmed } from './cache-entry.ts'
import type { CachedResult } from './cached-result.ts'

interface CacheEntriesOptions {
  time: Timers
  maxBytes: number
  onDue: (entry: CacheEntry, nowMs: number) => void
  onRemoved: (entry: CacheEntry, reason: 'evicted' | 'deleted') => void
}

/** One entry takes at most this share of the bytes. */
const maxShare = 1 / 8

/** Saves an allocation for each look-up. */
const noOptions = {}

/** Entries within a limit of bytes. Wakes warmed entries for their refresh, and deletes entries at their maximum age. */
export class CacheEntries {
  readonly #options: CacheEntriesOptions
  readonly #entries: LRUCache<string, CacheEntry>
  readonly #maxEntryBytes: number
  #compressing: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(options: CacheEntriesOptions) {
    this.#options = options
    this.#maxEntryBytes = options.maxBytes * maxShare
    this.#entries = new LRUCache({
      maxSize: options.maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (entry, _key, reason) => {
        if (reason === 'evict') this.#retire(entry, 'evicted')
      },
    })
  }

  get bytes(): number {
    return this.#entries.calculatedSize
  }

  get size(): number {
    return this.#entries.size
  }

  values(): CacheEntry[] {
    return [...this.#entries.values()]
  }

  use(key: string): CacheEntry | undefined {
    return this.#entries.get(key, noOptions)
  }

  peek(key: string): CacheEntry | undefined {
    return this.#entries.peek(key)
  }

  /** Returns false if the entry is too large. The entry that it replaces is deleted in any case. */
  set(entry: CacheEntry): boolean {
    const replaced = this.peek(entry.key)
    if (replaced !== undefined) this.delete(replaced)
    if (entry.bytes > this.#maxEntryBytes) return false
    this.#entries.set(entry.key, entry)
    this.schedule(entry)
    return true
  }

  delete(entry: CacheEntry): void {
    this.#entries.delete(entry.key)
    this.#retire(entry, 'deleted')
  }

  /** The library takes a new size only with a new item. */
  grow(entry: CacheEntry, bytes: number): void {
    this.#entries.delete(entry.key)
    entry.bytes += bytes
    this.#entries.set(entry.key, entry)
  }

  /** Must be called whenever the times of an entry have changed. */
  schedule(entry: CacheEntry): void {
    const now = this.#options.time.now()
    const isRefreshed = isWarmed(entry) && (now < entry.refreshAtMs || isInUse(entry, now))
    // A retry after failures may be due later than the end.
    this.#wakeAt(entry, Math.min(isRefreshed ? entry.refreshAtMs : Infinity, endOf(entry)), now)
  }

  async compress(key: string, result: CachedResult, coding: Compression, isAwaited: boolean): Promise<void> {
    const current = () => {
      const entry = this.peek(key)
      return entry?.result === result ? entry : undefined
    }
    const inBackground = async () => current() && compressed(coding, result.body)
    // One at a time, so that Node's thread pool stays free for requests.
    const work = isAwaited ? compressedNow(coding, result.body) : this.#compressing.then(inBackground)
    if (!isAwaited) this.#compressing = work
    const bytes = await work
    const entry = current()
    const isTooLarge = entry !== undefined && entry.bytes + (bytes?.length ?? 0) > this.#maxEntryBytes
    if (bytes === undefined || isTooLarge) return
    const before = result.bytes
    result.add(coding, bytes)
    if (entry) this.grow(entry, result.bytes - before)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#compressing
  }

  #retire(entry: CacheEntry, reason: 'evicted' | 'deleted'): void {
    entry.cancelTimer()
    this.#options.onRemoved(entry, reason)
  }

  #wakeAt(entry: CacheEntry, dueMs: number, nowMs: number): void {
    entry.cancelTimer()
    entry.cancelTimer = this.#options.time.after(dueMs - nowMs, () => this.#wake(entry))
  }

  #wake(entry: CacheEntry): void {
    if (this.#stopped) return
    const now = this.#options.time.now()
    if (now >= endOf(entry)) this.delete(entry)
    else if (now >= entry.refreshAtMs && isWarmed(entry) && isInUse(entry, now)) {
      // The refresh reschedules the entry when it is over, but it may outlast the entry.
      this.#wakeAt(entry, endOf(entry), now)
      this.#options.onDue(entry, now)
    } else this.schedule(entry)
  }
}
