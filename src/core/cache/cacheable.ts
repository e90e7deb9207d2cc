import type { TraceSpan } from '../base/tracing.ts'
import type { Result } from './result.ts'

/** What the request's Cache-Control header asks for. */
export interface CacheDirectives {
  /** Only a result whose run starts after the request arrived. */
  noCache?: boolean
  /** 0 means the same as noCache. */
  maxAgeSeconds?: number
  onlyIfCached?: boolean
}

export interface CachePolicy {
  cacheSeconds: number
  /** Null: results are refreshed only when requested. */
  warmSeconds: number | null
}

/** What the cache knows of a call. */
export interface Cacheable {
  /** The same for calls with the same results. */
  readonly key: string
  /** Results of a group are dropped together: the id of the endpoint. */
  readonly group: string
  /** Names of everything that the result may be computed from. It is dropped with any of them. */
  readonly sources: ReadonlySet<string>
  readonly policy: CachePolicy
  readonly directives?: CacheDirectives | undefined
  readonly signal?: AbortSignal | undefined
  readonly trace?: TraceSpan | undefined
}

/** A refresh runs on behalf of all callers. */
export type RunFor = 'call' | 'refresh'

/** A result, and how a request obtained it. */
export interface CallResponse {
  readonly result: Result
  readonly outcome: CallOutcome
  /** Whole seconds since the run of the result started. */
  readonly ageSeconds: number
  /** Negative for a stale result. */
  readonly ttlSeconds: number
  readonly policy: CachePolicy
}

export type CallOutcome =
  | { readonly kind: 'uncached' }
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

interface StaleReason {
  readonly code: string
  readonly status: number
  /** Whether this request tried to compute a newer result. */
  readonly tried: boolean
}
