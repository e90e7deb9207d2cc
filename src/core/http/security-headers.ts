import type { FastifyInstance } from 'fastify'
import { onFirstUse } from '../base/on-first-use.ts'
import { headerComponents } from './openapi/headers.ts'

/** For data: a browser must not render it as a page. */
export const dataHeaders = { 'X-Content-Type-Options': 'nosniff' } as const

/** For responses to requests that cannot be parsed, because hooks do not run for them. */
export const headersOfUnread = { ...dataHeaders, 'Cache-Control': 'no-store' } as const

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

/** Request headers that may come with any request. Others are those that a route describes. */
const anyHeaders =
  'X-API-KEY, Authorization, Content-Type, Content-Encoding, If-None-Match, Cache-Control, Last-Event-ID, ' +
  'MCP-Protocol-Version, X-Request-Id, traceparent, tracestate'

const exposedHeaders = Object.keys(headerComponents).join(', ')

const maxAgeSeconds = 600

export function variesByOrigin(origins: readonly string[]): boolean {
  return origins.length > 0 && !origins.includes('*')
}

interface CrossOrigin {
  origins: readonly string[]
  methods: readonly string[]
  /** Of requests, as the routes describe them. */
  headers: () => string[]
}

/** Pages of these origins set the token in a header themselves, so browser credentials are not allowed. */
export function addCrossOrigin(server: FastifyInstance, { origins, methods, headers }: CrossOrigin): void {
  if (origins.length === 0) return
  const allowedHeaders = onFirstUse(() => [...new Set([anyHeaders, ...headers()])].join(', '))
  const everybody = origins.includes('*')
  const allowed = new Set(origins)
  server.addHook('onRequest', async (request, reply) => {
    const { origin, 'access-control-request-method': wanted } = request.headers
    if (origin === undefined || !(everybody || allowed.has(origin))) return
    reply.header('Access-Control-Allow-Origin', everybody ? '*' : origin)
    reply.header('Access-Control-Expose-Headers', exposedHeaders)
    if (request.method !== 'OPTIONS' || wanted === undefined) return
    // Browsers send preflight requests without a token.
    return reply
      .code(204)
      .header('Access-Control-Allow-Methods', methods.join(', '))
      .header('Access-Control-Allow-Headers', allowedHeaders())
      .header('Access-Control-Max-Age', String(maxAgeSeconds))
      .send()
  })
  server.addHook('onSend', async (_request, reply) => {
    if (!variesByOrigin(origins)) return
    const vary = reply.getHeader('Vary')
    reply.header('Vary', vary === undefined ? 'Origin' : `${vary}, Origin`)
  })
}
