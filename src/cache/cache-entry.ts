import {
  type CacheDirectives,
  type CacheOutcome,
  type CacheRequest,
  type CacheResponse,
  earliestStartMs,
  lastLifeMs,
  lifeMs,
  refreshAgeMs,
  requiresNewRun,
  retryDelayMs,
  staleLifeMs,
} from './cache-request.ts'
import type { CachedResult } from './cached-result.ts'

export interface CacheEntry {
  readonly key: string
  readonly request: CacheRequest
  bytes: number
  readonly result: CachedResult
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

export function createEntry(
  { key, group, sources, policy, compute, recipe }: CacheRequest,
  result: CachedResult,
  times: Pick<CacheEntry, 'asOfMs' | 'lastUsedMs' | 'uses'>,
): CacheEntry {
  return {
    key,
    // Without the signal, trace and directives of the first request.
    request: { key, group, sources, policy, compute, recipe },
    // The recipe and the values in compute are about the same size, two bytes a character.
    bytes: overheadBytes + key.length + 4 * (JSON.stringify(recipe) ?? '').length + result.bytes,
    result,
    ...times,
    freshUntilMs: times.asOfMs + lifeMs(policy),
    refreshAtMs: times.asOfMs + refreshAgeMs(policy, key),
    failure: undefined,
    cancelTimer: () => {},
  }
}

export function failEntry(entry: CacheEntry, error: { code: string; status: number }, nowMs: number): void {
  const times = (entry.failure?.times ?? 0) + 1
  const retryAtMs = nowMs + retryDelayMs(entry.request.policy, entry.key, times)
  entry.failure = { code: error.code, status: error.status, times, retryAtMs }
  entry.refreshAtMs = Math.max(entry.refreshAtMs, retryAtMs)
}

/** A fallback is served only instead of an error. */
type Usability = 'fresh' | 'stale' | 'fallback' | 'dead'

export function usabilityOf(entry: CacheEntry, nowMs: number): Usability {
  const { policy } = entry.request
  if (nowMs < entry.freshUntilMs) return 'fresh'
  if (nowMs - entry.asOfMs < staleLifeMs(policy)) return 'stale'
  if (nowMs >= endOf(entry)) return 'dead'
  // After a recent failure, requests get the stale result at once instead of waiting for another failure.
  const { failure } = entry
  return failure !== undefined && nowMs < failure.retryAtMs + lifeMs(policy) ? 'stale' : 'fallback'
}

/** Whether the result is new enough for the directives. */
export function admits(directives: CacheDirectives | undefined, entry: CacheEntry, nowMs: number): boolean {
  return (
    directives === undefined ||
    (!requiresNewRun(directives) && entry.asOfMs >= earliestStartMs(directives, nowMs))
  )
}

export function isWarmed({ request: { policy } }: CacheEntry): boolean {
  return policy.warmSeconds !== null
}

/** Whether it was requested recently enough to be kept warm. */
export function isInUse(entry: CacheEntry, nowMs: number): boolean {
  return nowMs - entry.lastUsedMs < lifeMs(entry.request.policy)
}

export function endOf({ asOfMs, request: { policy } }: CacheEntry): number {
  return asOfMs + lastLifeMs(policy)
}

export function ageSeconds(asOfMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - asOfMs) / 1000))
}

export function responseFrom(entry: CacheEntry, nowMs: number, outcome: CacheOutcome): CacheResponse {
  return {
    result: entry.result,
    outcome,
    ageSeconds: ageSeconds(entry.asOfMs, nowMs),
    ttlSeconds: Math.floor((entry.freshUntilMs - nowMs) / 1000),
    policy: entry.request.policy,
  }
}

export function entryView(entry: CacheEntry, nowMs: number) {
  const { key, request, result, bytes, asOfMs, lastUsedMs, freshUntilMs, refreshAtMs, failure } = entry
  const usability = usabilityOf(entry, nowMs)
  const warm = isWarmed(entry) && isInUse(entry, nowMs)
  return {
    key,
    recipe: request.recipe,
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
