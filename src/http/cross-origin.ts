import type { FastifyInstance } from 'fastify'

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE'

const allowedHeaders =
  'X-API-KEY, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Cache-Control, Last-Event-ID, ' +
  'MCP-Protocol-Version, X-Request-Id'

const exposedHeaders =
  'Age, Cache-Status, ETag, Idempotency-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, Server-Timing, ' +
  'Wellhead-Read-Bytes, Wellhead-Read-Rows, Wellhead-Truncated, Wellhead-Version, X-RateLimit-Limit, ' +
  'X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id'

const maxAgeSeconds = 600

/** Whether responses differ between origins. */
export function variesByOrigin(origins: readonly string[] = []): boolean {
  return origins.length > 0 && !origins.includes('*')
}

/**
 * Allows pages of these origins to send requests. Pages set the token in a header themselves, so browser credentials
 * are not allowed.
 */
export function addCrossOrigin(server: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
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
      .header('Access-Control-Allow-Methods', allowedMethods)
      .header('Access-Control-Allow-Headers', allowedHeaders)
      .header('Access-Control-Max-Age', String(maxAgeSeconds))
      .send()
  })
  server.addHook('onSend', async (_request, reply) => {
    if (!variesByOrigin(origins)) return
    const vary = reply.getHeader('Vary')
    reply.header('Vary', vary === undefined ? 'Origin' : `${vary}, Origin`)
  })
}
