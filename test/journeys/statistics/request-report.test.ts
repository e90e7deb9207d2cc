import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ServiceClient } from '../../../src/cli/kit/service-client.ts'
import { runDemo } from '../../../src/features/demo/run-demo.ts'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { memoryIo } from '../../support/memory-io.ts'
import { openService, type RunningService } from '../../support/service.ts'

let service: RunningService
let blue: MadeToken
let green: MadeToken
const query = '/api/endpoints/query'
const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(service, service.adminToken.token, method, path, body, headers)
const save = async (name: string, fields: object) =>
  expect((await admin('POST', '/api/endpoints', { published: true, name, ...fields })).status).toBe(201)
/** The report with everything that was requested so far. */
const report = async (path = '', token = service.adminToken.token) => {
  await service.statistics?.flush()
  const fresh = { 'Cache-Control': 'no-cache' }
  const { status, body } = await ask(service, token, 'GET', `/api/requests${path}`, undefined, fresh)
  expect([path, status, body]).toEqual([path, 200, expect.anything()])
  return body
}
const sum = (counted: { requests: number }[]) => counted.reduce((total, { requests }) => total + requests, 0)

beforeAll(async () => {
  service = await openService({ environment: { WELLHEAD_STATISTICS: 'on' } })
  blue = await makeToken(service, { scopes: ['query'], project: 'blue', description: 'the blue one' })
  green = await makeToken(service, { scopes: ['query'], project: 'green' })
})
afterAll(() => service?.close())

