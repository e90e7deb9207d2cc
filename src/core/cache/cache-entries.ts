import { LRUCache } from 'lru-cache'
import type { Timers } from '../base/clock.ts'
import { type Compression, compressed, compressedNow } from '../base/compressed.ts'
import type { Cacheable, CacheDirectives, CachePolicy, CallOutcome, CallResponse } from './cacheable.ts'
import type { Result } from './result.ts'

/** A warmed result is served stale, while it is refreshed, up to this many lifetimes. */
const staleLives = 2

/** A result that cannot be refreshed is served up to this many lifetimes. */
const fallbackLives = 10

/** Without warming, the first request after this share of the lifetime triggers a refresh. */
const refreshAfterShare = 0.9

/** A refresh starts early by up to this share of its interval, at a different moment for each key. */
const spreadShare = 0.1

const firstRetryMs = 1000
const longestRetryMs = 60_000

export interface CacheEntry<Call extends Cacheable = Cacheable> {
  readonly key: string
  /** Without the signal, trace and directives of the first request. */
  readonly call: Call
  /** JSON from which the call can be made again after a restart. */
  readonly recipe: unknown
  bytes: number
  readonly result: Result
  readonly asOfMs: number
  readonly freshUntilMs: number
  refreshAtMs: number
  lastUsedMs: number
  /** Number of requests; each refresh halves it, so recent requests count more. */
  uses: number
  failure: { code: string; status: number; times: number; retryAtMs: number } | undefined
  cancelTimer: () => void
}

/** Estimated size of an entry's objects, timer and map slots. */
const overheadBytes = 1024

export function createEntry<Call extends Cacheable>(
  call: Call,
  recipe: unknown,
  result: Result,
  times: Pick<CacheEntry, 'asOfMs' | 'lastUsedMs' | 'uses'>,
): CacheEntry<Call> {
  const { key, policy } = call
  return {
    key,
    call: { ...call, signal: undefined, trace: undefined, directives: undefined },
    recipe,
    // The recipe and the values of the call are about the same size, two bytes a character.
    bytes: overheadBytes + key.length + 4 * (JSON.stringify(recipe) ?? '').length + result.bytes,
    result,
    ...times,
    freshUntilMs: times.asOfMs + lifeMs(policy),
    refreshAtMs: times.asOfMs + refreshAgeMs(policy, key),
    failure: undefined,
    cancelTimer: () => {},
  }
}

export function lifeMs({ cacheSeconds }: CachePolicy): number {
  return cacheSeconds * 1000
}

export function refreshAgeMs(policy: CachePolicy, key: string): number {
  if (policy.warmSeconds === null) return refreshAfterShare * lifeMs(policy)
  return policy.warmSeconds * 1000 * spreadOf(key)
}

/** From then on, a refresh no longer gives way to requests: half of the time until the result expires is gone. */
export function urgentAtMs({ asOfMs, key, call: { policy } }: CacheEntry): number {
  return asOfMs + (refreshAgeMs(policy, key) + lifeMs(policy)) / 2
}

export function retryDelayMs(policy: CachePolicy, key: string, failures: number): number {
  const interval = (policy.warmSeconds ?? policy.cacheSeconds) * 1000
  const longest = Math.max(firstRetryMs, Math.min(longestRetryMs, interval))
  return Math.min(longest, firstRetryMs * 2 ** (failures - 1)) * spreadOf(key)
}

/** Always the same for a key, in (0.9, 1]. Keys are hashes, so their first digits are evenly distributed. */
function spreadOf(key: string): number {
  return 1 - (spreadShare * Number.parseInt(key.slice(0, 6), 16)) / 2 ** 24
}

export function failEntry(entry: CacheEntry, error: { code: string; status: number }, nowMs: number): void {
  const times = (entry.failure?.times ?? 0) + 1
  const retryAtMs = nowMs + retryDelayMs(entry.call.policy, entry.key, times)
  entry.failure = { code: error.code, status: error.status, times, retryAtMs }
  entry.refreshAtMs = Math.max(entry.refreshAtMs, retryAtMs)
}

/** A fallback is served only instead of an error. */
type Usability = 'fresh' | 'stale' | 'fallback' | 'dead'

export function usabilityOf(entry: CacheEntry, nowMs: number): Usability {
  const { policy } = entry.call
  if (nowMs < entry.freshUntilMs) return 'fresh'
  if (isWarmed(entry) && nowMs - entry.asOfMs < staleLives * lifeMs(policy)) return 'stale'
  if (nowMs >= endOf(entry)) return 'dead'
  // After a recent failure, requests get the stale result at once instead of waiting for another failure.
  const { failure } = entry
  return failure !== undefined && nowMs < failure.retryAtMs + lifeMs(policy) ? 'stale' : 'fallback'
}

export function requiresNewRun(directives: CacheDirectives | undefined): boolean {
  return directives?.noCache === true || directives?.maxAgeSeconds === 0
}

export function earliestStartMs(directives: CacheDirectives | undefined, nowMs: number): number {
  if (directives?.maxAgeSeconds === undefined) return Number.NEGATIVE_INFINITY
  return nowMs - directives.maxAgeSeconds * 1000
}

