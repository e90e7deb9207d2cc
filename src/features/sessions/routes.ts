import type { FastifyInstance } from 'fastify'
import type { Access } from '../../core/access/access.ts'
import type { SessionCookie } from '../../core/access/sessions.ts'
import { crossSite, forbidden, unauthorized, WellheadError } from '../../core/base/errors.ts'
import type { Hooks } from '../../core/hooks.ts'
import { handleError } from '../../core/http/error-response.ts'
import { tokenOf } from '../../core/http/route-access.ts'
import { authorOf, changedBy } from '../../core/http/routes/management.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import type { SessionCookies } from '../../core/http/session-cookies.ts'
import type { Audit } from '../audit/index.ts'

interface SessionParts {
  access: Access
  cookies: SessionCookies
  hooks: Hooks
  audit: Audit
}

/** Sessions in cookies: begun with a token, and ended by anybody. */
export function addSessionRoutes(
  server: FastifyInstance,
  { access, cookies, hooks, audit }: SessionParts,
): void {
  const route = routesOf(server, { tag: 'Signing in', access: 'any' })
  route('POST /auth/token', 'signInWithToken', 'Sign in to the console with a token', {
    description:
      'Sets a cookie with the rights of the token, which works wherever the token does and ends with it. ' +
      'Requests with the cookie must come from a page of this service, as the headers `Origin` and `Sec-Fetch-Site` tell.',
    responses: { 204: json('The browser has the cookie.') },
    errors: [403],
    handler: async (request, reply) => {
      // A page of another site must not sign somebody in as somebody else.
      const { origin } = request.headers
      if (origin !== undefined && !cookies.isOwn(request)) {
        throw new WellheadError(
          crossSite,
          `Only pages of this service can sign in, and it does not know the origin ${origin.slice(0, 200)}. ` +
            'If a proxy changes the host name, set WELLHEAD_PUBLIC_URL to the origin that browsers use.',
        )
      }
      const cookie = access.createCookie(tokenOf(request) ?? '', cookies.lengthMs) as SessionCookie
      access.countSignIn(changedBy(request), request.ip)
      await audit.write('token.sign_in', undefined, authorOf(request))
      cookies.set(request, reply, cookie)
    },
    options: {
      errorHandler: (error, request, reply) => {
        const isRefused = [unauthorized, forbidden, crossSite].some((refusal) => refusal.is(error))
        if (isRefused && tokenOf(request) !== undefined)
          audit.refuse('token.sign_in_refused', '', authorOf(request))
        handleError(error, request, reply)
      },
    },
  })
  route('POST /auth/logout', 'signOut', 'Sign out of the console', {
    description: 'Ends the session of the cookie.',
    access: 'optional',
    responses: { 204: json('The session has ended.') },
    errors: [403],
    handler: async (request, reply) => {
      const cookie = access.cookieIn(request.cookieToken ?? '')
      // What cannot be stored does not happen, so that it can be tried again.
      const isOfPerson = cookie && (await hooks.signOutPerson?.(cookie.owner, cookie.id, authorOf(request)))
      if (cookie && !isOfPerson) access.endCookies(cookie.owner, [cookie.id])
      cookies.clear(request, reply)
    },
  })
}