describe('statistics of requests', () => {
  test('count requests by time, endpoint, caller and error code', async () => {
    await save('report.numbers', {
      query: 'SELECT @n AS n',
      parameters: { n: { type: 'integer' } },
      cache_seconds: 600,
    })
    for (let i = 0; i < 3; i++) await ask(service, blue.token, 'GET', `${query}/report.numbers?n=1`)
    await admin('GET', `${query}/report.numbers?n=2`)
    await admin('GET', `${query}/report.numbers?n=two`)

    const { buckets, totals, endpoints, callers, codes, ...rest } = await report('?endpoint=report.numbers')
    expect(rest).toEqual({ interval: '1hr', bucket_seconds: 60 })
    const figures = { requests: 5, errors: 1, hits: 2 }
    expect(totals).toMatchObject(figures)
    expect(totals.p50_ms).toBeGreaterThan(0)
    expect(totals.p95_ms).toBeGreaterThanOrEqual(totals.p50_ms)
    expect(totals.p99_ms).toBeGreaterThanOrEqual(totals.p95_ms)
    expect(buckets).toHaveLength(61)
    expect(sum(buckets)).toBe(5)
    expect(buckets[0]).toMatchObject({ requests: 0, errors: 0, hits: 0, p50_ms: null })
    expect(new Set(buckets.map(({ timestamp }: { timestamp: number }) => timestamp % 60_000_000))).toEqual(
      new Set([0]),
    )
    expect(endpoints).toEqual([{ endpoint: 'report.numbers', ...figures, p95_ms: totals.p95_ms }])
    const once = { p95_ms: expect.any(Number), last_at: expect.stringMatching(/Z$/) }
    expect(callers).toEqual([
      { token_id: blue.id, description: 'the blue one', requests: 3, errors: 0, ...once },
      { token_id: 'admin', description: null, requests: 2, errors: 1, ...once },
    ])
    const failed = { code: 'invalid_parameter', status: 400, endpoint: 'report.numbers', requests: 1 }
    expect(codes).toEqual([{ ...failed, last_at: once.last_at }])
    expect((await report(`?endpoint=report.numbers&token=${blue.id}`)).totals).toMatchObject({
      requests: 3,
      errors: 0,
    })
    for (const [interval, length] of Object.entries({ '5min': 31, '1day': 97, '7day': 85, '30day': 121 })) {
      const other = await report(`?endpoint=report.numbers&interval=${interval}`)
      expect([interval, other.totals.requests, other.buckets.length]).toEqual([interval, 5, length])
      expect(sum(other.buckets)).toBe(5)
    }
  })

  test('show a tenant its own project only', async () => {
    await save('report.tenants', { query: 'SELECT @n AS n', parameters: { n: { type: 'integer' } } })
    await save('report.green', { query: 'SELECT 1 AS n' })
    await ask(service, blue.token, 'GET', `${query}/report.tenants?n=1`)
    await ask(service, green.token, 'GET', `${query}/report.tenants?n=two`)
    await ask(service, green.token, 'GET', `${query}/report.green`)
    const own = await report('', blue.token)
    const text = JSON.stringify(own)
    expect(text).toContain('report.tenants')
    for (const foreign of [green.id, 'report.green', 'admin']) expect(text).not.toContain(foreign)
    expect(
      own.callers.map(({ token_id, description }: Record<string, unknown>) => [token_id, description]),
    ).toEqual([[blue.id, null]])
    const tenants = await report('?endpoint=report.tenants', blue.token)
    expect(tenants).toMatchObject({ totals: { requests: 1, errors: 0 }, codes: [] })
    expect((await report(`?token=${green.id}`, blue.token)).totals.requests).toBe(0)
    expect((await report('?endpoint=report.tenants', green.token)).codes).toMatchObject([
      { code: 'invalid_parameter', requests: 1 },
    ])
  })

  test('show a token for some endpoints those endpoints only', async () => {
    await save('report.allowed', { query: 'SELECT 1 AS n' })
    await save('report.hidden', { query: 'SELECT 1 AS n' })
    for (const name of ['report.allowed', 'report.hidden']) await admin('GET', `${query}/${name}`)
    const narrow = await makeToken(service, { scopes: ['query:report.allowed'] })
    const seen = await report('', narrow.token)
    expect(seen.endpoints).toMatchObject([{ endpoint: 'report.allowed', requests: 1 }])
    expect(seen.totals.requests).toBe(1)
    for (const name of ['report.hidden', 'report.never-existed']) {
      const refused = await ask(service, narrow.token, 'GET', `/api/requests?endpoint=${name}`)
      expect([refused.status, refused.body.error.message]).toEqual([
        403,
        'This token is not allowed to call this endpoint.',
      ])
    }
    const nothing = await makeToken(service, { scopes: ['query:report.never-existed'] })
    expect((await report('', nothing.token)).totals).toMatchObject({ requests: 0, p95_ms: null })
    const sender = await makeToken(service, { scopes: ['ingest'] })
    expect((await ask(service, sender.token, 'GET', '/api/requests')).status).toBe(403)
  })

  test('name endpoints that read the audit for admins only', async () => {
    await save('report.audit', {
      query: 'SELECT @n AS n FROM audit_events LIMIT 1',
      parameters: { n: { type: 'integer' } },
    })
    await admin('GET', `${query}/report.audit?n=1`)
    await admin('GET', `${query}/report.audit?n=two`)
    const reader = await makeToken(service, { scopes: ['read'] })
    const fresh = { 'Cache-Control': 'no-cache' }
    const slow = (token: string) => ask(service, token, 'GET', '/api/slow', undefined, fresh)
    for (const token of [service.adminToken.token, reader.token]) {
      const { endpoints, codes } = await report('', token)
      for (const list of [endpoints, codes, (await slow(token)).body]) {
        const isNamed = list.some(({ endpoint }: { endpoint: string }) => endpoint === 'report.audit')
        expect(isNamed).toBe(token !== reader.token)
      }
    }
  })

  test("leave out the service's own endpoints unless one is named", async () => {
    await admin('GET', `${query}/wellhead.top-callers`)
    const names = (await report()).endpoints.map(({ endpoint }: { endpoint: string }) => endpoint)
    expect(names.filter((name: string) => name.startsWith('wellhead.'))).toEqual([])
    expect((await report('?endpoint=wellhead.top-callers')).totals.requests).toBe(1)
  })

  test('need no shipped endpoint', async () => {
    expect((await admin('DELETE', '/api/endpoints/wellhead.endpoint-stats')).status).toBe(204)
    expect((await report()).interval).toBe('1hr')
  })

  test('refuse what they do not know', async () => {
    const refusals = [
      ['?interval=2hr', 400, 'interval must be one of 5min, 1hr, 1day, 7day, 30day.'],
      [`?token=${'x'.repeat(201)}`, 400, 'token must have at most 200 characters.'],
      ['?endpoint=nobody.knows', 404, 'No endpoint has the id or name "nobody.knows".'],
    ]
    for (const [path, status, message] of refusals) {
      const { status: got, body } = await admin('GET', `/api/requests${path}`)
      expect([got, body.error.message]).toEqual([status, message])
    }
    expect((await report("?token=' OR 1=1 --")).totals.requests).toBe(0)
  })
})

