import type { FastifyInstance, FastifyReply } from 'fastify'

/** For data, which no browser renders: it must not be taken for a page. */
export const dataHeaders = { 'X-Content-Type-Options': 'nosniff' } as const

/** For responses to requests that cannot be parsed, which no hook sees. */
export const headersOfUnread = { ...dataHeaders, 'Cache-Control': 'no-store' } as const

/** For pages and the files they load, beside the policy of each page. */
export const pageHeaders = {
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** For a page of our own: its look comes from this service, and nothing in it runs or loads anything else. */
const pagePolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Every answer has them, also errors and what is not found. Goes before whatever may refuse a request. */
export function addSecurityHeaders(server: FastifyInstance): void {
  // With callbacks, since these two are on the way of every call.
  server.addHook('onRequest', (_request, reply, done) => {
    reply.headers(dataHeaders)
    done()
  })
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', 'no-store')
    done()
  })
  // The framework would read it as a text; here a body is JSON or a stream of logs.
  server.removeContentTypeParser('text/plain')
}

export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .headers(pageHeaders)
    .header('Content-Security-Policy', pagePolicy)
    .header('Cache-Control', 'private, no-cache')
    .type('text/html; charset=utf-8')
    .send(html)
}
