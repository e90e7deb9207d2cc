import { once } from 'node:events'
import { connect } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { pino } from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Access } from '../../../src/core/access/access.ts'
import { hashToken } from '../../../src/core/access/admin-token.ts'
import type { StoredToken } from '../../../src/core/access/token.ts'
import type { TraceSpan, Tracing } from '../../../src/core/base/tracing.ts'
import type { Call } from '../../../src/core/endpoints/call/call.ts'
import type { SavedEndpoint } from '../../../src/core/endpoints/manage/endpoints.ts'
import { handleError } from '../../../src/core/http/error-response.ts'
import { RequestRecorder } from '../../../src/core/http/request-recorder.ts'
import { admitCaller } from '../../../src/core/http/route-access.ts'
import { SessionCookies } from '../../../src/core/http/session-cookies.ts'
import { EventStreams } from '../../../src/core/http/streams/event-streams.ts'
import { readEntry } from '../../../src/core/intake/entry-batch.ts'
import { followResult } from '../../../src/features/live/follow-result.ts'
import { LiveResults } from '../../../src/features/live/live-results.ts'
import { LiveTail } from '../../../src/features/live/live-tail.ts'
import { addTailRoutes } from '../../../src/features/live/routes.ts'
import { RequestCounts } from '../../../src/features/statistics/metrics.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { type EventReader, openEvents } from '../../support/network/event-reader.ts'

const admin = 'the-token-of-the-admin'
let close = async () => {}
afterEach(() => close())

/** Streams over real connections, without an engine. */
async function openStreams(limits = { maxStreams: 100 }) {
  const clock = manualClock(Date.now())
  const time = manualTime(clock)
  const access = new Access(admin, clock)
  const tail = new LiveTail({ time, maxRingBytes: 8 * 20_000, maxPendingBytes: 64 * 1024 })
  const streams = new EventStreams({ access, time, ...limits })
  const cookies = new SessionCookies({ access, publicUrl: undefined, sessionHours: 1 })
  const lines: Record<string, unknown>[] = []
  const spans: Record<string, unknown>[] = []
  const requests = new RequestCounts()
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const server: FastifyInstance = fastify({
    forceCloseConnections: 'idle',
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
  })
  const endpoints = { find: () => undefined } as never
  const tracing = tracingInto(spans)
  new RequestRecorder({
    log,
    hooks: { tracing },
    endpoints,
    finished: [(status) => requests.add(status)],
    recorded: [],
  }).addTo(server)
  server.setErrorHandler(handleError)
  server.decorateRequest('caller', undefined)
  server.addHook('onRequest', async (request, reply) => {
    request.caller = admitCaller(
      { access, cookies },
      request.routeOptions.config.access ?? 'query',
      request,
      reply,
    )
  })
  server.get('/quiet', { logLevel: 'silent' }, async () => 'here')
  server.get('/never', () => new Promise(() => {}))
  const sources = { get: (name: string) => ({ name }), watch: () => () => true } as never
  addTailRoutes(server, { sources, tail, streams })
  const definition = { id: 'e', name: 'followed', cache_seconds: 60 }
  const endpoint = {
    definition,
    compiled: { possibleSources: new Set<string>() },
  } as unknown as SavedEndpoint
  /** What `/followed` follows: an endpoint that may be gone, and a result that the test controls. */
  const followed = {
    endpoint: endpoint as SavedEndpoint | undefined,
    latest: async () => ({ etag: '"1"', mark: undefined, body: Buffer.from('{}'), truncated: false }),
  }
  const bounds = { arrivals: undefined, maxBytes: 2 ** 20 }
  const results = new LiveResults({
    ...bounds,
    time,
    latest: () => followed.latest(),
    cache: { follow: () => () => {} },
    onFailure: () => {},
  })
  server.get('/followed', (request, reply) => {
    const calls = { follow: (call: Call) => ({ ...call, key: 'k', sources: new Set<string>() }) }
    const endpoints = { withId: () => followed.endpoint }
    const call: Partial<Call> = { endpoint, caller: 'admin', signal: new AbortController().signal }
    const parts = { endpoints, calls, results }
    return followResult({ ...parts, streams }, request, reply, call as Call)
  })
  const base = await server.listen({ host: '127.0.0.1', port: 0 })
  close = async () => {
    streams.stop()
    time.advance(1_000)
    await server.close()
  }
  const put = (token: string, fields: Partial<StoredToken> = {}) =>
    access.put(token, {
      description: '',
      scopes: ['query', 'search'],
      project: 'a',
      parameters: {},
      expires_at: null,
      requests_per_minute: null,
      hash: hashToken(token).toString('hex'),
      created_at: '',
      created_by: null,
      previous: null,
      ...fields,
    })
  const store = (...entries: object[]) => {
    tail.publish(
      'edge_logs',
      entries.map(
        (entry) => (readEntry(JSON.stringify(entry), { nowMs: clock.now() }) as { line: Buffer }).line,
      ),
    )
    time.advance(100)
  }
  const url = `${base}/api/sources/edge_logs/tail`
  const told = () => lines.filter(({ msg }) => msg === 'request').map(({ path, status }) => [path, status])
  const open = (token = admin, query = '', headers = {}) => openEvents(`${url}${query}`, token, headers)
  return {
    base,
    url,
    open,
    put,
    store,
    access,
    streams,
    time,
    server,
    followed,
    results,
    spans,
    requests,
    told,
  }
}

