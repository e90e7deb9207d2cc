import { hash } from 'node:crypto'
import type { TraceSpan } from '../base/tracing.ts'
import type { CachedResult } from './cached-result.ts'

/** What the request's Cache-Control header asks for. */
export interface CacheDirectives {
  /** Only a result whose run starts after the request arrived. */
  noCache?: boolean
  /** 0 means the same as noCache. */
  maxAgeSeconds?: number
  onlyIfCached?: boolean
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

export function earliestStartMs(directives: CacheDirectives | undefined, nowMs: number): number {
  if (directives?.maxAgeSeconds === undefined) return Number.NEGATIVE_INFINITY
  return nowMs - directives.maxAgeSeconds * 1000
}

export function requiresNewRun(directives: CacheDirectives | undefined): boolean {
  return directives?.noCache === true || directives?.maxAgeSeconds === 0
}

export interface CachePolicy {
  cacheSeconds: number
  /** Null: results are refreshed only when requested. */
  warmSeconds: number | null
}

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

export function lifeMs({ cacheSeconds }: CachePolicy): number {
  return cacheSeconds * 1000
}

/** Up to this age, a result is served although no longer fresh, even if nothing has failed. */
export function staleLifeMs(policy: CachePolicy): number {
  return policy.warmSeconds === null ? lifeMs(policy) : staleLives * lifeMs(policy)
}

/** At this age, a result is deleted. */
export function lastLifeMs(policy: CachePolicy): number {
  return fallbackLives * lifeMs(policy)
}

export function refreshAgeMs(policy: CachePolicy, key: string): number {
  if (policy.warmSeconds === null) return refreshAfterShare * lifeMs(policy)
  return policy.warmSeconds * 1000 * spreadOf(key)
}

/** From this age on, a refresh no longer gives way to requests: half of the time until it expires is gone. */
export function urgentAgeMs(policy: CachePolicy, key: string): number {
  return (refreshAgeMs(policy, key) + lifeMs(policy)) / 2
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

export interface CacheKeyParts {
  endpointId: string
  /** The same for versions of the endpoint that return the same results. */
  tag: string
  /** The project of a tenant's token; null for a token without one. */
  tenant: string | null
  /** Of the plan of a project, which may see no older rows; null: no limit. */
  retentionDays: number | null
  /** As bound, with defaults and fixed values, without the time of the request. */
  parameters: Readonly<Record<string, unknown>>
  format: string
}

/** The SHA-256 of everything that a result depends on; values that are not text carry their type, so that null and 'null' differ. */
export function cacheKey(parts: CacheKeyParts): string {
  const { endpointId, tag, tenant, retentionDays, parameters, format } = parts
  const values: unknown[] = []
  for (const name of Object.keys(parameters).sort()) {
    const value = parameters[name]
    values.push(
      name,
      typeof value === 'string'
        ? value
        : [typeof value, Array.isArray(value) ? JSON.stringify(value) : String(value)],
    )
  }
  return hash('sha256', JSON.stringify([endpointId, tag, tenant, retentionDays, values, format]), 'hex')
}