describe('slow and failed requests', () => {
  test('are listed for all endpoints, the slowest first', async () => {
    await save('slow.two', { query: 'SELECT @n AS n', parameters: { n: { type: 'integer' } } })
    await admin('GET', `${query}/slow.two?n=1`)
    await admin('GET', `${query}/slow.two?n=two`)
    await service.statistics?.flush()
    const { body } = await admin('GET', '/api/slow', undefined, { 'Cache-Control': 'no-cache' })
    const own = body.filter(({ endpoint }: { endpoint: string }) => endpoint === 'slow.two')
    expect(own.map(({ status, code }: Record<string, unknown>) => [status, code])).toEqual(
      expect.arrayContaining([
        [200, null],
        [400, 'invalid_parameter'],
      ]),
    )
    const durations = body.map(({ duration_ms }: { duration_ms: number }) => duration_ms)
    expect(durations).toEqual(durations.toSorted((one: number, other: number) => other - one))
    expect(durations.length).toBeLessThanOrEqual(60)
    expect((await ask(service, blue.token, 'GET', '/api/slow')).status).toBe(403)
  })

  test('are listed if the engine was busy with them, also if they were refused', async () => {
    const parameters = { pattern: { type: 'regex' }, n: { type: 'integer' } }
    await save('slow.refused', { query: "SELECT match('x', @pattern) AS hit, @n AS n", parameters })
    expect((await admin('GET', `${query}/slow.refused?pattern=(&n=1`)).status).toBe(400)
    // The last 20 that were refused are others.
    for (let n = 0; n < 21; n++) await admin('GET', `${query}/slow.refused?pattern=x&n=no`)
    await service.statistics?.flush()
    const { body } = await admin('GET', '/api/endpoints/slow.refused/slow')
    const busy = body.filter(({ engine_ms }: { engine_ms: number }) => engine_ms > 0)
    expect(busy.map(({ status }: { status: number }) => status)).toEqual([400])
    expect(body).toHaveLength(21)
  })
})

test('the demo requests endpoints as customers would, until it is stopped', async () => {
  const customers = async () => {
    const { callers } = await report()
    return sum(
      callers.filter(({ description }: { description: string | null }) => /^Demo/.test(description ?? '')),
    )
  }
  const demo = () => {
    const stop = new AbortController()
    const { url, adminToken } = service
    const client = new ServiceClient({ url, token: adminToken.token }, memoryIo({ signal: stop.signal }))
    const ignore = () => {}
    const options = { client, now: Date.now, historyMs: 60_000, countUsageAt: ignore, onFilled: ignore }
    const running = runDemo({ ...options, signal: stop.signal })
    return () => {
      stop.abort()
      return running
    }
  }
  const tokens = async () => {
    const { body } = await admin('GET', '/api/access-tokens')
    return body.filter(({ description }: { description: string }) => description.startsWith('Demo'))
  }
  // Stopped while it asks how far the history reaches.
  await demo()()
  // Every report is computed.
  const soon = { timeout: 30_000, interval: 500 }
  let stop = demo()
  await vi.waitFor(async () => expect(await customers()).toBeGreaterThan(2), soon)
  await stop()
  // Continues with the same tokens, whose secrets it has to replace.
  stop = demo()
  const replaced = expect.objectContaining({ previous_valid_until: expect.any(String) })
  await vi.waitFor(async () => expect(await tokens()).toEqual([replaced, replaced, replaced]), soon)
  const made = await customers()
  await vi.waitFor(async () => expect(await customers()).toBeGreaterThan(made), soon)
  await stop()
})
