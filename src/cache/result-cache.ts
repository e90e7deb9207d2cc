import type { Timers } from '../base/clock.ts'
import { type Compression, compressedNow } from '../base/compressed.ts'
import { internal, WellheadError } from '../base/errors.ts'
import { BoundedEntries } from './bounded-entries.ts'
import {
  admits,
  ageSeconds,
  answerFrom,
  type CacheEntry,
  createEntry,
  failEntry,
  isAsked,
  isWarmed,
  usabilityOf,
} from './cache-entry.ts'
import { lifeMs, urgentAgeMs } from './cache-policy.ts'
import {
  type CacheAnswer,
  type CacheRequest,
  type CacheWants,
  notBeforeMs,
  type StaleReason,
  wantsNewRun,
} from './cache-request.ts'
import { CachedResult, type Computed } from './cached-result.ts'
import { Compressor } from './compressor.ts'
import { EntryTimers } from './entry-timers.ts'
import { Flight, type Landing } from './flight.ts'
import { Flights } from './flights.ts'
import type { HotKey } from './hot-keys-file.ts'
import { RefreshQueue } from './refresh-queue.ts'

export interface ResultCacheOptions {
  time: Timers
  /** Over all forms of all results, and what is kept beside them. */
  maxBytes: number
  /** So many refreshes run at once. */
  maxRefreshes: number
  /** Whether callers need the engine now: refreshes that can wait give way. */
  busy: () => boolean
  /** A run for a caller who wants a new result begins so much later, for others who ask together with it. */
  gatherMs: number
  /** A result is there that was not, or a newer one. */
  onStored?: (key: string) => void
  /** A result could not be renewed, or not be computed ahead of callers. */
  onFailure: (failure: { group: string; error: unknown; times: number }) => void
}

export interface CachedGroup {
  results: number
  bytes: number
  newestAgeSeconds: number
}

/** One result takes at most this share of the cache. */
const maxShare = 1 / 8

const hit = { kind: 'hit' } as const
const stale = { kind: 'stale' } as const

/** Finished results by key: given while they last, renewed before they do, computed once for all who wait. */
export class ResultCache {
  readonly counters = {
    hits: 0,
    misses: 0,
    joined: 0,
    stale: 0,
    refreshed: 0,
    refreshFailures: 0,
    evicted: 0,
  }
  readonly #options: ResultCacheOptions
  readonly #time: Timers
  readonly #entries: BoundedEntries<CacheEntry>
  readonly #flights: Flights
  readonly #refreshes: RefreshQueue
  readonly #timers: EntryTimers
  readonly #compressor = new Compressor()
  readonly #maxEntryBytes: number

