import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'
import { describeSharedProxy } from './shared-proxy.ts'

let service: RunningService
const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const save = async (name: string, fields: object) => {
  const made = await admin('POST', '/api/endpoints', { published: true, name, ...fields })
  expect([name, made.status]).toEqual([name, 201])
}
const call = async (path: string, token = service.adminToken.token) => {
  const { status, headers } = await ask(service, token, 'GET', `/api/endpoints/query/${path}`)
  expect([path, status]).toEqual([path, 200])
  return headers.get('cache-status') ?? ''
}
const cached = async (name: string) => (await admin('GET', `/api/endpoints/${name}/cache`)).body

sharedService((shared) => {
  service = shared
})

describe('the cached results of an endpoint', () => {
  const numbers = { query: 'SELECT @n AS n', parameters: { n: { type: 'integer' } } }

  test('are listed with their requests, the most used first', async () => {
    await save('listed', { ...numbers, cache_seconds: 600, warm_seconds: 300 })
    const tenant = await makeToken(service, { scopes: ['query'], project: 'blue' })
    await call('listed?n=1')
    for (let i = 0; i < 3; i++) await call('listed?n=2&unknown=secret&_format=csv', tenant.token)
    const { results, ...rest } = await cached('listed')
    expect(rest).toEqual({ cache_seconds: 600, warm_seconds: 300, total: 2 })
    const common = { rows: 1, version: 1, state: 'fresh', warm: true, failure: null }
    expect(results).toMatchObject([
      { parameters: { n: '2' }, project: 'blue', format: 'csv', uses: 3, ...common },
      { parameters: { n: '1' }, project: null, format: 'json', uses: 1, ...common },
    ])
    expect(JSON.stringify(results)).not.toContain('secret')
    for (const {
      key,
      age_seconds,
      expires_in_seconds,
      refresh_in_seconds,
      last_used_seconds,
      bytes,
    } of results) {
      expect(key).toMatch(/^[0-9a-f]{12}$/)
      expect(age_seconds + expires_in_seconds).toBeGreaterThanOrEqual(599)
      expect(refresh_in_seconds).toBeLessThanOrEqual(300)
      expect(last_used_seconds).toBeLessThanOrEqual(age_seconds)
      expect(bytes).toBeGreaterThan(0)
    }
    expect((await ask(service, tenant.token, 'GET', '/api/endpoints/listed/cache')).status).toBe(403)
  })

  test('are dropped on request', async () => {
    await save('dropped', { ...numbers, cache_seconds: 600 })
    await save('kept', { ...numbers, cache_seconds: 600 })
    for (const name of ['dropped', 'kept']) await call(`${name}?n=1`)
    expect(await call('dropped?n=1')).toContain('hit')
    expect((await admin('DELETE', '/api/endpoints/dropped/cache')).status).toBe(204)
    expect(await cached('dropped')).toMatchObject({ total: 0, results: [] })
    expect((await cached('kept')).total).toBe(1)
    expect(await call('dropped?n=1')).toContain('fwd=')
    expect((await admin('DELETE', '/api/endpoints/nobody/cache')).status).toBe(404)
  })

  test('stay when the endpoint is only shown, named or published differently', async () => {
    await save('shown', { ...numbers, cache_seconds: 600, warm_seconds: 300 })
    await call('shown?n=1')
    const change = (fields: object, name = 'shown') =>
      admin('PATCH', `/api/endpoints/${name}?breaking=true`, fields)
    const chart = { type: 'lines', x: null, y: ['n'], series: null }
    const { status, body } = await change({ chart, description: 'Numbers.' })
    expect([status, body.version, body.chart]).toEqual([200, 2, chart])
    expect(await call('shown?n=1')).toContain('hit')
    expect((await change({ published: false })).status).toBe(200)
    expect((await change({ name: 'shown.again' })).body.version).toBe(4)
    expect(await call('shown.again?n=1')).toContain('hit')
    expect((await admin('GET', '/api/endpoints/query/shown?n=1')).status).toBe(404)
    // A replay finds the requests of the versions before.
    const replay = await admin('POST', '/api/endpoints/shown.again/replay', { endpoint: {} })
    expect(replay.body.requests).toMatchObject([{ outcome: 'same' }])
    await change({ query: 'SELECT @n + 1 AS n' }, 'shown.again')
    expect(await call('shown.again?n=1')).toContain('fwd=miss')
  })

  test('are none without a cache', async () => {
    await save('uncached', numbers)
    await call('uncached?n=1')
    expect(await cached('uncached')).toEqual({
      cache_seconds: null,
      warm_seconds: null,
      total: 0,
      results: [],
    })
  })
})

describe('GET /api/usage', () => {
  test('counts entries of each source over an interval, and results in the cache', async () => {
    const now = Date.now()
    const at = (hours: number) => new Date(now - hours * 3_600_000).toISOString()
    const entries = [0.1, 5, 50].map((hours) => ({ event_message: 'x', timestamp: at(hours) }))
    expect((await admin('POST', '/api/logs?source=postgrest_logs', entries)).status).toBe(200)
    for (const [interval, length, seconds, total] of [
      ['1hr', 60, 60, 1],
      ['1day', 96, 900, 2],
      ['7day', 84, 7200, 3],
    ]) {
      const { status, body } = await admin('GET', `/api/usage?interval=${interval}`)
      expect(status).toBe(200)
      const { bucket_seconds, buckets } = body.entries
      expect([interval, bucket_seconds, buckets.length]).toEqual([interval, seconds, length])
      const counts = buckets.map(
        (bucket: { counts: Record<string, number> }) => bucket.counts.postgrest_logs ?? 0,
      )
      expect([interval, counts.reduce((sum: number, n: number) => sum + n, 0)]).toEqual([interval, total])
      expect(
        body.sources.find(({ name }: { name: string }) => name === 'postgrest_logs').per_minute,
      ).toHaveLength(60)
      expect(body.cache).toMatchObject({ max_bytes: expect.any(Number), hits: expect.any(Number) })
      expect(body.cache.bytes).toBeLessThanOrEqual(body.cache.max_bytes)
    }
    const { paths } = (await admin('GET', '/openapi.json')).body
    expect(paths['/api/usage'].get.description).toContain('by their timestamps')
    const refused = await admin('GET', '/api/usage?interval=1year')
    expect([refused.status, refused.body.error.parameter]).toEqual([400, 'interval'])
  })
})

describeSharedProxy(() => service)
