import fastify from 'fastify'
import { expect, test } from 'vitest'
import { addCrossOrigin, addSecurityHeaders, pageHeaders } from './security-headers.ts'

/** A service with a door that lets nobody in. */
function guarded(origins: readonly string[] = []) {
  const server = fastify()
  addSecurityHeaders(server)
  addCrossOrigin(server, { origins, methods: ['GET', 'POST'], headers: () => ['X-Of-Route'] })
  server.addHook('onRequest', async (request) => {
    if (request.headers['x-api-key'] !== 'key') throw Object.assign(new Error('no'), { statusCode: 401 })
  })
  server.get('/data', async (_request, reply) => reply.header('Vary', 'Accept').send({ rows: [] }))
  server.get('/kept', async (_request, reply) =>
    reply.header('Cache-Control', 'private, max-age=9').send('x'),
  )
  server.get('/page', async (_request, reply) => reply.headers(pageHeaders).send('<p>'))
  server.post('/data', async (request) => request.body)
  return server
}

const key = { 'x-api-key': 'key' }

test('adds the headers to every response: data, errors and empty ones', async () => {
  const server = guarded()
  for (const [url, headers, status] of [
    ['/data', key, 200],
    ['/data', {}, 401],
    ['/nowhere', key, 404],
    ['/kept', key, 200],
  ] as const) {
    const answer = await server.inject({ url, headers })
    expect(answer.statusCode).toBe(status)
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': url === '/kept' ? 'private, max-age=9' : 'no-store',
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    for (const name of ['server', 'content-security-policy', 'x-frame-options', 'referrer-policy'])
      expect(answer.headers).not.toHaveProperty(name)
  }
})

test('keeps a page out of frames and other sites', async () => {
  const { headers } = await guarded().inject({ url: '/page', headers: key })
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  })
})

test('refuses a text body', async () => {
  const headers = { ...key, 'content-type': 'text/plain' }
  const answer = await guarded().inject({ method: 'POST', url: '/data', headers, payload: '{}' })
  expect(answer.statusCode).toBe(415)
})

const preflight = (origin: string) => ({
  method: 'OPTIONS' as const,
  url: '/data',
  headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-api-key' },
})

test('refuses other origins by default', async () => {
  const answer = await guarded().inject(preflight('https://app.example.com'))
  expect(answer.statusCode).toBe(401)
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('answers preflight requests of an allowed origin without a token', async () => {
  const server = guarded(['https://app.example.com', 'http://127.0.0.1:5173'])
  const asked = await server.inject(preflight('http://127.0.0.1:5173'))
  expect(asked.statusCode).toBe(204)
  expect(asked.headers).toMatchObject({
    'access-control-allow-origin': 'http://127.0.0.1:5173',
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': expect.stringMatching(/^X-API-KEY, .*X-Of-Route$/),
    vary: 'Origin',
  })
  const origin = 'https://app.example.com'
  const called = await server.inject({ url: '/data', headers: { ...key, origin } })
  expect(called.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Accept, Origin' })
  expect(called.headers['access-control-expose-headers']).toContain('Wellhead-Truncated')
  expect(called.headers).not.toHaveProperty('access-control-allow-credentials')
  const refused = await server.inject({ url: '/data', headers: { origin } })
  expect(refused.statusCode).toBe(401)
  expect(refused.headers).toMatchObject({ 'access-control-allow-origin': origin })
})

test.each(['https://app.example.com.evil.test', 'https://APP.example.com', 'null', ''])(
  '"%s" is not an allowed origin',
  async (origin) => {
    const server = guarded(['https://app.example.com'])
    for (const request of [preflight(origin), { url: '/data', headers: { ...key, origin } }]) {
      const { headers } = await server.inject(request)
      expect(headers).not.toHaveProperty('access-control-allow-origin')
      expect(headers.vary).toContain('Origin')
    }
  },
)

test('allows every origin with *', async () => {
  const server = guarded(['*'])
  const { headers } = await server.inject({ url: '/data', headers: { ...key, origin: 'https://any.test' } })
  expect(headers).toMatchObject({ 'access-control-allow-origin': '*', vary: 'Accept' })
})

test('requires a token for OPTIONS requests that are not preflights', async () => {
  const answer = await guarded(['*']).inject({ method: 'OPTIONS', url: '/data' })
  expect(answer.statusCode).toBe(401)
})
