import type { FastifyReply, FastifyRequest } from 'fastify'
import { pageScope } from '../../shared/scopes.ts'
import type { Access } from '../access/access.ts'
import type { Caller } from '../access/caller.ts'
import type { Quota } from '../access/request-quota.ts'
import { crossSite, forbidden, rateLimited } from '../base/errors.ts'
import type { SessionCookies } from './session-cookies.ts'

/** `public` and `optional` need no token, `any` needs a valid one, the others one with that scope. `optional` shows more with one. */
export type RouteAccess = keyof typeof isAllowed

/** What every route requires, and who has it. docs/guides/access.md shows it as a table. */
export const isAllowed = {
  public: () => true,
  optional: () => true,
  any: () => true,
  query: (caller: Caller) => caller.mayAny('query'),
  search: (caller: Caller) => caller.mayReadEntries,
  'query or search': (caller: Caller) => caller.mayAny('query') || caller.mayReadEntries,
  call: (caller: Caller) => caller.mayAny('query') || caller.pages.length > 0,
  ingest: (caller: Caller) => caller.mayAny('ingest'),
  read: (caller: Caller) => caller.role !== undefined,
  edit: (caller: Caller) => caller.role === 'editor' || caller.isAdmin,
  deploy: (caller: Caller) => caller.mayDeploy,
  admin: (caller: Caller) => caller.isAdmin,
}

/** Throws 401, 429 or 403, in this order. Handlers check the endpoint or source. */
export function admitCaller(
  { access, cookies }: { access: Access; cookies: SessionCookies },
  needed: RouteAccess,
  request: FastifyRequest,
  reply: FastifyReply,
): Caller | undefined {
  const token = tokenOf(request)
  if (token !== undefined && token === request.cookieToken) {
    if (!cookies.allows(request)) {
      // A link to a public page opens it, as it does for somebody without a cookie.
      if (needed === 'optional' && request.method !== 'POST') return undefined
      throw crossSite()
    }
    const isValid = access.recognize(token) !== undefined
    cookies.renew(request, reply, isValid)
    if (needed === 'optional' && !isValid) return undefined
  }
  if (needed === 'optional' && token === undefined) return undefined
  const { caller, quota } = access.admit(token, request.ip)
  // Set before the checks below, so that statistics know whose requests are refused.
  request.caller = caller
  if (quota) {
    reply.headers(quotaHeaders(quota))
    checkQuota(quota)
  }
  if (!isAllowed[needed](caller)) {
    const limit = needed === 'search' ? ' and without fixed parameters other than project' : ''
    const scope = needed === 'call' ? `query or ${pageScope}` : needed
    throw forbidden(`This requires a token with the scope ${scope}${limit}.`)
  }
  return caller
}

export function checkQuota({ exceeded, isShared, limit, resetSeconds }: Quota): void {
  const who = isShared ? 'All tokens of this project together are' : 'This token is'
  if (exceeded) throw rateLimited(`${who} limited to ${limit} requests per minute.`, resetSeconds)
}

export function quotaHeaders({ limit, remaining, resetSeconds }: Quota): Record<string, string> {
  return {
    'RateLimit-Policy': `"requests";q=${limit};w=60`,
    RateLimit: `"requests";r=${remaining};t=${resetSeconds}`,
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetSeconds),
  }
}

/** A token in a header goes before the session in a cookie. A repeated header counts as an invalid token. */
export function tokenOf(request: FastifyRequest): string | undefined {
  const key = request.headers['x-api-key']
  if (key !== undefined) return typeof key === 'string' ? key : ''
  if (request.headers.authorization === undefined) return request.cookieToken
  const [authorization = '', ...more] = request.raw.headersDistinct.authorization ?? []
  return (more.length === 0 && bearerToken(authorization)) || ''
}

export function bearerToken(authorization: string): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1]
}
