import { once } from 'node:events'
import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { defaultPatience } from '../../support/engines.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { describeCompressedResults } from './compressed-results.ts'
import { conversation, responsesOf, statusesOf } from './conversation.ts'
import { KeptConnection } from './kept-connection.ts'
import { resultsOfSource } from './results-of-source.ts'

const now = Date.UTC(2026, 10, 14, 12, 30, 15)
const counts = '/api/endpoints/query/usage.api-counts'
const countsId = '/api/endpoints/query/a6aaea29-3c0e-46c9-90ff-4d635f66c00a'

describe('cached endpoints', () => {
  const clock = manualClock(now)
  const time = manualTime(clock)
  let service: RunningService

  const get = (path: string, headers: Record<string, string> = {}) =>
    ask(service, service.adminToken.token, 'GET', path, undefined, headers)
  /** fetch would add no-cache to a request with If-None-Match. */
  const rawGet = (path: string, headers: Record<string, string>) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sent = { 'X-API-KEY': service.adminToken.token, ...headers }
      httpGet(service.url + path, { headers: sent }, (response) => resolve(response.resume())).on(
        'error',
        reject,
      )
    })
  const post = (path: string, body: unknown) => ask(service, service.adminToken.token, 'POST', path, body)
  const statusOf = async (path: string, headers?: Record<string, string>) =>
    (await get(path, headers)).headers.get('cache-status')
  /** Moves time while a request with no-cache waits for others to share its run. */
  const rest = async (path: string, headers?: Record<string, string>) => {
    const call = get(path, headers)
    const clockwork = setInterval(() => time.advance(5), 5)
    const { body } = await call.finally(() => clearInterval(clockwork))
    return body.result[0]?.total_rest_requests
  }

  const edge = (id: string, project: string) => ({
    id,
    project,
    timestamp: new Date(now - 60_000).toISOString(),
    metadata: { request: { url: `https://${project}.example.com/rest/v1`, path: '/rest/v1' } },
  })

  beforeAll(async () => {
    service = await openService({ time })
    await post('/api/logs?source=edge_logs', [edge('1', 'abc'), edge('2', 'xyz')])
  })
  afterAll(() => service?.close())

  test('the first request is a miss, and every equivalent request after it is a hit', async () => {
    const first = await get(`${counts}?project=abc&interval=daily`)
    expect(first.headers.get('cache-status')).toBe('Wellhead; fwd=miss; stored; ttl=900')
    expect(first.headers.get('cache-control')).toBe('private, max-age=900, stale-while-revalidate=900')
    expect(first.headers.get('age')).toBe('0')
    expect(first.headers.get('etag')).toMatch(/^"[\w-]+"$/)
    expect(first.headers.get('vary')).toBe('Accept, Accept-Encoding, X-API-KEY, Authorization, Cookie')
    time.advance(5_000)
    for (const path of [
      `${counts}?interval=daily&project=abc`,
      `${counts}?project=abc&interval=daily&other=1`,
      `${countsId}?project=abc&interval=daily`,
      `${countsId.toUpperCase().replace('/API/ENDPOINTS/QUERY', '/api/endpoints/query')}?project=abc&interval=daily`,
    ]) {
      const again = await get(path)
      expect(again.headers.get('cache-status'), path).toBe('Wellhead; hit; ttl=895')
      expect(again.headers.get('age')).toBe('5')
      expect(again.body).toEqual(first.body)
    }
    const posted = await post(counts, { project: 'abc', interval: 'daily' })
    expect(posted.headers.get('cache-status')).toBe('Wellhead; hit; ttl=895')
  })

  test('a different value, format, version or tenant is a miss', async () => {
    for (const path of [
      `${counts}?project=xyz&interval=daily`,
      `${counts}?project=abc&interval=hourly`,
      `${counts}?project=abc&interval=daily&_format=csv`,
    ]) {
      expect(await statusOf(path), path).toMatch(/fwd=miss/)
    }
    const tenant = await makeToken(service, { scopes: ['query'], project: 'abc' })
    const own = await ask(service, tenant.token, 'GET', `${counts}?interval=daily`)
    expect(own.headers.get('cache-status')).toMatch(/fwd=miss/)
    const again = await ask(service, tenant.token, 'GET', `${counts}?interval=daily&project=abc`)
    expect(again.headers.get('cache-status')).toMatch(/hit/)
  })

  test('returns 304 for the ETag of any form of the result', async () => {
    const path = `${counts}?project=abc&interval=daily`
    const etag = (await get(path)).headers.get('etag') as string
    const ifNoneMatch = (tags: string) => rawGet(path, { 'If-None-Match': tags })
    const held = await ifNoneMatch(`"other", W/${etag}`)
    expect([held.statusCode, held.headers.etag, held.headers['content-length']]).toEqual([
      304,
      etag,
      undefined,
    ])
    expect(held.headers['cache-status']).toMatch(/hit/)
    expect((await ifNoneMatch('"other"')).statusCode).toBe(200)
  })

  test('new entries appear with the next refresh, or at once for a request with no-cache or max-age', async () => {
    const path = `${counts}?project=fresh&interval=daily`
    expect(await rest(path)).toBeUndefined()
    await post('/api/logs?source=edge_logs', [edge('3', 'fresh')])
    expect(await rest(path)).toBeUndefined()
    expect(await rest(path, { 'Cache-Control': 'no-cache' })).toBe(1)
    expect(await rest(path)).toBe(1)
    await post('/api/logs?source=edge_logs', [edge('4', 'fresh')])
    time.advance(10_000)
    expect(await rest(path, { 'Cache-Control': 'max-age=60' })).toBe(1)
    expect(await rest(path, { 'Cache-Control': 'max-age=5' })).toBe(2)
  })

  test('a result in use is refreshed before it expires, and an unused one is not', async () => {
    const path = `${counts}?project=warm&interval=daily`
    await get(path)
    await post('/api/logs?source=edge_logs', [edge('5', 'warm')])
    time.advance(300_000)
    await vi.waitFor(async () => expect(await rest(path)).toBe(1))
    expect(await statusOf(path)).toMatch(/^Wellhead; hit/)
    // After fifteen minutes without a request it is no longer refreshed, and in the end deleted.
    for (let i = 0; i < 12; i++) time.advance(300_000)
    const gone = await get(path, { 'Cache-Control': 'only-if-cached' })
    expect(gone.status).toBe(504)
    await get(path)
  })

  test('returns 504 for only-if-cached without a cached result', async () => {
    const cached = { 'Cache-Control': 'only-if-cached' }
    expect((await get(`${counts}?project=warm&interval=daily`, cached)).status).toBe(200)
    const missing = await get(`${counts}?project=never&interval=daily`, cached)
    expect(missing).toMatchObject({ status: 504, body: { error: { code: 'not_cached' } } })
    expect((await get('/api/endpoints/query/logs.all?project=a', cached)).status).toBe(504)
  })

  test('an endpoint without a cache reports a bypass', async () => {
    const answer = await get('/api/endpoints/query/logs.all?project=abc')
    expect(answer.headers.get('cache-status')).toBe('Wellhead; fwd=bypass')
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(answer.headers.get('etag')).toBeNull()
  })

  test('a change of the endpoint applies to the next request', async () => {
    const endpoint = { name: 'cached.word', query: "SELECT 'old' AS word", cache_seconds: 600 }
    await post('/api/endpoints', endpoint)
    const path = '/api/endpoints/query/cached.word'
    expect((await get(path)).body.result).toEqual([{ word: 'old' }])
    await ask(service, service.adminToken.token, 'PATCH', '/api/endpoints/cached.word', {
      query: "SELECT 'new' AS word",
    })
    const changed = await get(path)
    expect(changed.body.result).toEqual([{ word: 'new' }])
    expect(changed.headers.get('cache-status')).toMatch(/fwd=miss/)
    expect((await get(`${path}?_version=1`)).body.result).toEqual([{ word: 'old' }])
  })

  resultsOfSource(() => service, time)

  test('a repeated request gets the same response until its endpoint or token changes', async () => {
    const made = await makeToken(service, { scopes: ['query'] })
    await post('/api/endpoints', { name: 'cached.lane', query: "SELECT 'old' AS word", cache_seconds: 600 })
    const path = '/api/endpoints/query/cached.lane?a=1'
    const kept = new KeptConnection(service, { 'X-API-KEY': made.token })
    onTestFinished(() => kept.close())
    const call = (headers?: Record<string, string>) => kept.get(path, headers)
    await call()
    const usual = await call()
    const namesOf = ({ headers }: typeof usual) => [...headers.keys()].sort()
    for (let i = 0; i < 3; i++) {
      const again = await call()
      expect(namesOf(again)).toEqual(namesOf(usual))
      for (const name of namesOf(usual)) {
        if (['x-request-id', 'server-timing', 'date', 'age', 'cache-status'].includes(name)) continue
        expect(again.headers.get(name), name).toBe(usual.headers.get(name))
      }
      expect(again.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
      expect(again.headers.get('cache-status')).toMatch(/^Wellhead; hit; ttl=\d+$/)
      expect(again.body).toEqual(usual.body)
    }
    const held = { 'If-None-Match': usual.headers.get('etag') ?? '' }
    for (let i = 0; i < 3; i++) expect(await call(held)).toMatchObject({ status: 304, body: '' })
    expect((await call({ 'X-Request-Id': 'mine' })).headers.get('x-request-id')).toBe('mine')

    await ask(service, service.adminToken.token, 'PATCH', '/api/endpoints/cached.lane', {
      query: "SELECT 'new' AS word",
    })
    for (let i = 0; i < 3; i++) expect((await call()).body.result).toEqual([{ word: 'new' }])
    await ask(service, service.adminToken.token, 'PATCH', `/api/access-tokens/${made.id}`, {
      scopes: ['ingest'],
    })
    expect((await call()).status).toBe(403)
    await ask(service, service.adminToken.token, 'PATCH', `/api/access-tokens/${made.id}`, {
      scopes: ['query'],
    })
    for (let i = 0; i < 3; i++) expect((await call()).status).toBe(200)
    await ask(service, service.adminToken.token, 'DELETE', `/api/access-tokens/${made.id}`)
    expect((await call()).status).toBe(401)
  })

  test('repeated requests count toward the limit of the token', async () => {
    await post('/api/endpoints', { name: 'cached.limited', query: 'SELECT 1 AS n', cache_seconds: 600 })
    const path = '/api/endpoints/query/cached.limited'
    const { token } = await makeToken(service, { scopes: ['query'], requests_per_minute: 6 })
    const kept = new KeptConnection(service, { Authorization: `Bearer ${token}` })
    onTestFinished(() => kept.close())
    for (const remaining of ['5', '4', '3', '2', '1', '0']) {
      const { status, headers, body } = await kept.get(path, { 'If-None-Match': `"${remaining}"` })
      expect([status, body]).toEqual([200, { result: [{ n: 1 }] }])
      expect(headers.get('x-ratelimit-remaining')).toBe(remaining)
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"requests";r=${remaining};t=\\d+$`))
    }
    for (let i = 0; i < 2; i++) {
      const { status, headers } = await kept.get(path)
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([429, '0'])
    }
    // Each response counts once, and refused requests do not count: they must not keep a result warm.
    expect((await get('/api/endpoints/cached.limited/cache')).body.results).toMatchObject([{ uses: 6 }])
    time.advance(60_000)
    expect((await kept.get(path)).headers.get('x-ratelimit-remaining')).toBe('5')
  })

  test('pipelined requests get complete responses in order', async () => {
    const sizes = { small: 3, large: 2_000 }
    for (const [size, rows] of Object.entries(sizes)) {
      const query = `SELECT number, 'größer ✓' AS text FROM numbers(${rows})`
      await post('/api/endpoints', { name: `cached.${size}`, query, max_rows: 5_000, cache_seconds: 600 })
    }
    const paths = ['small', 'large', 'small', 'small', 'large'].map(
      (size) => `/api/endpoints/query/cached.${size}`,
    )
    const expected = []
    for (const path of paths) {
      await get(path)
      expected.push((await get(path, { 'Accept-Encoding': 'identity' })).body)
    }
    const headers = `Host: x\r\nX-API-KEY: ${service.adminToken.token}\r\nAccept: */*\r\n`
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\n${headers}\r\n`)
    const last = `GET / HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`
    const received = await conversation(service.url, [requests.join('') + last])
    const responses = responsesOf(received).slice(0, paths.length)
    expect(responses.map(({ body }) => JSON.parse(body))).toEqual(expected)
    for (const { head } of responses)
      expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Cache-Status: Wellhead; hit/)
  })

  test('a repeated request gets the same headers as one that the framework serves', async () => {
    await post('/api/endpoints', {
      name: 'cached.headers',
      query: 'SELECT number FROM numbers(5000)',
      max_rows: 1000,
      cache_seconds: 600,
    })
    const path = '/api/endpoints/query/cached.headers'
    const { token } = await makeToken(service, { scopes: ['query'], requests_per_minute: 1000 })
    const etag = (await get(path, { 'Accept-Encoding': 'gzip' })).headers.get('etag') ?? ''
    /** Without headers that differ between any two responses. */
    const call = async (headers: Record<string, string>) => {
      const { statusCode, rawHeaders } = await rawGet(path, headers)
      const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []))
      const values = Object.fromEntries(
        pairs.map(([name = '', value = '']) => [
          name.toLowerCase(),
          /^(x-request-id|server-timing|date|ratelimit|x-ratelimit-remaining)$/i.test(name) ? '' : value,
        ]),
      )
      return { statusCode, values, isRepeated: rawHeaders.includes('Cache-Status') }
    }
    for (const [key, headers] of [
      [service.adminToken.token, {}],
      [service.adminToken.token, { 'Accept-Encoding': 'gzip' }],
      [service.adminToken.token, { 'Accept-Encoding': 'gzip', 'If-None-Match': etag }],
      [token, { 'Accept-Encoding': 'gzip' }],
    ] as const) {
      const sent = { 'X-API-KEY': key, ...headers }
      await call(sent)
      const repeated = await call(sent)
      // The framework serves requests with a range.
      const usual = await call({ ...sent, Range: 'bytes=0-' })
      expect([repeated.isRepeated, usual.isRepeated]).toEqual([true, false])
      expect(repeated).toEqual({ ...usual, isRepeated: true })
      expect(repeated.values).toMatchObject({
        'wellhead-truncated': 'true',
        vary: 'Accept, Accept-Encoding, X-API-KEY, Authorization, Cookie',
      })
      expect(repeated.values).not.toHaveProperty('content-security-policy')
    }
  })

  test('every request after a repeated one gets exactly one response, as from plain node:http', async () => {
    await post('/api/endpoints', { name: 'cached.hostile', query: 'SELECT 1 AS n', cache_seconds: 600 })
    const plain = createServer((request, response) => {
      request.resume()
      response.end('fine')
    })
    plain.listen(0, '127.0.0.1')
    await once(plain, 'listening')
    onTestFinished(() => void plain.close())
    const plainUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`
    const head = `/api/endpoints/query/cached.hostile HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.adminToken.token}\r\n`
    const hot = `GET ${head}\r\n`
    const last = `GET ${head}Connection: close\r\n\r\n`
    const chunked = `${hot.length.toString(16)}\r\n${hot}\r\n0\r\n\r\n`
    for (const [hostile, expected] of [
      [`GET ${head}Transfer-Encoding: xchunked\r\n\r\n`, [400]],
      [`GET ${head}Transfer-Encoding: xchunked\r\n\r\n${hot}`, [400]],
      [`GET ${head}Transfer-Encoding: chunked, xchunked\r\n\r\n${chunked}`, [400]],
      [`GET ${head}Transfer-Encoding : chunked\r\n\r\n${chunked}`, [400]],
      [`GET ${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`, [400]],
      [`GET ${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n${hot}`, [400]],
      [`GET ${head}X: a\nb: c\r\n\r\n`, [400]],
      [`GET ${head} folded\r\n\r\n`, [400]],
      [`GET ${head}Content-Length: ${hot.length}\r\n\r\n${hot}`, [200, 200]],
      [`GET ${head}Transfer-Encoding: chunked\r\n\r\n${chunked}`, [200, 200]],
      [`${hot}${hot}${hot}`, [200, 200, 200, 200]],
      [hot, [200, 200]],
    ] as const) {
      const sent = [hot, hot, hostile, last]
      const statuses = statusesOf(await conversation(service.url, sent))
      expect(statuses, hostile).toEqual([200, 200, ...expected])
      expect(statusesOf(await conversation(plainUrl, sent)), hostile).toHaveLength(statuses.length)
    }
  })

  test('a repeated request is refused if it has two hosts or two tokens', async () => {
    await post('/api/endpoints', { name: 'cached.twice', query: 'SELECT 1 AS n', cache_seconds: 600 })
    const token = `Authorization: Bearer ${service.adminToken.token}\r\n`
    const head = `GET /api/endpoints/query/cached.twice HTTP/1.1\r\nHost: x\r\n${token}`
    for (const [again, expected] of [
      ['Host: x\r\n', 400],
      [token, 401],
    ] as const) {
      const sent = [`${head}\r\n`, `${head}\r\n`, `${head}${again}Connection: close\r\n\r\n`]
      expect(statusesOf(await conversation(service.url, sent))).toEqual([200, 200, expected])
    }
  })

  describeCompressedResults({ get, rawGet, post })

  test('a replay stops at its time limit and reports what it skipped', async () => {
    await post('/api/endpoints', { name: 'cached.slow', query: 'SELECT 1 AS n', cache_seconds: 86_400 })
    await get('/api/endpoints/query/cached.slow')
    const query = 'SELECT sum(sipHash64(number)) AS n, 1 AS replay_late FROM numbers(1000000000000)'
    // On a busy machine, seconds may pass before the query is seen to run.
    const replayed = post('/api/endpoints/cached.slow/replay', { endpoint: { query, timeout_seconds: 120 } })
    // Before it runs, the query is described, which counts as reading a few rows. That time does not count.
    const sql =
      "SELECT count() FROM system.processes WHERE query LIKE '%replay_late%' AND query NOT LIKE '%system.%' AND read_rows > 1000"
    await vi.waitFor(async () => {
      const { body } = await service.engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })
      expect(body.toString().trim()).toBe('1')
    })
    time.advance(60_000 * defaultPatience)
    expect(await replayed).toMatchObject({ status: 200, body: { requests: [], skipped: 1 } })
  })
})
