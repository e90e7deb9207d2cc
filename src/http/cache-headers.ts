/** How a result was come by, as far as headers tell of it. */
export interface CacheReport {
  readonly outcome:
    | { readonly kind: 'hit' }
    | {
        readonly kind: 'stale'
        readonly failure?: { readonly code: string; readonly status: number; readonly tried: boolean }
      }
    | {
        readonly kind: 'computed'
        readonly why: 'miss' | 'stale' | 'request'
        readonly joined: boolean
        readonly stored: boolean
      }
  readonly ageSeconds: number
  readonly ttlSeconds: number
  readonly policy: { readonly cacheSeconds: number; readonly warmSeconds: number | null }
}

export type Coding = 'identity' | 'gzip' | 'br'

/** What a caller may ask of the cache with the header Cache-Control. */
export interface CacheDirectives {
  noCache?: true
  maxAgeSeconds?: number
  onlyIfCached?: true
}

/** What a result depends on beside its address. */
export const resultVary = 'Accept, Accept-Encoding'

export function cacheHeaders(report: CacheReport, etag: string): Record<string, string> {
  return {
    'Cache-Status': cacheStatus(report),
    'Cache-Control': cacheControl(report),
    Age: String(report.ageSeconds),
    ETag: etag,
    Vary: resultVary,
  }
}

/** RFC 9211. An answer that was not computed for this call is a hit, stale or not: its ttl tells. */
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

/** Private always: shared caches know Authorization as a secret, but not X-API-KEY. */
export function cacheControl({ outcome, policy: { cacheSeconds, warmSeconds } }: CacheReport): string {
  if (outcome.kind === 'computed' && !outcome.stored) return 'private, no-cache'
  // With Age beside it max-age is the whole life, and not what is left of it.
  const renewing = warmSeconds === null ? Math.floor(cacheSeconds / 10) : cacheSeconds
  const fresh = warmSeconds === null ? cacheSeconds - renewing : cacheSeconds
  return `private, max-age=${fresh}, stale-while-revalidate=${renewing}`
}

const directive = /([\w-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,;]*)))?/g

/** What is not understood is ignored; of what is sent twice the stricter holds. */
export function readCacheDirectives(header: string | undefined): CacheDirectives {
  const found: CacheDirectives = {}
  if (header === undefined) return found
  for (const [, name, quoted, plain] of header.matchAll(directive)) {
    switch (name?.toLowerCase()) {
      case 'no-cache':
      // Whoever wants nothing kept certainly wants nothing that was kept.
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

/**
 * The tag of If-None-Match that names one of these forms of a result; the first is the one that would be sent.
 * The comparison is the weak one, as RFC 9110 wants it for this header.
 */
export function matchedEtag(header: string | undefined, etags: readonly string[]): string | undefined {
  if (header === undefined || etags.includes(header)) return header
  if (header.trim() === '*') return etags[0]
  for (const [, tag] of header.matchAll(entityTag)) {
    if (tag !== undefined && etags.includes(tag)) return tag
  }
  return undefined
}

/** Callers are many, their headers are few: what was worked out once is remembered, up to a bound. */
const maxKnownHeaders = 100
const knownCodings = new Map<string, Coding>()

/** The coding that the caller weighs highest; of equals the one that is smaller on the wire. */
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
  // Plain bytes are always acceptable, but only who names them prefers them.
  return weight > 0 && weight >= (weights.get('identity') ?? 0) ? coding : 'identity'
}

function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const weight = q === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q) : 0
    if (coding !== '') weights.set(coding, weight)
  }
  return weights
}
