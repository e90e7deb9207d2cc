import type { FastifyInstance } from 'fastify'
import type { Access, SessionCookie } from '../../access/access.ts'
import { forbidden } from '../../base/errors.ts'
import { tokenOf } from '../route-access.ts'
import type { SessionCookies } from '../session-cookies.ts'
import { json, routesOf } from './route.ts'

interface AuthRoutes {
  access: Access
  cookies: SessionCookies
}

/** Sessions in cookies: with a token, or as a person. */
export function addAuthRoutes(server: FastifyInstance, { access, cookies }: AuthRoutes): void {
  const route = routesOf(server, { tag: 'Signing in', access: 'any' })
  route('POST /auth/token', 'signInWithToken', 'Sign in to the console with a token', {
    description:
      'Sets a cookie with the rights of the token, which works wherever the token does and ends with it. ' +
      'Requests with the cookie that change something need the header `Origin` of this service.',
    responses: { 204: json('The browser has the cookie.') },
    errors: [403],
    handler: async (request, reply) => {
      // A page of another site must not sign somebody in as somebody else.
      if (request.headers.origin !== undefined && !cookies.isOwn(request)) {
        throw forbidden('Only pages of this service can sign in.')
      }
      const cookie = access.createCookie(tokenOf(request) ?? '', cookies.lengthMs) as SessionCookie
      cookies.set(request, reply, cookie)
    },
  })
  route('POST /auth/logout', 'signOut', 'Sign out of the console', {
    description: 'Ends the session of the cookie.',
    access: 'optional',
    responses: { 204: json('The session has ended.') },
    errors: [403],
    handler: async (request, reply) => {
      if (request.cookieToken !== undefined) access.endCookie(request.cookieToken)
      cookies.clear(request, reply)
    },
  })
}
