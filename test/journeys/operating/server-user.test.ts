import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Finding } from '../../../src/cli/kit/finding.ts'
import { runProgram } from '../../../src/cli/program.ts'
import { systemClock } from '../../../src/core/base/clock.ts'
import { neededGrants } from '../../../src/core/engine/grants.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { openServer, remoteCredentials } from '../../support/engines.ts'
import { memoryIo } from '../../support/memory-io.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { openScriptedServer, type Script } from './scripted-server.ts'

/** A server whose user has only the grants that docs/cluster.md lists, behind a proxy that can change its responses. */
let engine: Awaited<ReturnType<typeof openServer>>
let proxy: Awaited<ReturnType<typeof openScriptedServer>>
let service: RunningService
let script: Script

const environment = () => ({
  WELLHEAD_CLICKHOUSE_URL: proxy.url,
  WELLHEAD_CLICKHOUSE_USER: remoteCredentials.user,
  WELLHEAD_CLICKHOUSE_PASSWORD: remoteCredentials.password,
})

beforeAll(async () => {
  script = () => undefined
  engine = await openServer({ grants: neededGrants('wellhead', undefined) })
  proxy = await openScriptedServer((...given) => script(...given), { behind: engine.url })
  service = await openService({ environment: { ...environment(), WELLHEAD_STATISTICS: 'on' } })
})
afterAll(async () => {
  await service?.close()
  proxy?.close()
  await engine?.close()
})
beforeEach(() => {
  script = () => undefined
})

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const soon = (assertion: () => Promise<void>) => vi.waitFor(assertion, { interval: 100 })
const readiness = async () => {
  const response = await fetch(`${service.url}/ready`)
  return { status: response.status, body: await response.json() }
}

async function doctor(more: Record<string, string> = {}) {
  const directory = scratchDirectory()
  const io = memoryIo({
    clock: systemClock,
    environment: { ...environment(), WELLHEAD_DATA_DIR: directory.path, WELLHEAD_PORT: '0', ...more },
  })
  await runProgram(['doctor', '--json'], io)
  directory.remove()
  expect(io.stdout.text()).not.toContain(remoteCredentials.password)
  const { checks } = JSON.parse(io.stdout.text()) as { checks: Finding[] }
  return (name: string) => checks.filter((check) => check.name === name)
}

test('the service does everything with the grants that the documentation lists', async () => {
  const typed = (name: string) => ({ name, path: `request.${name}`, type: 'text', searched: true })
  expect((await admin('POST', '/api/sources', { name: 'orders', columns: [typed('path')] })).status).toBe(201)
  expect(
    (
      await admin('POST', '/api/logs?source=orders', [
        { project: 'demo', request: { path: '/a', host: 'h' } },
      ])
    ).body.accepted,
  ).toBe(1)
  const change = { columns: [typed('host')], retention_days: 3 }
  expect((await admin('PATCH', '/api/sources/orders?breaking=true', change)).status).toBe(200)
  const query = 'SELECT metadata.request.host AS host FROM orders'
  await admin('POST', '/api/endpoints', { published: true, name: 'orders.hosts', query })
  expect((await admin('GET', '/api/endpoints/query/orders.hosts')).body.result).toEqual([{ host: 'h' }])
  for (const path of [
    '/api/sources',
    '/api/sources/orders',
    '/api/sources/orders/recent',
    '/api/sources/orders/schema',
  ]) {
    expect([path, (await admin('GET', path)).status]).toEqual([path, 200])
  }
  const { token } = await makeToken(service, { scopes: ['query'], project: 'demo' })
  expect((await ask(service, token, 'GET', '/api/endpoints/query/orders.hosts')).status).toBe(200)
  expect((await admin('DELETE', '/api/endpoints/orders.hosts')).status).toBe(204)
  expect((await admin('DELETE', '/api/sources/orders?confirm=orders')).status).toBe(204)
})

test('doctor finds nothing to complain about', async () => {
  const find = await doctor()
  for (const name of ['server', 'server clock', 'isolation']) {
    expect(find(name)).toMatchObject([{ name, status: 'ok' }])
  }
  expect(find('server')[0]?.message).toMatch(/: ClickHouse \d/)
  expect(find('server disk').length).toBeGreaterThan(0)
  expect(find('server user')[0]?.message).toMatch(
    new RegExp(`^${remoteCredentials.user} has the ${neededGrants('wellhead', undefined).length} grants`),
  )
})

test('doctor reports what a start would refuse, a full disk and a wrong clock', async () => {
  script = (sql) => (sql.startsWith('CHECK GRANT') ? '0\n' : undefined)
  const advice = expect.stringContaining(`GRANT SELECT ON system.disks TO ${remoteCredentials.user}`)
  expect((await doctor())('server')).toMatchObject([{ status: 'problem', advice }])
  expect((await doctor({ WELLHEAD_CLICKHOUSE_CLUSTER: 'other' }))('server')).toMatchObject([
    { status: 'problem' },
  ])

  script = (sql) => {
    if (sql.includes('FROM system.disks')) return '{"name":"default","free":1000,"total":1000000000}\n'
    if (sql.includes('Milli(now64')) return '{"ms":"1000"}\n'
    return undefined
  }
  const find = await doctor()
  expect(find('server disk')).toMatchObject([{ status: 'problem' }])
  expect(find('server clock')).toMatchObject([{ status: 'problem' }])
})

test('a service that loses its password or a grant is not ready and says why, until it is repaired', async () => {
  const wrongPassword =
    'reader: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)'
  const noGrant =
    "reader: Not enough privileges. To execute this query, it's necessary to have the grant SELECT ON wellhead._catalog. (ACCESS_DENIED)"
  const refusals: [Script, string][] = [
    [
      (sql) => (sql === '' ? undefined : { code: 516, text: wrongPassword }),
      'ClickHouse refuses the service: AUTHENTICATION_FAILED.',
    ],
    [
      (sql) => {
        if (sql.startsWith('CHECK GRANT')) return '0\n'
        return /_catalog/.test(sql) ? { code: 497, text: noGrant } : undefined
      },
      'The ClickHouse user lacks a grant.',
    ],
  ]
  for (const [refusal, reason] of refusals) {
    script = refusal
    await soon(async () => expect(await readiness()).toEqual({ status: 503, body: { ready: false, reason } }))
    script = () => undefined
    await soon(async () => expect(await readiness()).toEqual({ status: 200, body: { ready: true } }))
  }
})

test('a full disk refuses entries, while requests are served', async () => {
  script = (sql) =>
    sql.startsWith('INSERT')
      ? { code: 243, text: 'Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)' }
      : undefined
  const refused = await admin('POST', '/api/logs?source=edge_logs', [{ project: 'demo' }])
  expect([refused.status, refused.body.error.code]).toEqual([507, 'disk_full'])
  expect((await readiness()).status).toBe(200)
  const path = '/api/endpoints/query/functions.invocation-stats?project=demo&interval=1hr'
  expect((await admin('GET', path)).status).toBe(200)
})

test('a database with tables of another program stops the first start', async () => {
  const run = (sql: string) => service.engine.command({ sql }, { deadlineMs: 60_000 })
  await run('CREATE TABLE wellhead.visits (at DateTime) ENGINE = MergeTree ORDER BY at')
  await run('DROP TABLE wellhead._migrations')
  await expect(openService({ environment: environment() })).rejects.toThrow(
    'The database wellhead has tables of another program. Choose another with WELLHEAD_CLICKHOUSE_DATABASE.',
  )
})
