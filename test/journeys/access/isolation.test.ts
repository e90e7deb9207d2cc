import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { remoteCredentials } from '../../support/engines.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { dropDatabase, newDatabase, ownServer, type SharedServer } from '../../support/worker-server.ts'
import { openAlteredServer } from './altered-server.ts'

let server: SharedServer
let altered: Awaited<ReturnType<typeof openAlteredServer>>
let service: RunningService
let tenant: MadeToken
let session: MadeToken
let reader: MadeToken

const leaky = { ignores: 'additional_table_filters' }
const query = '/api/endpoints/query'
const sandboxed = `${query}/barrier.sandbox?sql=${encodeURIComponent('SELECT id FROM mine')}`

beforeAll(async () => {
  server = await newDatabase(await ownServer())
  altered = await openAlteredServer(server.url, { version: '30.1.1.1', ...leaky })
  service = await openService({
    environment: {
      WELLHEAD_CLICKHOUSE_URL: altered.url,
      WELLHEAD_CLICKHOUSE_DATABASE: server.database,
      WELLHEAD_CLICKHOUSE_USER: remoteCredentials.user,
      WELLHEAD_CLICKHOUSE_PASSWORD: remoteCredentials.password,
    },
  })
  tenant = await makeToken(service, { scopes: ['query', 'search', 'ingest'], project: 'one' })
  session = (await admin('POST', `/api/access-tokens/${tenant.id}/session`, {})).body
  reader = await makeToken(service, { scopes: ['query'] })
  const definitions = [
    { name: 'barrier.ids', query: 'SELECT id FROM edge_logs ORDER BY id', cache_seconds: 3600 },
    {
      name: 'barrier.sandbox',
      query: 'WITH mine AS (SELECT id FROM edge_logs) SELECT id FROM mine',
      sandbox: true,
      cache_seconds: 3600,
    },
  ]
  for (const definition of definitions) {
    expect((await admin('POST', '/api/endpoints', { published: true, ...definition })).status).toBe(201)
  }
  const entries = ['one', 'two'].map((project) => ({ project, id: project, event_message: project }))
  expect((await admin('POST', '/api/logs?source=edge_logs', entries)).body.accepted).toBe(2)
})
afterAll(async () => {
  await service?.close()
  await altered?.stop()
  if (server) await dropDatabase(server)
})

const as = (token: string) => (method: string, path: string, body?: unknown) =>
  ask(service, token, method, path, body)
const admin = (method: string, path: string, body?: unknown) =>
  as(service.adminToken.token)(method, path, body)

/** Replaces the server by another version. */
async function upgrade(to: { version: string; ignores?: string }): Promise<void> {
  const status = async () => (await fetch(`${service.url}/ready`)).status
  const soon = { timeout: 60_000, interval: 50 }
  await altered.stop()
  await vi.waitFor(async () => expect(await status()).toBe(503), soon)
  await altered.startAs(to)
  await vi.waitFor(async () => expect(await status()).toBe(200), soon)
}

const refused = (path: string) =>
  expect.objectContaining({
    path,
    status: 503,
    error: expect.objectContaining({
      code: 'isolation_unverified',
      message: expect.stringMatching(/Rows of other tenants show in a plain query, .* Upgrade ClickHouse/s),
    }),
  })

const tenantRequests: [method: string, path: string, body?: unknown][] = [
  ['GET', `${query}/barrier.ids`],
  ['POST', `${query}/barrier.ids`, {}],
  ['GET', `${query}/barrier.ids?_format=csv`],
  ['GET', sandboxed],
  ['POST', '/api/sources/edge_logs/search', {}],
  ['POST', '/api/sources/edge_logs/values', { path: 'project' }],
  ['GET', '/api/sources/edge_logs/tail'],
  ['GET', '/api/sources/edge_logs/entries/two'],
  ['GET', '/api/requests'],
  ['GET', '/api/whoami'],
]

async function answersTo(token: string) {
  return Promise.all(
    tenantRequests.map(async ([method, path, body]) => {
      const response = await as(token)(method, path, body)
      return { path, status: response.status, error: response.body.error }
    }),
  )
}

test('while the server leaks, tenants and their sessions are refused, but can send entries', async () => {
  const expected = tenantRequests.map(([, path]) => refused(path))
  expect(await answersTo(tenant.token)).toEqual(expected)
  expect(await answersTo(session.token)).toEqual(expected)
  const live = await openEvents(`${service.url}${query}/barrier.ids`, tenant.token)
  expect(live.status).toBe(503)
  const tools = await as(tenant.token)('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  expect(tools.status).toBe(503)
  const sent = await as(tenant.token)('POST', '/api/logs?source=auth_logs', [{ event_message: 'sent' }])
  expect(sent.body).toMatchObject({ accepted: 1 })
})

test('meanwhile admins and tokens without a project are served, but not SQL that callers send', async () => {
  for (const token of [service.adminToken.token, reader.token]) {
    const { body } = await as(token)('GET', `${query}/barrier.ids`)
    expect(body.result).toEqual([{ id: 'one' }, { id: 'two' }])
    expect((await as(token)('GET', `${query}/barrier.sandbox`)).status).toBe(200)
    const { status, body: refusal } = await as(token)('GET', sandboxed)
    expect({ path: sandboxed, status, error: refusal.error }).toEqual(refused(sandboxed))
  }
  expect((await admin('POST', '/api/sources/edge_logs/search', {})).body).toHaveLength(2)
})

test('/ready and the status say why', async () => {
  const ready = await fetch(`${service.url}/ready`)
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { ready: true, reason: expect.stringContaining('Rows of other tenants show in a plain query') },
  ])
  expect((await admin('GET', '/api/status')).body.engine).toMatchObject({
    ready: true,
    version: '30.1.1.1',
    leak: expect.stringContaining('Rows of other tenants show in'),
  })
})

test('tenants are served once the server is mended, and refused again after an upgrade that leaks, even from the cache', async () => {
  await upgrade({ version: '30.1.1.2' })
  expect(await (await fetch(`${service.url}/ready`)).json()).toEqual({ ready: true })
  const own = async (path: string) => (await as(tenant.token)('GET', path)).body.result
  // The third is served before the framework.
  for (let i = 0; i < 3; i++) expect(await own(`${query}/barrier.ids`)).toEqual([{ id: 'one' }])
  expect(await own(sandboxed)).toEqual([{ id: 'one' }])
  for (let i = 0; i < 3; i++) expect((await as(reader.token)('GET', sandboxed)).status).toBe(200)
  const live = await openEvents(`${service.url}${query}/barrier.ids`, tenant.token)
  expect((await live.next())?.event).toBe('result')
  live.close()

  await upgrade({ version: '30.2.1.1', ...leaky })
  expect(await answersTo(tenant.token)).toEqual(tenantRequests.map(([, path]) => refused(path)))
  expect((await as(reader.token)('GET', sandboxed)).status).toBe(503)
})

test('a leak is found again if the same version was away', async () => {
  await upgrade({ version: '30.2.1.1', ...leaky })
  expect((await as(tenant.token)('GET', `${query}/barrier.ids`)).status).toBe(503)
  await upgrade({ version: '30.2.1.1' })
  const served = async () => expect((await as(tenant.token)('GET', `${query}/barrier.ids`)).status).toBe(200)
  await vi.waitFor(served, { interval: 50 })
})