  constructor(options: ResultCacheOptions) {
    const { time, maxBytes, maxRefreshes, busy } = options
    this.#options = options
    this.#time = time
    this.#maxEntryBytes = maxBytes * maxShare
    this.#entries = new BoundedEntries(maxBytes, (entry) => {
      this.counters.evicted++
      this.#retire(entry)
    })
    this.#timers = new EntryTimers(time, {
      renewal: (entry, now) => this.#renew(entry, now),
      end: (entry) => this.#remove(entry),
    })
    this.#flights = new Flights((flight) => this.#run(flight))
    this.#refreshes = new RefreshQueue({ time, busy, maxRunning: maxRefreshes })
  }

  get bytes(): number {
    return this.#entries.bytes
  }

  get size(): number {
    return this.#entries.size
  }

  /** How full it is, and what happened since the start. */
  get figures() {
    return { ...this.counters, bytes: this.bytes, entries: this.size }
  }

  /** What belongs together: how many results, their bytes, and the age of the newest one. */
  groups(): Map<string, CachedGroup> {
    const now = this.#time.now()
    const found = new Map<string, CachedGroup>()
    for (const { request, bytes, asOfMs } of this.#entries.values()) {
      const one = found.get(request.group) ?? { results: 0, bytes: 0, newestAgeSeconds: Infinity }
      one.results++
      one.bytes += bytes
      one.newestAgeSeconds = Math.min(one.newestAgeSeconds, ageSeconds(asOfMs, now))
      found.set(request.group, one)
    }
    return found
  }

  /** The way of nearly all calls: a fresh result, at once. */
  lookup(key: string, wants?: CacheWants): CacheAnswer | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const now = this.#time.now()
    if (now >= entry.freshUntilMs || !admits(wants, entry, now)) return undefined
    this.counters.hits++
    this.#use(entry, now)
    return answerFrom(entry, now, hit)
  }

  /** Undefined: the caller takes only what is here, and it is not. */
  async get(request: CacheRequest): Promise<CacheAnswer | undefined> {
    request.signal?.throwIfAborted()
    const known = this.lookup(request.key, request.wants) ?? this.#lookupStale(request)
    if (known !== undefined || request.wants?.onlyIfCached) return known
    return this.#compute(request)
  }

  /** Forgets what belongs together and stops renewing it. Whoever waits for a run of it still gets its result. */
  drop(group: string): void {
    for (const entry of this.#entries.values()) if (entry.request.group === group) this.#remove(entry)
    this.#flights.drop(group)
    this.#refreshes.drop(group)
  }

  /** The warmed keys that callers asked for lately, the hottest first. */
  hotKeys(limit: number): HotKey[] {
    const now = this.#time.now()
    return [...this.#entries.values()]
      .filter((entry) => isWarmed(entry) && isAsked(entry, now))
      .sort((a, b) => b.heat - a.heat || b.lastAskedMs - a.lastAskedMs)
      .slice(0, limit)
      .map(({ recipe, lastAskedMs, heat }) => ({ recipe: JSON.parse(recipe), lastAskedMs, heat }))
  }

  /**
   * Computes what was hot before a restart, in the given order. Having been hot once does not count as being
   * asked again, so that what nobody asks for is forgotten in the end, however often the service restarts.
   */
  async prewarm(
    hot: Iterable<Pick<HotKey, 'lastAskedMs' | 'heat'> & { request: CacheRequest }>,
  ): Promise<void> {
    const now = this.#time.now()
    const jobs: Promise<void>[] = []
    for (const { request, lastAskedMs, heat } of hot) {
      const { key, policy } = request
      const lastMs = Math.min(lastAskedMs, now)
      if (this.#entries.get(key) || now - lastMs >= lifeMs(policy)) continue
      jobs.push(
        this.#refreshes.add({
          key,
          group: request.group,
          failing: false,
          urgentAtMs: now,
          run: async () => {
            // Callers may have been first.
            if (this.#entries.get(key)) return
            await this.#flights.refresh(new Flight(request, 'refresh', { lastMs, heat }))
          },
        }),
      )
    }
    await Promise.all(jobs)
  }

  /** Renews nothing from now on. Calls are still answered. */
  async stop(): Promise<void> {
    this.#timers.stop()
    this.#flights.stopRefreshes()
    await this.#refreshes.stop()
    await this.#compressor.settled()
  }

  #lookupStale({ key, wants }: CacheRequest): CacheAnswer | undefined {
    const entry = this.#entries.get(key)
    const now = this.#time.now()
    if (entry === undefined || !admits(wants, entry, now)) return undefined
    if (usabilityOf(entry, now) !== 'stale') return undefined
    this.counters.stale++
    this.#use(entry, now)
    const { failure } = entry
    if (failure === undefined) return answerFrom(entry, now, stale)
    return answerFrom(entry, now, { kind: 'stale', failure: reasonOf(failure, false) })
  }

  async #compute(request: CacheRequest): Promise<CacheAnswer> {
    const { key, signal, policy } = request
    const now = this.#time.now()
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.lastAskedMs = now
    const why = entry === undefined ? 'miss' : usabilityOf(entry, now) === 'fresh' ? 'request' : 'stale'
    const { flight, joined } = this.#join(request, now)
    this.counters[joined ? 'joined' : 'misses']++
    let landing: Landing
    try {
      landing = await flight.wait(signal, now)
    } catch (error) {
      const instead = signal?.aborted ? undefined : this.#insteadOf(error, request)
      if (instead === undefined) throw error
      return instead
    }
    const landedAt = this.#time.now()
    return {
      result: landing.result,
      outcome: { kind: 'computed', why, joined, stored: landing.stored },
      ageSeconds: ageSeconds(landing.asOfMs, landedAt),
      ttlSeconds: landing.stored ? Math.floor((landing.asOfMs + lifeMs(policy) - landedAt) / 1000) : 0,
      policy,
    }
  }

  /** The run that this caller may share, or a new one. */
  #join(request: CacheRequest, nowMs: number): { flight: Flight; joined: boolean } {
    const { key, wants } = request
    const fresh = wantsNewRun(wants)
    const running = this.#flights.running(key)
    if (running?.beganAtMs !== undefined && !fresh && running.beganAtMs >= notBeforeMs(wants, nowMs)) {
      return { flight: running, joined: true }
    }
    const next = this.#flights.next(key)
    if (next !== undefined) return { flight: next, joined: true }
    // A caller gets it sooner than the queue of refreshes would.
    this.#refreshes.delete(key)
    const flight = new Flight(request, 'call', { lastMs: nowMs, heat: 0 }, (left) => this.#abandoned(left))
    const { gatherMs } = this.#options
    if (fresh && gatherMs > 0) this.#flights.line(flight, (begin) => this.#time.after(gatherMs, begin))
    else this.#flights.line(flight)
    return { flight, joined: false }
  }

  /** An old result is better than an error, unless the caller asked for a new one. */
  #insteadOf(error: unknown, { key, wants }: CacheRequest): CacheAnswer | undefined {
    const entry = this.#entries.get(key)
    const now = this.#time.now()
    if (entry === undefined || !admits(wants, entry, now)) return undefined
    if (usabilityOf(entry, now) === 'dead') return undefined
    this.counters.stale++
    this.#entries.touch(entry)
    return answerFrom(entry, now, { kind: 'stale', failure: reasonOf(described(error), true) })
  }

  #use(entry: CacheEntry, nowMs: number): void {
    this.#entries.touch(entry)
    entry.lastAskedMs = nowMs
    entry.heat++
    if (nowMs >= entry.renewAtMs) this.#renew(entry, nowMs)
  }

  #renew(entry: CacheEntry, nowMs: number): void {
    const { key, request } = entry
    if (this.#flights.has(key) || this.#refreshes.has(key)) return
    void this.#refreshes.add({
      key,
      group: request.group,
      failing: entry.failure !== undefined,
      urgentAtMs: Math.max(nowMs, entry.asOfMs + urgentAgeMs(request.policy, key)),
      run: async () => {
        // Nobody may want it any more when its turn has come.
        if (!isAsked(entry, this.#time.now())) return this.#timers.schedule(entry)
        await this.#flights.refresh(new Flight(request, 'refresh', { lastMs: entry.lastAskedMs, heat: 0 }))
      },
    })
  }

  async #run(flight: Flight): Promise<void> {
    const { request, purpose, signal } = flight
    const asOfMs = this.#time.now()
    const previous = this.#entries.get(request.key)?.result
    flight.beganAtMs = asOfMs
    try {
      const computed = await request.compute({ purpose, signal, previous, trace: request.trace })
      if (flight.over) return
      flight.land(this.#store(flight, computed, previous, asOfMs))
      if (purpose === 'refresh') this.counters.refreshed++
    } catch (error) {
      if (flight.over) return
      this.#failed(flight, error)
      flight.fail(error)
    }
  }

  #store(
    flight: Flight,
    computed: Computed | 'unchanged',
    previous: CachedResult | undefined,
    asOfMs: number,
  ): Landing {
    const { request } = flight
    const result = this.#resultOf(request.key, computed, previous)
    if (flight.dropped) return { result, asOfMs, stored: false }
    const before = this.#entries.get(request.key)
    const entry = createEntry(request, result, {
      asOfMs,
      lastAskedMs: Math.max(before?.lastAskedMs ?? 0, flight.lastAskedMs),
      heat: (before?.heat ?? 0) / 2 + flight.heat,
    })
    if (before !== undefined) this.#remove(before)
    if (entry.bytes > this.#maxEntryBytes) return { result, asOfMs, stored: false }
    this.#entries.set(entry)
    this.#timers.schedule(entry)
    if (previous !== undefined && previous !== result) {
      const bytes = result.bytes
      result.inherit(previous)
      this.#entries.resize(entry, entry.bytes + result.bytes - bytes)
    }
    this.#options.onStored?.(request.key)
    return { result, asOfMs, stored: true }
  }

  #resultOf(key: string, computed: Computed | 'unchanged', previous: CachedResult | undefined): CachedResult {
    if (computed !== 'unchanged') {
      return new CachedResult(computed, (...form) => this.#compress(key, ...form))
    }
    if (previous !== undefined) return previous
    throw internal(new Error('A run without a previous result cannot find it unchanged.'))
  }

  #failed({ request: { key, group }, purpose, dropped }: Flight, error: unknown): void {
    if (purpose === 'refresh') this.counters.refreshFailures++
    const entry = dropped ? undefined : this.#entries.get(key)
    if (entry !== undefined) {
      failEntry(entry, described(error), this.#time.now())
      this.#timers.schedule(entry)
    } else if (purpose === 'call') return
    this.#options.onFailure({ group, error, times: entry?.failure?.times ?? 1 })
  }

  #abandoned(flight: Flight): void {
    this.#flights.leave(flight)
    const entry = this.#entries.get(flight.request.key)
    if (entry !== undefined) this.#timers.schedule(entry)
  }

  #remove(entry: CacheEntry): void {
    this.#entries.delete(entry.key)
    this.#retire(entry)
  }

  #retire(entry: CacheEntry): void {
    entry.cancelTimer()
    this.#refreshes.delete(entry.key)
  }

  async #compress(key: string, result: CachedResult, coding: Compression, isAwaited: boolean): Promise<void> {
    const current = () => {
      const entry = this.#entries.get(key)
      return entry?.result === result ? entry : undefined
    }
    const bytes = await (isAwaited
      ? compressedNow(coding, result.body)
      : this.#compressor.compress(coding, () => current() && result.body))
    const entry = current()
    const isTooLarge = entry !== undefined && entry.bytes + (bytes?.length ?? 0) > this.#maxEntryBytes
    if (bytes === undefined || isTooLarge) return
    const before = result.bytes
    result.add(coding, bytes)
    if (entry) this.#entries.resize(entry, entry.bytes + result.bytes - before)
  }
}

/** What may be told of an error to whoever gets a result all the same. */
function described(error: unknown): { code: string; status: number } {
  return error instanceof WellheadError ? error : internal(error)
}

function reasonOf({ code, status }: { code: string; status: number }, tried: boolean): StaleReason {
  return { code, status, tried }
}