/** Collects the attributes of ended spans. */
function tracingInto(ended: Record<string, unknown>[]): Tracing {
  const span = (about: Record<string, unknown>): TraceSpan => ({
    context: { traceId: 'a', spanId: 'b', flags: 1, state: '' },
    child: () => span({}),
    set: (attributes) => void Object.assign(about, attributes),
    end: () => void ended.push(about),
  })
  return { start: (name) => span({ name }), stop: async () => {} }
}

const nextEntry = async (reader: EventReader) => JSON.parse((await reader.next())?.data ?? 'null')

describe('streams of events', () => {
  test('have the content type of events and must not be cached', async () => {
    const { open, url } = await openStreams()
    const { status, headers } = await open()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store, no-transform')
    expect(headers.get('x-accel-buffering')).toBe('no')
    const head = await fetch(url, { method: 'HEAD', headers: { 'X-API-KEY': admin } })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, headers.get('content-type')])
  })

  test('begin with the retry delay and an event id', async () => {
    const { open, store, time } = await openStreams()
    const one = await open()
    store({ event_message: '1' })
    expect(await nextEntry(one)).toMatchObject({ event_message: '1' })
    expect(one.marks).toEqual(['retry: 2000', expect.stringMatching(/^id: [0-9a-f]{32}$/)])
    store({ event_message: '2' })
    const again = await open(admin, '', { 'Last-Event-ID': one.marks[1]?.slice('id: '.length) })
    expect(await nextEntry(again)).toMatchObject({ event_message: '1' })
    expect(await nextEntry(again)).toMatchObject({ event_message: '2' })
    time.advance(15_000)
    store({ event_message: '3' })
    await again.next()
    expect(again.marks.at(-1)).toMatch(/^: heartbeat\nid: \w+$/)
  })

  test('show a tenant its own project, and refuse a token without access', async () => {
    const { open, put, store } = await openStreams()
    put('tenant')
    put('query', { scopes: ['query', 'ingest'] })
    put('fixed', { parameters: { project_tier: 'FREE' } })
    for (const token of ['query', 'fixed']) expect((await open(token)).status).toBe(403)
    expect((await open('tenant', '?project=b')).status).toBe(403)
    const readers = [
      await open('tenant'),
      await open('tenant', '?project=a'),
      await open(admin, '?project=a'),
    ]
    store({ project: 'b', event_message: 'of another' }, { event_message: 'of none' }, { project: 'a' })
    for (const reader of readers) expect(await nextEntry(reader)).toMatchObject({ project: 'a' })
  })

  test.each(['?query=a&query=b', '?project=a&project=a', `?query=${'x'.repeat(5_001)}`])(
    '%.20s is 400',
    async (query) => {
      const { open } = await openStreams()
      expect((await open(admin, query)).status).toBe(400)
    },
  )

  test('end without another entry when their token is revoked, changed or expired', async () => {
    const { open, put, store, access, time, streams } = await openStreams()
    put('revoked')
    put('changed')
    put('expiring', { expires_at: new Date(time.now() + 60_000).toISOString() })
    const revoked = await open('revoked')
    access.remove('revoked')
    expect(await revoked.next()).toBeUndefined()
    const changed = await open('changed')
    put('changed', { project: 'b' })
    expect(await changed.next()).toBeUndefined()
    const expiring = await open('expiring')
    store({ project: 'a', event_message: 'before' })
    expect(await nextEntry(expiring)).toMatchObject({ event_message: 'before' })
    time.advance(60_000)
    store({ project: 'a', event_message: 'after' })
    expect(await expiring.next()).toBeUndefined()
    await vi.waitFor(() => expect(streams.size).toBe(0))
  })

  test('are limited in number, and an ended one makes room', async () => {
    const { open, streams } = await openStreams({ maxStreams: 2 })
    const [first] = [await open(), await open()]
    const full = await open()
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1'])
    first.close()
    await vi.waitFor(() => expect(streams.size).toBe(1))
    expect((await open()).status).toBe(200)
  })

  test('are shared fairly among tokens', async () => {
    const { open, put, streams, store } = await openStreams({ maxStreams: 6 })
    for (const token of ['greedy', 'other', 'late', 'later']) put(token)
    const greedy = [await open('greedy'), await open('greedy'), await open('greedy'), await open('greedy')]
    const other = [await open('other'), await open('other')]
    // The newest stream of the token with the most streams ends.
    expect((await open('late')).status).toBe(200)
    for (;;) if ((await greedy[3]?.next()) === undefined) break
    expect((await open('late')).status).toBe(200)
    for (;;) if ((await greedy[2]?.next()) === undefined) break
    expect(streams.size).toBe(6)
    // Each token has two streams now, which is its share.
    for (const token of ['late', 'greedy', 'other']) expect((await open(token)).status).toBe(503)
    expect((await open('later')).status).toBe(200)
    expect((await open('later')).status).toBe(503)
    expect(streams.size).toBe(6)
    store({ project: 'a', event_message: 'still here' })
    for (const reader of [greedy[0], other[0]]) {
      expect(await nextEntry(reader as EventReader)).toMatchObject({ event_message: 'still here' })
    }
  })

  test('are shared fairly among the projects of sessions, and their token counts as one', async () => {
    const { open, put, access, streams } = await openStreams({ maxStreams: 4 })
    put('backend', { project: null })
    for (const token of ['other', 'late', 'later']) put(token)
    const session = (project: string) => access.createSession('backend', { minutes: 5, project })?.token
    const [greedy, customer] = [session('a'), session('b')]
    const opened = [await open(greedy), await open(greedy), await open(greedy), await open('other')]
    // The newest stream of the customer with the most ends, and nobody else's.
    expect((await open(customer)).status).toBe(200)
    for (;;) if ((await opened[2]?.next()) === undefined) break
    expect((await open(greedy)).status).toBe(503)
    // However many customers it has, the token gets no more than its share.
    expect((await open('late')).status).toBe(200)
    for (;;) if ((await opened[1]?.next()) === undefined) break
    for (const project of ['c', 'd']) expect((await open(session(project))).status).toBe(503)
    expect(streams.size).toBe(4)
  })

  test('bound the memory of a slow reader, report what it missed, and close it in the end', async () => {
    const { url, store, streams, time } = await openStreams()
    const { hostname, port, pathname } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.write(`GET ${pathname}?project=a HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${admin}\r\n\r\n`)
    await once(socket, 'readable')
    const big = { project: 'a', event_message: 'x'.repeat(500_000) }
    // More than the socket buffers hold.
    for (let i = 0; i < 40; i++) {
      store(big, { project: 'b' })
      await new Promise((resolve) => setImmediate(resolve))
    }
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    await vi.waitFor(() => expect(text).toContain('event: missed'))
    const count = Number(/event: missed\ndata: \{"count":(\d+)\}/.exec(text)?.[1])
    expect(count + text.split('event: entry').length - 1).toBe(40)
    socket.pause()
    for (let i = 0; i < 30; i++) {
      store(big)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (let i = 0; i < 5; i++) time.advance(15_000)
    await vi.waitFor(() => expect(streams.size).toBe(0))
    socket.destroy()
  })

  test('do not follow a result whose endpoint changes or is deleted meanwhile', async () => {
    const { base, followed, results, streams } = await openStreams()
    const { endpoint, latest } = followed
    const open = async (during: () => void) => {
      followed.endpoint = endpoint
      followed.latest = () => {
        during()
        return latest()
      }
      return openEvents(`${base}/followed`, admin)
    }
    const usual = await open(() => {})
    expect(await usual.next()).toMatchObject({ event: 'result', data: '{}' })
    usual.close()
    await vi.waitFor(() => expect([results.size, streams.size]).toEqual([0, 0]))
    const changed = await open(() => {
      followed.endpoint = { ...endpoint } as SavedEndpoint
    })
    expect([changed.status, await changed.next(), changed.marks]).toEqual([200, undefined, ['retry: 2000']])
    const gone = await open(() => {
      followed.endpoint = undefined
    })
    expect(gone.status).toBe(404)
    await vi.waitFor(() => expect([results.size, streams.size]).toEqual([0, 0]))
  })

  test('are logged, counted and traced when they end', async () => {
    const { open, put, access, spans, requests, told } = await openStreams()
    const path = '/api/sources/edge_logs/tail'
    const closed = await open()
    expect(told()).toEqual([])
    closed.close()
    await vi.waitFor(() => expect(told()).toEqual([[path, 200]]))
    put('revoked')
    const ended = await open('revoked')
    access.remove('revoked')
    expect(await ended.next()).toBeUndefined()
    await vi.waitFor(() =>
      expect(told()).toEqual([
        [path, 200],
        [path, 200],
      ]),
    )
    expect((await open('wrong')).status).toBe(401)
    await vi.waitFor(() => expect(told()).toHaveLength(3))
    expect(spans.map((span) => span['http.response.status_code'])).toEqual([200, 200, 401])
    expect(requests.byClass).toMatchObject({ '2xx': 2, '4xx': 1 })
  })

  test('record a request whose client disconnects early once, as 499', async () => {
    const { base, spans, requests, told } = await openStreams()
    const { hostname, port } = new URL(base)
    const socket = connect(Number(port), hostname)
    const request = `GET /never HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${admin}\r\n\r\n`
    socket.write(request, () => socket.destroy())
    await vi.waitFor(() => expect(told()).toEqual([['/never', 499]]))
    expect(spans).toEqual([{ name: 'GET /never', 'http.response.status_code': 499 }])
    expect(requests.byClass).toMatchObject({ '2xx': 0, '4xx': 1 })
  })

  test('create no span for quiet and unknown routes', async () => {
    const { base, spans, requests } = await openStreams()
    const headers = {
      'X-API-KEY': admin,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }
    expect((await fetch(`${base}/quiet`, { headers })).status).toBe(200)
    expect((await fetch(`${base}/v1/traces`, { method: 'POST', headers })).status).toBe(404)
    await vi.waitFor(() => expect(requests.byClass).toMatchObject({ '2xx': 1, '4xx': 1 }))
    expect(spans).toEqual([])
  })

  test('end when the service stops, and no new one begins', async () => {
    const { open, streams, server } = await openStreams()
    const readers = [await open(), await open()]
    streams.stop()
    await server.close()
    for (const reader of readers) expect(await reader.next()).toBeUndefined()
    expect(() => streams.admit({ id: 'admin', project: undefined })).toThrow('stopping')
  })
})
