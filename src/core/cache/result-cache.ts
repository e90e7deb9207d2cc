import type { Timers } from '../base/clock.ts'
import { internal, WellheadError } from '../base/errors.ts'
import {
  admits,
  ageSeconds,
  CacheEntries,
  type CacheEntry,
  createEntry,
  earliestStartMs,
  entryView,
  failEntry,
  isInUse,
  isWarmed,
  lifeMs,
  requiresNewRun,
  responseFrom,
  urgentAtMs,
  usabilityOf,
} from './cache-entries.ts'
import type { Cacheable, CacheDirectives, CallResponse, RunFor } from './cacheable.ts'
import { Flight, Flights, type RunOutcome } from './flights.ts'
import { RefreshQueue } from './refresh-queue.ts'
import type { Result } from './result.ts'
import type { WarmKey } from './warm-keys-file.ts'

export interface ResultCacheOptions<Call extends Cacheable> {
  time: Timers
  /** The signal is aborted when nobody needs the result anymore. */
  compute: (call: Call, purpose: RunFor, signal: AbortSignal) => Promise<Result>
  /** JSON from which the call can be made again after a restart. */
  recipeOf: (call: Call) => unknown
  maxBytes: number
  maxRefreshes: number
  /** Whether requests wait for the engine: refreshes that are not urgent give way. */
  busy: () => boolean
  /** Delays a run that a request requires to be new, so that simultaneous requests share it. */
  gatherMs: number
  onFailure: (failure: { group: string; error: unknown; times: number }) => void
}

const hit = { kind: 'hit' } as const
const stale = { kind: 'stale' } as const

/** Caches finished results by key, refreshes them, and computes each once for all requests that wait for it. */
export class ResultCache<Call extends Cacheable> {
  readonly counters = {
    hits: 0,
    misses: 0,
    joined: 0,
    stale: 0,
    refreshed: 0,
    refreshFailures: 0,
    evicted: 0,
  }
  readonly #options: ResultCacheOptions<Call>
  readonly #time: Timers
  readonly #entries: CacheEntries<Call>
  readonly #flights: Flights<Call>
  readonly #refreshes: RefreshQueue
  readonly #followers = new Map<string, () => void>()

