import type { FastifyInstance } from 'fastify'

/** For data: a browser must not render it as a page. */
export const dataHeaders = { 'X-Content-Type-Options': 'nosniff' } as const

/** For responses to requests that cannot be parsed, because hooks do not run for them. */
export const headersOfUnread = { ...dataHeaders, 'Cache-Control': 'no-store' } as const

/** For pages and their files, in addition to each page's policy. */
export const pageHeaders = {
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** Adds them to every response, including errors. Must run before any hook that can refuse a request. */
export function addSecurityHeaders(server: FastifyInstance): void {
  // Callbacks are faster than promises, and these hooks run for every request.
  server.addHook('onRequest', (_request, reply, done) => {
    reply.headers(dataHeaders)
    done()
  })
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', 'no-store')
    done()
  })
  // Bodies are JSON or logs; the framework would read text/plain as a string.
  server.removeContentTypeParser('text/plain')
}
