import type { Cacheable, CacheDirectives, RunFor } from '../../src/core/cache/cacheable.ts'

export type Seen =
  | { kind: 'hit' | 'stale'; value: number; age: number; failure?: string }
  | { kind: 'computed'; why: string; joined: boolean; stored: boolean; value: number; age: number }
  | { kind: 'absent' | 'error' | 'left' | 'waits' }

export interface Waiter {
  seen: Seen
  directives: CacheDirectives
  why: string
  joined: boolean
}

export interface Run {
  purpose: RunFor
  began: number
  previous: number | undefined
  waiters: Waiter[]
  dropped: boolean
  lastUsed: number
  /** For a dropped run: the run that waits for it. */
  after: Run | undefined
}

interface Entry {
  value: number
  asOf: number
  refreshAt: number
  lastUsed: number
  failure: { times: number; retryAt: number } | undefined
}

/** A model of the cache for one key without timers and promises. Time is in seconds, and each second needs a tick. */
export class KeyModel {
  entry: Entry | undefined
  runs: Run[] = []
  running: Run | undefined
  next: Run | undefined
  readonly life: number
  readonly warm: number | null

  constructor({ cacheSeconds, warmSeconds }: Cacheable['policy']) {
    this.life = cacheSeconds
    this.warm = warmSeconds
  }

  call(now: number, directives: CacheDirectives): Waiter {
    const { entry } = this
    const fresh = directives.noCache === true || directives.maxAgeSeconds === 0
    const takes = (asOf: number) => !fresh && now - asOf <= (directives.maxAgeSeconds ?? Infinity)
    const state = this.state(now)
    const waiter: Waiter = { seen: { kind: 'waits' }, directives, why: 'miss', joined: false }
    if (entry && (state === 'fresh' || state === 'stale') && takes(entry.asOf)) {
      entry.lastUsed = now
      waiter.seen = this.served(entry, now, state === 'stale' && entry.failure !== undefined)
      if (now >= entry.refreshAt && !this.running && !this.next) this.begin(now, this.plan('refresh', now))
      return waiter
    }
    if (directives.onlyIfCached) {
      waiter.seen = { kind: 'absent' }
      return waiter
    }
    if (entry) {
      entry.lastUsed = now
      waiter.why = state === 'fresh' ? 'request' : 'stale'
    }
    const joinable = this.running && takes(this.running.began) ? this.running : this.next
    const run = joinable ?? this.plan('call', now)
    waiter.joined = joinable !== undefined
    run.waiters.push(waiter)
    run.lastUsed = now
    if (!joinable) {
      if (this.running) this.next = run
      else this.begin(now, run)
    }
    return waiter
  }

  tick(now: number): void {
    const { entry } = this
    if (!entry) return
    if (now >= entry.asOf + 10 * this.life) this.entry = undefined
    else if (this.warm !== null && now >= entry.refreshAt && now - entry.lastUsed < this.life) {
      if (!this.running && !this.next) this.begin(now, this.plan('refresh', now))
    }
  }

  finish(now: number, run: Run, value: number | undefined): void {
    this.runs = this.runs.filter((other) => other !== run)
    const { dropped, began, waiters } = run
    if (value === undefined) {
      if (this.entry && !dropped) {
        const times = (this.entry.failure?.times ?? 0) + 1
        const longest = Math.max(1, Math.min(60, this.warm ?? this.life))
        const retryAt = now + Math.min(longest, 2 ** (times - 1))
        this.entry.failure = { times, retryAt }
        this.entry.refreshAt = Math.max(this.entry.refreshAt, retryAt)
      }
      for (const waiter of waiters) waiter.seen = this.instead(now, waiter)
    } else {
      for (const waiter of waiters) {
        const { why, joined } = waiter
        waiter.seen = { kind: 'computed', why, joined, stored: !dropped, value, age: now - began }
      }
      if (!dropped) {
        this.entry = {
          value,
          asOf: began,
          refreshAt: began + (this.warm ?? 0.9 * this.life),
          lastUsed: Math.max(this.entry?.lastUsed ?? 0, run.lastUsed),
          failure: undefined,
        }
      }
    }
    this.over(now, run)
    if (this.entry) this.tick(now)
  }

  leave(now: number, waiter: Waiter): void {
    waiter.seen = { kind: 'left' }
    for (const run of [...this.runs, this.next, ...this.runs.map(({ after }) => after)]) {
      if (!run?.waiters.includes(waiter)) continue
      run.waiters = run.waiters.filter((other) => other !== waiter)
      if (run.waiters.length > 0 || run.purpose === 'refresh') return
      this.runs = this.runs.filter((other) => other !== run)
      if (this.next === run) this.next = undefined
      this.over(now, run)
      this.tick(now)
    }
  }

  drop(now: number): void {
    const { running, next } = this
    this.entry = undefined
    this.running = undefined
    this.next = undefined
    if (!running) return
    running.dropped = true
    running.after = next
    if (next) next.dropped = true
    if (running.waiters.length > 0) return
    this.runs = this.runs.filter((run) => run !== running)
    this.over(now, running)
  }

  state(now: number): 'none' | 'fresh' | 'stale' | 'fallback' {
    if (!this.entry) return 'none'
    const age = now - this.entry.asOf
    if (age < this.life) return 'fresh'
    if (this.warm !== null && age < 2 * this.life) return 'stale'
    if (age >= 10 * this.life) return 'none'
    const { failure } = this.entry
    return failure && now < failure.retryAt + this.life ? 'stale' : 'fallback'
  }

  plan(purpose: Run['purpose'], now: number): Run {
    const lastUsed = this.entry?.lastUsed ?? now
    return {
      purpose,
      began: -1,
      previous: undefined,
      waiters: [],
      dropped: false,
      lastUsed,
      after: undefined,
    }
  }

  begin(now: number, run: Run): void {
    if (!run.dropped) this.running = run
    run.began = now
    run.previous = this.entry?.value
    this.runs.push(run)
  }

  over(now: number, run: Run): void {
    if (run.after && run.after.waiters.length > 0) this.begin(now, run.after)
    if (this.running !== run) return
    this.running = undefined
    const { next } = this
    this.next = undefined
    if (next) this.begin(now, next)
  }

  instead(now: number, { directives }: Waiter): Seen {
    const { entry } = this
    if (!entry || this.state(now) === 'none') return { kind: 'error' }
    if (
      directives.noCache ||
      now - entry.asOf > (directives.maxAgeSeconds ?? Infinity) ||
      directives.maxAgeSeconds === 0
    ) {
      return { kind: 'error' }
    }
    return { ...this.served(entry, now, true), kind: 'stale' }
  }

  served(entry: Entry, now: number, failed: boolean): Seen & { kind: 'hit' | 'stale' } {
    return {
      kind: this.state(now) === 'fresh' ? 'hit' : 'stale',
      value: entry.value,
      age: now - entry.asOf,
      ...(failed && { failure: 'engine_unavailable' }),
    }
  }
}