  constructor(options: ResultCacheOptions<Call>) {
    const { time, maxBytes, maxRefreshes, busy } = options
    this.#options = options
    this.#time = time
    this.#entries = new CacheEntries({
      time,
      maxBytes,
      onDue: (entry, now) => this.#refresh(entry, now),
      onRemoved: ({ key }, reason) => {
        if (reason === 'evicted') this.counters.evicted++
        this.#refreshes.delete(key)
      },
    })
    this.#flights = new Flights((flight) => this.#run(flight))
    this.#refreshes = new RefreshQueue({ time, busy, maxRunning: maxRefreshes })
  }

  /** Calls the listener whenever a result with this key is stored. Returns a function that stops it. */
  follow(key: string, onStored: () => void): () => void {
    this.#followers.set(key, onStored)
    return () => this.#followers.delete(key)
  }

  get bytes(): number {
    return this.#entries.bytes
  }

  get size(): number {
    return this.#entries.size
  }

  get figures() {
    return { ...this.counters, bytes: this.bytes, entries: this.size, maxBytes: this.#options.maxBytes }
  }

  groups() {
    const now = this.#time.now()
    const groups = new Map<string, { results: number; bytes: number; newest_age_seconds: number }>()
    for (const { call, bytes, asOfMs } of this.#entries.values()) {
      const group = groups.get(call.group) ?? { results: 0, bytes: 0, newest_age_seconds: Infinity }
      group.results++
      group.bytes += bytes
      group.newest_age_seconds = Math.min(group.newest_age_seconds, ageSeconds(asOfMs, now))
      groups.set(call.group, group)
    }
    return groups
  }

  resultsOf(group: string) {
    const now = this.#time.now()
    return this.#mostUsed(({ call }) => call.group === group).map((entry) => entryView(entry, now))
  }

  /** Fast path: returns a fresh result without waiting. */
  lookup(key: string, directives?: CacheDirectives): CallResponse | undefined {
    const entry = this.#entries.use(key)
    if (entry === undefined) return undefined
    const now = this.#time.now()
    if (now >= entry.freshUntilMs || !admits(directives, entry, now)) return undefined
    return this.#hit(entry, now)
  }

  /** The result that a lookup would return. Nothing is counted, and it does not stay in the cache for longer. */
  peek(key: string): CallResponse | undefined {
    const entry = this.#entries.peek(key)
    const now = this.#time.now()
    return entry && now < entry.freshUntilMs ? responseFrom(entry, now, hit) : undefined
  }

  /** Returns undefined for only-if-cached if there is no result. */
  async get(call: Call): Promise<CallResponse | undefined> {
    const { key, directives, signal } = call
    signal?.throwIfAborted()
    const entry = this.#entries.use(key)
    const now = this.#time.now()
    const usability = entry && usabilityOf(entry, now)
    if (entry && admits(directives, entry, now)) {
      if (usability === 'fresh') return this.#hit(entry, now)
      if (usability === 'stale') {
        this.counters.stale++
        this.#use(entry, now)
        const { failure } = entry
        return failure ? staleResponse(entry, now, failure, false) : responseFrom(entry, now, stale)
      }
    }
    if (directives?.onlyIfCached) return undefined
    if (entry) entry.lastUsedMs = now
    return this.#compute(call, !entry ? 'miss' : usability === 'fresh' ? 'request' : 'stale', now)
  }

  /** Removes the results of a group. Requests that wait for a run still get its result. */
  drop(group: string): void {
    this.dropCalls((call) => call.group === group)
    this.#refreshes.drop(group)
  }

  /** Removes the results that may be computed from a source. */
  dropReaders(source: string): void {
    this.dropCalls(({ sources }) => sources.has(source))
  }

  dropCalls(isDropped: (call: Call) => boolean): void {
    for (const entry of this.#entries.values()) if (isDropped(entry.call)) this.#entries.delete(entry)
    this.#flights.drop(isDropped)
  }

  warmKeys(limit: number): WarmKey[] {
    const now = this.#time.now()
    const warm = this.#mostUsed((entry) => isWarmed(entry) && isInUse(entry, now))
    return warm.slice(0, limit).map(warmKeyOf)
  }

  keysOf(group: string): WarmKey[] {
    return this.#mostUsed(({ call }) => call.group === group).map(warmKeyOf)
  }

  #mostUsed(isWanted: (entry: CacheEntry<Call>) => boolean): CacheEntry<Call>[] {
    const used = this.#entries.values().filter(isWanted)
    return used.sort((one, other) => other.uses - one.uses || other.lastUsedMs - one.lastUsedMs)
  }

  /** Does not count as use, so that results nobody requests are forgotten however often the service restarts. */
  async prewarm(keys: Iterable<Pick<WarmKey, 'lastUsedMs' | 'uses'> & { call: Call }>): Promise<void> {
    const now = this.#time.now()
    const jobs: Promise<void>[] = []
    for (const { call, lastUsedMs, uses } of keys) {
      const { key, group, policy } = call
      const used = { lastUsedMs: Math.min(lastUsedMs, now), uses }
      if (this.#entries.peek(key) || now - used.lastUsedMs >= lifeMs(policy)) continue
      const run = async () => {
        // A request may have been first.
        if (!this.#entries.peek(key)) await this.#flights.refresh(new Flight(call, 'refresh', used))
      }
      jobs.push(this.#refreshes.add({ key, group, failing: false, urgentAtMs: now, run }))
    }
    await Promise.all(jobs)
  }

  async stop(): Promise<void> {
    this.#flights.stopRefreshes()
    await this.#refreshes.stop()
    await this.#entries.stop()
  }

  #hit(entry: CacheEntry<Call>, nowMs: number): CallResponse {
    this.counters.hits++
    this.#use(entry, nowMs)
    return responseFrom(entry, nowMs, hit)
  }

  #use(entry: CacheEntry<Call>, nowMs: number): void {
    entry.lastUsedMs = nowMs
    entry.uses++
    if (nowMs >= entry.refreshAtMs) this.#refresh(entry, nowMs)
  }

  async #compute(call: Call, why: 'miss' | 'stale' | 'request', now: number): Promise<CallResponse> {
    const { signal, policy } = call
    const { flight, joined } = this.#join(call, now)
    this.counters[joined ? 'joined' : 'misses']++
    try {
      const { result, asOfMs, stored } = await flight.wait(signal, now)
      const landedAt = this.#time.now()
      return {
        result,
        outcome: { kind: 'computed', why, joined, stored },
        ageSeconds: ageSeconds(asOfMs, landedAt),
        ttlSeconds: stored ? Math.floor((asOfMs + lifeMs(policy) - landedAt) / 1000) : 0,
        policy,
      }
    } catch (error) {
      const fallback = signal?.aborted ? undefined : this.#fallback(error, call)
      if (fallback === undefined) throw error
      return fallback
    }
  }

  #join(call: Call, nowMs: number): { flight: Flight<Call>; joined: boolean } {
    const { key, directives } = call
    const isNewRequired = requiresNewRun(directives)
    const running = this.#flights.running(key)
    const startedAtMs = isNewRequired ? undefined : running?.startedAtMs
    if (running && startedAtMs !== undefined && startedAtMs >= earliestStartMs(directives, nowMs)) {
      return { flight: running, joined: true }
    }
    const next = this.#flights.next(key)
    if (next !== undefined) return { flight: next, joined: true }
    // The request gets the result sooner than the queue of refreshes would.
    this.#refreshes.delete(key)
    const used = { lastUsedMs: nowMs, uses: 0 }
    const flight = new Flight(call, 'call', used, (abandoned) => this.#abandon(abandoned))
    const delayMs = isNewRequired ? this.#options.gatherMs : 0
    this.#flights.enqueue(flight, (start) => (delayMs > 0 ? this.#time.after(delayMs, start) : start()))
    return { flight, joined: false }
  }

  #fallback(error: unknown, { key, directives }: Call): CallResponse | undefined {
    const entry = this.#entries.use(key)
    const now = this.#time.now()
    if (entry === undefined || !admits(directives, entry, now)) return undefined
    if (usabilityOf(entry, now) === 'dead') return undefined
    this.counters.stale++
    return staleResponse(entry, now, publicError(error), true)
  }

  #refresh(entry: CacheEntry<Call>, nowMs: number): void {
    const { key, call } = entry
    if (this.#flights.has(key) || this.#refreshes.has(key)) return
    void this.#refreshes.add({
      key,
      group: call.group,
      failing: entry.failure !== undefined,
      urgentAtMs: Math.max(nowMs, urgentAtMs(entry)),
      run: async () => {
        // It may no longer be in use when its turn comes.
        if (!isInUse(entry, this.#time.now())) return this.#entries.schedule(entry)
        const used = { lastUsedMs: entry.lastUsedMs, uses: 0 }
        await this.#flights.refresh(new Flight(call, 'refresh', used))
      },
    })
  }

  async #run(flight: Flight<Call>): Promise<void> {
    const { call, purpose, signal } = flight
    const asOfMs = this.#time.now()
    const previous = this.#entries.peek(call.key)?.result
    flight.startedAtMs = asOfMs
    try {
      const computed = await this.#options.compute(call, purpose, signal)
      if (flight.over) return
      flight.land(this.#store(flight, computed, previous, asOfMs))
      if (purpose === 'refresh') this.counters.refreshed++
    } catch (error) {
      if (flight.over) return
      this.#fail(flight, error)
      flight.fail(error)
    }
  }

  #store(
    { call, dropped, lastUsedMs, uses }: Flight<Call>,
    computed: Result,
    previous: Result | undefined,
    asOfMs: number,
  ): RunOutcome {
    const { key } = call
    const result = computed.storedBy((...form) => this.#entries.compress(key, ...form))
    if (dropped) return { result, asOfMs, stored: false }
    const replaced = this.#entries.peek(key)
    const entry = createEntry(call, this.#options.recipeOf(call), result, {
      asOfMs,
      lastUsedMs: Math.max(replaced?.lastUsedMs ?? 0, lastUsedMs),
      uses: (replaced?.uses ?? 0) / 2 + uses,
    })
    if (!this.#entries.set(entry)) return { result, asOfMs, stored: false }
    if (previous !== undefined) {
      const bytes = result.bytes
      result.inherit(previous)
      this.#entries.grow(entry, result.bytes - bytes)
    }
    this.#followers.get(key)?.()
    return { result, asOfMs, stored: true }
  }

  #fail({ call: { key, group }, purpose, dropped }: Flight<Call>, error: unknown): void {
    if (purpose === 'refresh') this.counters.refreshFailures++
    const entry = dropped ? undefined : this.#entries.peek(key)
    if (entry !== undefined) {
      failEntry(entry, publicError(error), this.#time.now())
      this.#entries.schedule(entry)
    } else if (purpose === 'call') return
    this.#options.onFailure({ group, error, times: entry?.failure?.times ?? 1 })
  }

  #abandon(flight: Flight<Call>): void {
    this.#flights.remove(flight)
    const entry = this.#entries.peek(flight.call.key)
    if (entry !== undefined) this.#entries.schedule(entry)
  }
}

function warmKeyOf({ recipe, lastUsedMs, uses }: CacheEntry): WarmKey {
  return { recipe, lastUsedMs, uses }
}

type PublicError = Pick<WellheadError, 'code' | 'status'>

/** The part of an error that may be shown to those who get a result instead. */
function publicError(error: unknown): PublicError {
  return error instanceof WellheadError ? error : internal(error)
}

function staleResponse(
  entry: CacheEntry,
  nowMs: number,
  { code, status }: PublicError,
  tried: boolean,
): CallResponse {
  return responseFrom(entry, nowMs, { kind: 'stale', failure: { code, status, tried } })
}
