import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../core/access/access.ts'
import type { SessionCookie } from '../../core/access/sessions.ts'
import { notFound, signInRefused } from '../../core/base/errors.ts'
import { handleError, toKnownError } from '../../core/http/error-response.ts'
import { pathOf } from '../../core/http/request-recorder.ts'
import { authorOf } from '../../core/http/routes/management.ts'
import { routesOf } from '../../core/http/routes/route.ts'
import { pageHeaders } from '../../core/http/security-headers.ts'
import type { SessionCookies } from '../../core/http/session-cookies.ts'
import type { Audit } from '../audit/index.ts'
import { attemptMs, type Oidc } from './oidc.ts'
import type { People } from './people.ts'

/** Each tab that signs in has an attempt of its own. Those that were given up must not fill the headers. */
const attemptName = 'wellhead-sign-in-'
const maxAttempts = 4

/** Whom the issuer did not name. */
const stranger = { type: 'person', id: '', name: '' } as const

const returnTo = z.string().optional().describe('Page of the console to return to.')

interface SignInParts {
  access: Access
  cookies: SessionCookies
  people: People
  /** Undefined: people sign in with tokens only. */
  oidc: Oidc | undefined
  audit: Audit
}

export function addAuthRoutes(
  server: FastifyInstance,
  { access, cookies, people, oidc, audit }: SignInParts,
): void {
  const route = routesOf(server, { tag: 'Signing in', access: 'any' })
  const page = { access: 'public', options: { errorHandler: sendProblem } } as const
  const provider = (request: FastifyRequest) => {
    if (!oidc) throw notFound(request.method, pathOf(request.url))
    return oidc
  }
  route('GET /auth/login', 'signIn', 'Sign in with the OpenID Connect issuer', {
    ...page,
    description: 'Requires `WELLHEAD_OIDC_ISSUER`.',
    query: z.object({ return_to: returnTo }),
    unchecked: true,
    responses: { 302: { description: 'To the issuer.', headers: ['Location'] } },
    errors: [404, 503],
    handler: async (request, reply) => {
      const { return_to } = request.query as { return_to?: unknown }
      const { url, state, attempt } = await provider(request).begin(return_to)
      for (const name of attemptsIn(request).slice(maxAttempts - 1)) {
        cookies.add(request, reply, name, '; Max-Age=0')
      }
      const value = `${attempt}; Max-Age=${attemptMs / 1000}`
      cookies.add(request, reply, attemptName + state.slice(0, 8), value)
      return reply.redirect(url)
    },
  })
  route('GET /auth/callback', 'finishSignIn', 'Return from the OpenID Connect issuer', {
    ...page,
    description: 'Sets the cookie of the session, which has the rights of the person.',
    query: z.object({ code: z.string().optional(), state: z.string().optional() }),
    unchecked: true,
    responses: { 302: { description: 'To the console.', headers: ['Location'] } },
    errors: [403, 404, 429, 503],
    handler: async (request, reply) => {
      const { state } = request.query as { state?: unknown }
      const name = attemptName + String(state).slice(0, 8)
      const attempt = cookies.readAny(request, name)
      // It works once.
      if (attempt !== undefined) cookies.add(request, reply, name, '; Max-Age=0')
      const { person, returnTo } = await provider(request)
        // Requests without an attempt do not count: a page of another site could send them from somebody's browser.
        .finish(request.url, attempt, () => access.countSignIn(request.ip))
        .catch((error) => {
          if (signInRefused.is(error)) audit.refuse('person.sign_in_refused', '', authorOf(request), stranger)
          throw error
        })
      access.countSignIn(person.id)
      const by = { ...authorOf(request), id: person.id }
      const isStored = await people.signIn(person, by)
      if (!isStored) {
        const actor = { type: 'person', id: person.id, name: person.name } as const
        audit.refuse('person.sign_in_refused', person.name, by, actor)
      }
      if (person.refusal !== undefined) {
        const { message, reason } = person.refusal
        request.log.warn({ person: person.id, reason }, 'sign-in refused')
        throw signInRefused(message)
      }
      const cookie = access.createCookieOf(person.id, cookies.lengthMs) as SessionCookie
      cookies.set(request, reply, cookie)
      return reply.redirect(returnTo)
    },
  })
}

function attemptsIn({ headers: { cookie = '' } }: FastifyRequest): string[] {
  return [...cookie.matchAll(/(?:^|; *)(?:__Host-)?(wellhead-sign-in-[\w-]{8})=/g)].map(
    ([, name]) => name as string,
  )
}

/** The page looks like the console, without its files. */
const problemStyle =
  ':root{color-scheme:light dark;--text:light-dark(#16201f,#e6edec);--soft:light-dark(#52605e,#9fb0ad);--line:light-dark(#dde4e2,#2b3634);' +
  '--surface:light-dark(#fff,#161d1c);--page:light-dark(#f5f8f7,#0f1514);--accent:light-dark(#0f766e,#2dd4bf);--on-accent:light-dark(#fff,#06201d)}' +
  'body{margin:0;padding:15vh 16px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}' +
  'main{max-width:28rem;margin:auto;padding:24px 28px;border:1px solid var(--line);border-top:4px solid var(--accent);border-radius:12px;background:var(--surface)}' +
  'h1{margin:0 0 12px;font-size:20px}.soft{color:var(--soft);font-size:13px;overflow-wrap:anywhere}' +
  'a{display:inline-block;padding:7px 14px;border-radius:8px;background:var(--accent);color:var(--on-accent);text-decoration:none}'

const problemHeaders = {
  ...pageHeaders,
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

/** Browsers come here by themselves, so an error is a page. */
function sendProblem(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const { status, code, message, retryAfterSeconds } = toKnownError(error, request)
  if (status === 404 || status === 500) return void handleError(error, request, reply)
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds))
  const shown = message.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  reply
    .code(status)
    .headers(problemHeaders)
    .type('text/html; charset=utf-8')
    .send(
      '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign in</title>' +
        `<style>${problemStyle}</style><main><h1>Signing in failed</h1><p>${shown}</p>` +
        `<p class="soft"><code>${code}</code>, request <code>${request.id}</code></p><p><a href="/">Back to sign in</a></p></main></html>`,
    )
}
