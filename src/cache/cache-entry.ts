import { lastLifeMs, lifeMs, renewalAgeMs, retryDelayMs, staleLifeMs } from './cache-policy.ts'
import {
  type CacheAnswer,
  type CacheOutcome,
  type CacheRequest,
  type CacheWants,
  notBeforeMs,
  wantsNewRun,
} from './cache-request.ts'
import type { CachedResult } from './cached-result.ts'

export interface Failure {
  readonly code: string
  readonly status: number
  /** How often in a row. */
  readonly times: number
  /** When it is tried again, at the earliest. */
  readonly retryAtMs: number
}

/** A result and what is known of its life. */
export interface CacheEntry {
  readonly key: string
  readonly request: CacheRequest
  /** As text, of a known size. */
  readonly recipe: string
  bytes: number
  readonly result: CachedResult
  /** When its run began. */
  readonly asOfMs: number
  readonly freshUntilMs: number
  /** From then on the next occasion renews it. */
  renewAtMs: number
  lastAskedMs: number
  /** How often it was asked for, where each renewal halves what was before it. */
  heat: number
  failure: Failure | undefined
  cancelTimer: () => void
}

/** What an entry costs beside its texts and bytes: objects, a timer, places in maps. */
const overheadBytes = 1024

export function createEntry(
  request: CacheRequest,
  result: CachedResult,
  times: Pick<CacheEntry, 'asOfMs' | 'lastAskedMs' | 'heat'>,
): CacheEntry {
  const { key, group, policy, compute, recipe } = request
  const text = JSON.stringify(recipe) ?? 'null'
  return {
    key,
    // Without the caller's own signal and wants.
    request: { key, group, policy, compute, recipe },
    recipe: text,
    // The recipe counts twice: as text, and as the value that the text was made from.
    bytes: overheadBytes + key.length + 4 * text.length + result.bytes,
    result,
    ...times,
    freshUntilMs: times.asOfMs + lifeMs(policy),
    renewAtMs: times.asOfMs + renewalAgeMs(policy, key),
    failure: undefined,
    cancelTimer: () => {},
  }
}

export function failEntry(entry: CacheEntry, error: { code: string; status: number }, nowMs: number): void {
  const times = (entry.failure?.times ?? 0) + 1
  const retryAtMs = nowMs + retryDelayMs(entry.request.policy, entry.key, times)
  entry.failure = { code: error.code, status: error.status, times, retryAtMs }
  entry.renewAtMs = Math.max(entry.renewAtMs, retryAtMs)
}

export type Usability = 'fresh' | 'stale' | 'fallback' | 'dead'

/** The rules of a result's life. What is no more than a fallback is given only instead of an error. */
export function usabilityOf(entry: CacheEntry, nowMs: number): Usability {
  const { policy } = entry.request
  const age = nowMs - entry.asOfMs
  if (nowMs < entry.freshUntilMs) return 'fresh'
  if (age < staleLifeMs(policy)) return 'stale'
  if (nowMs >= endOf(entry)) return 'dead'
  // A failure of long ago says nothing of what a run would give now.
  const { failure } = entry
  return failure !== undefined && nowMs < failure.retryAtMs + lifeMs(policy) ? 'stale' : 'fallback'
}

/** Whether the result is as new as the caller wants it. */
export function admits(wants: CacheWants | undefined, entry: CacheEntry, nowMs: number): boolean {
  return wants === undefined || (!wantsNewRun(wants) && entry.asOfMs >= notBeforeMs(wants, nowMs))
}

export function isWarmed({ request: { policy } }: CacheEntry): boolean {
  return policy.warmSeconds !== null
}

/** Whether somebody asked for it lately enough to keep it warm. */
export function isAsked(entry: CacheEntry, nowMs: number): boolean {
  return nowMs - entry.lastAskedMs < lifeMs(entry.request.policy)
}

/** From then on it is not even given instead of an error. */
export function endOf({ asOfMs, request: { policy } }: CacheEntry): number {
  return asOfMs + lastLifeMs(policy)
}

/** Whole seconds since a run began. */
export function ageSeconds(asOfMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - asOfMs) / 1000))
}

export function answerFrom(entry: CacheEntry, nowMs: number, outcome: CacheOutcome): CacheAnswer {
  return {
    result: entry.result,
    outcome,
    ageSeconds: ageSeconds(entry.asOfMs, nowMs),
    ttlSeconds: Math.floor((entry.freshUntilMs - nowMs) / 1000),
    policy: entry.request.policy,
  }
}
