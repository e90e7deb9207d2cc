import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { openService, type RunningService } from '../../support/service.ts'

/** An engine that is killed, and a service that starts again. */
const now = Date.UTC(2026, 10, 14, 12, 30, 15)
const time = manualTime(manualClock(now))
const path = '/api/endpoints/query/usage.api-counts?project=abc&interval=daily'
let service: RunningService

const get = (of: string) => ask(service, service.adminToken.token, 'GET', of)
const post = (to: string, body: unknown) => ask(service, service.adminToken.token, 'POST', to, body)
const enginePid = () => (service.engine as unknown as { pid: number | undefined }).pid
let killed: number | undefined

function killEngine(): void {
  killed = enginePid()
  expect(killed).toBeGreaterThan(0)
  process.kill(killed as number, 'SIGKILL')
}

/** An engine that was killed starts again. It may take a while to end. */
const isReady = () =>
  vi.waitFor(async () => {
    expect(enginePid()).not.toBe(killed)
    expect((await get('/ready')).status).toBe(200)
  })

/** Waits until the engine runs the only query that has the word. */
const runsOf = (word: string) =>
  vi.waitFor(async () => {
    const sql = `SELECT count() FROM system.processes WHERE query LIKE '%${word}%' AND query NOT LIKE '%system.%' AND read_rows > 0`
    const { body } = await service.engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })
    expect(body.toString().trim()).toBe('1')
  })

beforeAll(async () => {
  service = await openService({
    time,
    engine: 'embedded',
    environment: { LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' },
  })
  const request = { url: 'https://abc.example.com/rest/v1', path: '/rest/v1' }
  const timestamp = new Date(now - 60_000).toISOString()
  await post('/api/logs?source=edge_logs', [{ project: 'abc', timestamp, metadata: { request } }])
})
afterAll(() => service?.close())

test('cached results are served while the engine is down', async () => {
  const before = await get(path)
  expect(before.body.result).not.toEqual([])
  killEngine()
  const seen = new Set<string>()
  for (const step of [0, 200_000, 200_000, 400_000, 200_000]) {
    time.advance(step)
    const during = await Promise.all(Array.from({ length: 20 }, () => get(path)))
    for (const { status, body, headers } of during) {
      expect([status, body]).toEqual([200, before.body])
      seen.add(headers.get('cache-status')?.replace(/ttl=-?\d+/, 'ttl') ?? '')
    }
  }
  expect([...seen]).toContain('Wellhead; hit; ttl')
})

test('a caller whose SQL stopped the engine twice is refused, others are not, and of Studio only that SQL', async () => {
  await isReady()
  const harmless = 'SELECT number FROM own LIMIT 1'
  const query = `WITH own AS (SELECT number FROM numbers(1000000000000)) ${harmless}`
  const scopes = { scopes: ['query'] }
  const [attacker, other] = [await makeToken(service, scopes), await makeToken(service, scopes)]
  const send = async (token: string, sql: string) => {
    const path = `/api/endpoints/query/own.sql?sql=${encodeURIComponent(sql)}`
    const { status, body } = await ask(service, token, 'GET', path)
    return [status, body.error?.code]
  }
  expect((await post('/api/endpoints', { name: 'own.sql', query, sandbox: true })).status).toBe(201)
  const studio = async (sql: string) => {
    const path = `/logflare/api/endpoints/query/logs?project=abc&sql=${encodeURIComponent(sql)}`
    // The gateway reports errors with status 200, as Logflare does.
    return JSON.stringify((await ask(service, 'private', 'GET', path)).body)
  }
  const endless = 'select sum(cityHash64(number)) as studious from numbers(1000000000000)'
  for (let crash = 0; crash < 2; crash++) {
    expect(await send(attacker.token, harmless)).toEqual([200, undefined])
    expect(await studio('select 1 as n')).toBe('{"result":[{"n":1}]}')
    const crashed = send(attacker.token, 'SELECT sum(sipHash64(number)) AS stubborn FROM own')
    const crashedToo = studio(endless)
    await runsOf('stubborn')
    await runsOf('studious')
    killEngine()
    // The query is tried again if the next engine is ready soon enough, and then it is refused.
    expect([503, 429]).toContain((await crashed)[0])
    expect(await crashedToo).toContain('"error"')
    await isReady()
  }
  expect(await send(attacker.token, harmless)).toEqual([429, 'rate_limited'])
  expect(await send(other.token, harmless)).toEqual([200, undefined])
  // Many people use Studio's token.
  expect(await studio(endless)).toContain('This query stopped the engine')
  expect(await studio('select 2 as n')).toBe('{"result":[{"n":2}]}')
})

test('an endpoint is refused with the values that stopped the engine three times within a minute', async () => {
  await isReady()
  const query =
    "SELECT sum(sipHash64(number)) AS fatal, @now AS at FROM numbers(if(@n = '1', 1000000000000, 1))"
  expect((await post('/api/endpoints', { name: 'cached.fatal', query })).status).toBe(201)
  const call = (n: number) => get(`/api/endpoints/query/cached.fatal?n=${n}`)
  for (let crash = 0; crash < 3; crash++) {
    expect((await call(2)).status).toBe(200)
    const crashed = call(1)
    await runsOf('fatal')
    killEngine()
    expect((await crashed).body.error.code).toBe('engine_unavailable')
    await isReady()
    time.advance(1_000)
  }
  expect((await call(1)).body.error.message).toMatch(/stopped the engine/)
  expect((await call(2)).status).toBe(200)
})

test('results that were warm before a restart are warm after it', async () => {
  const { dataDir, adminToken } = service
  await isReady()
  expect((await get(path)).status).toBe(200)
  await service.stop()
  const again = await openService({ time, dataDir, engine: 'embedded' })
  const call = () =>
    ask(again, adminToken.token, 'GET', path, undefined, { 'Cache-Control': 'only-if-cached' })
  await vi.waitFor(async () => expect((await call()).status).toBe(200))
  await again.stop()
})