export function admits(directives: CacheDirectives | undefined, entry: CacheEntry, nowMs: number): boolean {
  return (
    directives === undefined ||
    (!requiresNewRun(directives) && entry.asOfMs >= earliestStartMs(directives, nowMs))
  )
}

export function isWarmed({ call: { policy } }: CacheEntry): boolean {
  return policy.warmSeconds !== null
}

/** Whether it was requested recently enough to be kept warm. */
export function isInUse(entry: CacheEntry, nowMs: number): boolean {
  return nowMs - entry.lastUsedMs < lifeMs(entry.call.policy)
}

function endOf({ asOfMs, call: { policy } }: CacheEntry): number {
  return asOfMs + fallbackLives * lifeMs(policy)
}

export function ageSeconds(asOfMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - asOfMs) / 1000))
}

export function responseFrom(entry: CacheEntry, nowMs: number, outcome: CallOutcome): CallResponse {
  return {
    result: entry.result,
    outcome,
    ageSeconds: ageSeconds(entry.asOfMs, nowMs),
    ttlSeconds: Math.floor((entry.freshUntilMs - nowMs) / 1000),
    policy: entry.call.policy,
  }
}

export function entryView(entry: CacheEntry, nowMs: number) {
  const { key, recipe, result, bytes, asOfMs, lastUsedMs, freshUntilMs, refreshAtMs, failure } = entry
  const usability = usabilityOf(entry, nowMs)
  const warm = isWarmed(entry) && isInUse(entry, nowMs)
  return {
    key,
    recipe,
    age_seconds: ageSeconds(asOfMs, nowMs),
    /** 0 if it is no longer fresh. */
    expires_in_seconds: secondsUntil(freshUntilMs, nowMs),
    refresh_in_seconds: warm ? secondsUntil(refreshAtMs, nowMs) : null,
    bytes,
    rows: result.rows,
    uses: Math.round(entry.uses),
    last_used_seconds: ageSeconds(lastUsedMs, nowMs),
    /** Only fresh results, and stale ones while they are refreshed, are served. Expired ones replace errors. */
    state: usability === 'fresh' || usability === 'stale' ? usability : ('expired' as const),
    warm,
    failure: failure?.code ?? null,
  }
}

function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((atMs - nowMs) / 1000))
}

interface CacheEntriesOptions<Call extends Cacheable> {
  time: Timers
  maxBytes: number
  onDue: (entry: CacheEntry<Call>, nowMs: number) => void
  onRemoved: (entry: CacheEntry<Call>, reason: 'evicted' | 'deleted') => void
}

/** One entry takes at most this share of the bytes. */
const maxShare = 1 / 8

/** Saves an allocation for each look-up. */
const noOptions = {}

/** Entries within a limit of bytes. Wakes warmed entries for their refresh, and deletes entries at their maximum age. */
export class CacheEntries<Call extends Cacheable> {
  readonly #options: CacheEntriesOptions<Call>
  readonly #entries: LRUCache<string, CacheEntry<Call>>
  readonly #maxEntryBytes: number
  #compressing: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(options: CacheEntriesOptions<Call>) {
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

  values(): CacheEntry<Call>[] {
    return [...this.#entries.values()]
  }

  use(key: string): CacheEntry<Call> | undefined {
    return this.#entries.get(key, noOptions)
  }

  peek(key: string): CacheEntry<Call> | undefined {
    return this.#entries.peek(key)
  }

  /** Returns false if the entry is too large. The entry that it replaces is deleted in any case. */
  set(entry: CacheEntry<Call>): boolean {
    const replaced = this.peek(entry.key)
    if (replaced !== undefined) this.delete(replaced)
    if (entry.bytes > this.#maxEntryBytes) return false
    this.#entries.set(entry.key, entry)
    this.schedule(entry)
    return true
  }

  delete(entry: CacheEntry<Call>): void {
    this.#entries.delete(entry.key)
    this.#retire(entry, 'deleted')
  }

  /** The library takes a new size only with a new item. */
  grow(entry: CacheEntry<Call>, bytes: number): void {
    this.#entries.delete(entry.key)
    entry.bytes += bytes
    this.#entries.set(entry.key, entry)
  }

  /** Must be called whenever the times of an entry have changed. */
  schedule(entry: CacheEntry<Call>): void {
    const now = this.#options.time.now()
    const isRefreshed = isWarmed(entry) && (now < entry.refreshAtMs || isInUse(entry, now))
    // A retry after failures may be due later than the end.
    this.#wakeAt(entry, Math.min(isRefreshed ? entry.refreshAtMs : Infinity, endOf(entry)), now)
  }

  async compress(key: string, result: Result, coding: Compression, isAwaited: boolean): Promise<void> {
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

  #retire(entry: CacheEntry<Call>, reason: 'evicted' | 'deleted'): void {
    entry.cancelTimer()
    this.#options.onRemoved(entry, reason)
  }

  #wakeAt(entry: CacheEntry<Call>, dueMs: number, nowMs: number): void {
    entry.cancelTimer()
    entry.cancelTimer = this.#options.time.after(dueMs - nowMs, () => this.#wake(entry))
  }

  #wake(entry: CacheEntry<Call>): void {
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
