import type { Compression } from '../base/compressed.ts'
import type { Call } from '../endpoints/call/call.ts'
import type { CallResponse } from '../endpoints/call/endpoint-calls.ts'

/** How a result was obtained, for the headers. */
export type CacheReport = Omit<Extract<CallResponse, { policy: unknown }>, 'result'>

type CacheDirectives = NonNullable<Call['directives']>

type Coding = 'identity' | Compression

/** Request headers that every response of a route with tokens depends on: `private` does not separate two users of a browser. */
export const tokenVary = 'X-API-KEY, Authorization, Cookie'

export const resultVary = `Accept, Accept-Encoding, ${tokenVary}`

export function cacheHeaders(report: CacheReport, etag: string): Record<string, string> {
  return {
    'Cache-Status': cacheStatus(report),
    'Cache-Control': cacheControl(report),
    Age: String(report.ageSeconds),
    ETag: etag,
    Vary: resultVary,
  }
}

/** RFC 9211. A response that was not computed for this request is a hit, even if stale; a negative ttl shows that. */
export function cacheStatus({ outcome, ttlSeconds }: CacheReport): string {
  switch (outcome.kind) {
    case 'hit':
      return `Wellhead; hit; ttl=${ttlSeconds}`
    case 'stale': {
      const { failure } = outcome
      if (failure === undefined) return `Wellhead; hit; ttl=${ttlSeconds}; detail=stale`
      const how = failure.tried ? `fwd=stale; fwd-status=${failure.status}` : 'hit'
      return `Wellhead; ${how}; ttl=${ttlSeconds}; detail="stale: ${failure.code}"`
    }
    case 'computed': {
      const stored = outcome.stored ? `; stored; ttl=${ttlSeconds}` : ''
      return `Wellhead; fwd=${outcome.why}${stored}${outcome.joined ? '; collapsed' : ''}`
    }
  }
}

/** Always private: shared caches treat Authorization as a secret, but not X-API-KEY. */
export function cacheControl({ outcome, policy: { cacheSeconds, warmSeconds } }: CacheReport): string {
  if (outcome.kind === 'computed' && !outcome.stored) return 'private, no-cache'
  // Age is sent as well, so max-age is the whole lifetime and not the rest of it.
  const refreshing = warmSeconds === null ? Math.floor(cacheSeconds / 10) : cacheSeconds
  const fresh = warmSeconds === null ? cacheSeconds - refreshing : cacheSeconds
  return `private, max-age=${fresh}, stale-while-revalidate=${refreshing}`
}

const directive = /([\w-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,;]*)))?/g

/** Ignores unknown directives. The stricter of two values applies. */
export function readCacheDirectives(header: string | undefined): CacheDirectives {
  const found: CacheDirectives = {}
  if (header === undefined) return found
  for (const [, name, quoted, plain] of header.matchAll(directive)) {
    switch (name?.toLowerCase()) {
      case 'no-cache':
      // A client that forbids storing wants no stored result.
      case 'no-store':
        found.noCache = true
        break
      case 'only-if-cached':
        found.onlyIfCached = true
        break
      case 'max-age': {
        const value = quoted ?? plain ?? ''
        if (!/^\d+$/.test(value)) break
        found.maxAgeSeconds = Math.min(found.maxAgeSeconds ?? Number.POSITIVE_INFINITY, Number(value))
      }
    }
  }
  return found
}

const entityTag = /(?:W\/)?("[^"]*")/g

/** The tag of If-None-Match that matches, by the weak comparison that RFC 9110 requires; the first tag is that of the response. */
export function matchedEtag(header: string | undefined, etags: readonly string[]): string | undefined {
  if (header === undefined || etags.includes(header)) return header
  if (header.trim() === '*') return etags[0]
  for (const [, tag] of header.matchAll(entityTag)) {
    if (tag !== undefined && etags.includes(tag)) return tag
  }
  return undefined
}

/** Many requests have the same few headers, so results are remembered. */
const maxKnownHeaders = 100
const knownCodings = new Map<string, Coding>()

/** The coding with the highest weight; if equal, the one that compresses better. */
export function chooseCoding(header: string | undefined): Coding {
  if (header === undefined) return 'identity'
  let coding = knownCodings.get(header)
  if (coding === undefined) {
    coding = codingOf(readWeights(header))
    if (knownCodings.size >= maxKnownHeaders) knownCodings.clear()
    knownCodings.set(header, coding)
  }
  return coding
}

function codingOf(weights: ReadonlyMap<string, number>): Coding {
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  const br = weightOf('br')
  const gzip = weights.has('gzip') ? weightOf('gzip') : weightOf('x-gzip')
  const [coding, weight] = br >= gzip ? (['br', br] as const) : (['gzip', gzip] as const)
  // Identity is always acceptable, but preferred only if the header names it.
  return weight > 0 && weight >= (weights.get('identity') ?? 0) ? coding : 'identity'
}

/** The weights of a list such as "br;q=0.5, gzip", by name in lower case. */
export function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q) : 0
    if (coding !== '') weights.set(coding, weight)
  }
  return weights
}
