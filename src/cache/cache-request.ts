import type { TraceSpan } from '../base/tracing.ts'
import type { CachePolicy } from './cache-policy.ts'
import type { CachedResult, Computed } from './cached-result.ts'

/** What the request's Cache-Control header asks for. */
export interface CacheDirectives {
  /** Only a result whose run starts after the request arrived. */
  noCache?: boolean
  /** 0 means the same as noCache. */
  maxAgeSeconds?: number
  onlyIfCached?: boolean
}

export interface ComputeRun {
  purpose: 'call' | 'refresh'
  /** Aborted when nobody needs the result anymore. */
  signal: AbortSignal
  /** The result to replace. */
  previous: CachedResult | undefined
  /** Trace of the request that started the run; a refresh has none. */
  trace?: TraceSpan | undefined
}

/** Returns 'unchanged' if the previous result is still correct. */
export type Compute = (run: ComputeRun) => Promise<Computed | 'unchanged'>

export interface CacheRequest {
  /** Made by cacheKey. */
  key: string
  /** Results of a group are dropped together: the id of the endpoint. */
  group: string
  policy: CachePolicy
  /** Kept with the result to refresh it. */
  compute: Compute
  /** JSON from which the request can be rebuilt after a restart. */
  recipe: unknown
  directives?: CacheDirectives
  signal?: AbortSignal
  trace?: TraceSpan | undefined
}

export type CacheOutcome =
  | { readonly kind: 'hit' }
  | { readonly kind: 'stale'; readonly failure?: StaleReason }
  | {
      readonly kind: 'computed'
      /** No result was cached, it was too old, or the directives required a newer one. */
      readonly why: 'miss' | 'stale' | 'request'
      /** Whether another request had started the run. */
      readonly joined: boolean
      readonly stored: boolean
    }

/** Why there is no newer result. */
interface StaleReason {
  readonly code: string
  readonly status: number
  /** Whether this request tried to compute a newer result. */
  readonly tried: boolean
}

export interface CacheResponse {
  readonly result: CachedResult
  readonly outcome: CacheOutcome
  /** Whole seconds since the run of the result started. */
  readonly ageSeconds: number
  /** Negative for a stale result. */
  readonly ttlSeconds: number
  readonly policy: CachePolicy
}

/** The earliest start of a run whose result the request accepts. */
export function earliestStartMs(directives: CacheDirectives | undefined, nowMs: number): number {
  if (directives?.maxAgeSeconds === undefined) return Number.NEGATIVE_INFINITY
  return nowMs - directives.maxAgeSeconds * 1000
}

export function requiresNewRun(directives: CacheDirectives | undefined): boolean {
  return directives?.noCache === true || directives?.maxAgeSeconds === 0
}
