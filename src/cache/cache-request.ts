import type { TraceSpan } from '../base/tracing.ts'
import type { CachePolicy } from './cache-policy.ts'
import type { CachedResult, Computed } from './cached-result.ts'

/** What a caller asks of the cache, beyond its result. */
export interface CacheWants {
  /** A result that is computed from now on. */
  noCache?: boolean
  /** A result at most so old; 0 is the same as noCache. */
  maxAgeSeconds?: number
  /** A result that is here already, or none. */
  onlyIfCached?: boolean
}

export interface ComputeRun {
  /** Whether callers wait for it from the start, or it renews a result ahead of them. */
  purpose: 'call' | 'refresh'
  /** Tells when nobody needs the result any more. */
  signal: AbortSignal
  /** The result that would be replaced. */
  previous: CachedResult | undefined
  /** Of the caller who began it; a renewal is part of nobody's trace. */
  trace?: TraceSpan | undefined
}

/** The run may find that the previous result still holds. */
export type Compute = (run: ComputeRun) => Promise<Computed | 'unchanged'>

export interface CacheRequest {
  /** Made by cacheKey. */
  key: string
  /** What is dropped together: the id of the endpoint. */
  group: string
  policy: CachePolicy
  /** Kept with the result to renew it, so it must not hold on to the caller. */
  compute: Compute
  /** JSON from which this request can be made again after a restart. */
  recipe: unknown
  wants?: CacheWants
  /** The caller going away. */
  signal?: AbortSignal
  trace?: TraceSpan | undefined
}

export type CacheOutcome =
  | { readonly kind: 'hit' }
  /** Older than its life, and given all the same. With a failure: why there is no newer one. */
  | { readonly kind: 'stale'; readonly failure?: StaleReason }
  | {
      readonly kind: 'computed'
      /** Nothing was here, what was here was too old, or the caller wanted a newer one. */
      readonly why: 'miss' | 'stale' | 'request'
      /** Whether the run was under way or waited for by somebody else already. */
      readonly joined: boolean
      readonly stored: boolean
    }

export interface StaleReason {
  /** Code and status of the catalogue of errors. */
  readonly code: string
  readonly status: number
  /** Whether this very call tried to get a newer result. */
  readonly tried: boolean
}

export interface CacheAnswer {
  readonly result: CachedResult
  readonly outcome: CacheOutcome
  /** Since its run began; whole seconds, rounded down. */
  readonly ageSeconds: number
  /** Until it is no longer fresh; negative when it is stale. */
  readonly ttlSeconds: number
  readonly policy: CachePolicy
}

/** The oldest result that the caller takes, as the time at which its run began. */
export function notBeforeMs(wants: CacheWants | undefined, nowMs: number): number {
  if (wants?.maxAgeSeconds === undefined) return Number.NEGATIVE_INFINITY
  return nowMs - wants.maxAgeSeconds * 1000
}

export function wantsNewRun(wants: CacheWants | undefined): boolean {
  return wants?.noCache === true || wants?.maxAgeSeconds === 0
}
