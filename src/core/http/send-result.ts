import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Compression } from '../base/compressed.ts'
import type { CallResponse } from '../endpoints/call/endpoint-calls.ts'
import { readWeights } from './request-parameters.ts'

type Coding = 'identity' | Compression

/** How a result was obtained, for the headers. */
export type CacheReport = Omit<CallResponse, 'result'>

/** Request headers that every response of a route with tokens depends on: `private` does not separate two users of a browser. */
export const tokenVary = 'X-API-KEY, Authorization, Cookie'

export const resultVary = `Accept, Accept-Encoding, ${tokenVary}`

export async function sendResult(
  request: FastifyRequest,
  reply: FastifyReply,
  response: CallResponse,
  since: number,
): Promise<FastifyReply> {
  const { result, outcome } = response
  const isCached = outcome.kind === 'hit' || outcome.kind === 'stale'
  const isJoined = outcome.kind === 'computed' && outcome.joined
  const accepted = chooseCoding(request.headers['accept-encoding'])
  const { coding, body } = isCached ? result.form(accepted) : await result.made(accepted)
  const etags = outcome.kind === 'uncached' ? undefined : result.etags
  reply.headers(cacheHeaders(response, etags?.[coding]))
  if (result.truncated) reply.header('Wellhead-Truncated', 'true')
  const total = `total;dur=${(performance.now() - since).toFixed(2)}`
  if (isCached || isJoined) reply.header('Server-Timing', total)
  else {
    const { queueMs, engineMs } = result
    const times = `queue;dur=${queueMs.toFixed(2)}, engine;dur=${engineMs.toFixed(2)}, ${total}`
    reply.header('Server-Timing', times)
    addFigures(request, reply, result)
  }
  const held = request.headers['if-none-match']
  const etag = etags && matchedEtag(held, [etags[coding], ...Object.values(etags)])
  if (etag !== undefined) return reply.code(304).header('ETag', etag).send()
  if (coding !== 'identity') reply.header('Content-Encoding', coding)
  return reply.type(result.contentType).send(body)
}

/** What the engine read for this response. The figures depend on rows of other tenants, so only admins get them. */
function addFigures(
  { caller }: FastifyRequest,
  reply: FastifyReply,
  { rowsRead, bytesRead }: CallResponse['result'],
): void {
  if (!caller?.isAdmin) return
  if (rowsRead !== undefined) reply.header('Wellhead-Read-Rows', String(rowsRead))
  if (bytesRead !== undefined) reply.header('Wellhead-Read-Bytes', String(bytesRead))
}

export function cacheHeaders(report: CacheReport, etag: string | undefined): Record<string, string> {
  return {
    'Cache-Status': cacheStatus(report),
    'Cache-Control': cacheControl(report),
    Vary: resultVary,
    ...(etag !== undefined && { Age: String(report.ageSeconds), ETag: etag }),
  }
}

/** RFC 9211. A response that was not computed for this request is a hit, even if stale; a negative ttl shows that. */
export function cacheStatus({ outcome, ttlSeconds }: CacheReport): string {
  switch (outcome.kind) {
    case 'uncached':
      return 'Wellhead; fwd=bypass'
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
export function cacheControl({ outcome, policy }: CacheReport): string {
  const { cacheSeconds, warmSeconds } = policy
  if (outcome.kind === 'uncached') return 'private, no-store'
  if (outcome.kind === 'computed' && !outcome.stored) return 'private, no-cache'
  // Age is sent as well, so max-age is the whole lifetime and not the rest of it.
  const refreshing = warmSeconds === null ? Math.floor(cacheSeconds / 10) : cacheSeconds
  const fresh = warmSeconds === null ? cacheSeconds - refreshing : cacheSeconds
  return `private, max-age=${fresh}, stale-while-revalidate=${refreshing}`
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
