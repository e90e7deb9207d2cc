import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RemoteEngine } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { log, many, openServer, remoteCredentials, type TestServer } from '../../support/engines.ts'
import { Ledger } from '../../support/ledger.ts'
import { openRelay, type Relay } from '../../support/network/relay.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { sendUntilStopped } from '../../support/sender.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { type ServiceProcess, spawnService } from '../../support/service-process.ts'
import {
  dropDatabase,
  newDatabase,
  ownCluster,
  ownServer,
  type SharedServer,
} from '../../support/worker-server.ts'

/** Two engines without common data. Two addresses of the first stand for two nodes of a cluster, which has common data. */
let server: SharedServer
let other: TestServer
let engine: RemoteEngine
let relays: [Relay, Relay]
let service: RunningService
const spawned: ServiceProcess[] = []

const cluster = ownCluster
const adminToken = 'the-admin-token-of-all'
const { user, password } = remoteCredentials
const limits = { deadlineMs: 60_000 }
const soon = { timeout: 120_000, interval: 50 }

const environmentOf = (...urls: string[]) => ({
  WELLHEAD_CLICKHOUSE_URL: urls
    .map((url) => Object.assign(new URL(url), { username: user, password: encodeURIComponent(password) }))
    .join(', '),
  WELLHEAD_CLICKHOUSE_CLUSTER: cluster,
  WELLHEAD_CLICKHOUSE_DATABASE: server.database,
  WELLHEAD_ADMIN_TOKEN: adminToken,
})
const engineOf = (...urls: string[]) =>
  new RemoteEngine({ url: urls.join(), user, password, database: server.database, log })

beforeAll(async () => {
  server = await newDatabase(await ownServer())
  other = await openServer({ cluster })
  engine = engineOf(server.url)
  await engine.start()
  const { port } = new URL(server.url)
  relays = await Promise.all([openRelay(Number(port)), openRelay(Number(port))])
  service = await openService({ environment: environmentOf(...relays.map(({ url }) => url)) })
})
afterAll(async () => {
  for (const { child } of spawned) child.kill('SIGKILL')
  await service?.close()
  for (const relay of relays ?? []) await relay.cut()
  await engine?.close()
  await other?.close()
  if (server) await dropDatabase(server)
})

/** How often each entry of a project is stored. */
async function storedEntries(project: string): Promise<Map<string, number>> {
  const sql = `SELECT id, count() FROM edge_logs WHERE project = '${project}' GROUP BY id`
  const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, limits)
  const lines = body.toString().split('\n').filter(Boolean)
  return new Map(lines.map((line) => line.split('\t') as [string, string]).map(([id, n]) => [id, Number(n)]))
}

type Call = (path: string, init?: RequestInit) => Promise<Response>

/** Clients that send and read until they are stopped. Each request uses the next of the calls. */
function openLoad(project: string, calls: Call[]) {
  const ledger = new Ledger()
  const responses: Record<string, number> = {}
  const missing: string[] = []
  let reads = 0
  let turn = 0
  let stop = false
  const count = (status: number, code = '') => {
    responses[`${status} ${code}`.trim()] = (responses[`${status} ${code}`.trim()] ?? 0) + 1
  }
  const call: Call = (path, init = {}) =>
    (calls[turn++ % calls.length] as Call)(path, {
      ...init,
      headers: { 'X-API-KEY': adminToken, ...init.headers },
    })
  const senders = Array.from({ length: many(4, 2) }, (_, i) =>
    sendUntilStopped({
      name: `${project}-s${i}`,
      keyed: i % 2 === 0,
      project,
      call,
      stopped: () => stop,
      ledger,
      onStatus: (status, error) => count(status, error?.code),
    }),
  )
  /** Every result has all entries that were acknowledged before. */
  const read = async () => {
    const before = ledger.acknowledgedIds
    const path = `/api/endpoints/query/${project}.count?project=${project}`
    const response = await call(path, { headers: { 'Cache-Control': 'no-cache' } }).catch(() => undefined)
    if (!response) return count(0)
    const body = (await response.json()) as { result: { n: number }[]; error?: { code: string } }
    count(response.status, body.error?.code)
    if (response.status !== 200) return
    reads++
    if (!(Number(body.result[0]?.n) >= before)) missing.push(`${JSON.stringify(body)} < ${before}`)
  }
  const readers = Array.from({ length: many(2, 1) }, async () => {
    while (!stop) {
      await read()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })
  return {
    ledger,
    responses,
    missing,
    /** Waits until more is stored and read. */
    async progress() {
      const [batches, since] = [ledger.acknowledgedBatches + many(200, 6), reads + many(100, 2)]
      await vi.waitFor(() => {
        expect(ledger.acknowledgedBatches).toBeGreaterThan(batches)
        expect(reads).toBeGreaterThan(since)
      }, soon)
    },
    async stop() {
      stop = true
      await Promise.all([...senders, ...readers])
    },
  }
}

/** An endpoint that counts the entries of a project. */
const counting = (project: string) => ({
  method: 'POST',
  headers: { 'X-API-KEY': adminToken, 'Content-Type': 'application/json' },
  body: JSON.stringify({
    name: `${project}.count`,
    query: 'SELECT count() AS n FROM edge_logs WHERE project = @project',
  }),
})

test('while nodes go and come under load, requests get their rows and entries are stored once', {
  timeout: 600_000,
}, async () => {
  const [one, two] = relays
  const nodes = async () => {
    const text = await (await service.call('/metrics')).text()
    expect(text).not.toContain(user)
    const up = [...text.matchAll(/^wellhead_engine_node_up\{node="127\.0\.0\.1:(\d+)"\} (\d)$/gm)]
    return relays.map(({ url }) => up.find(([, port]) => url.endsWith(`:${port}`))?.[2]).join()
  }
  const become = (expected: string) => vi.waitFor(async () => expect(await nodes()).toBe(expected), soon)
  expect((await service.call('/api/endpoints', counting('nodes'))).status).toBe(201)
  expect(await nodes()).toBe('1,1')

  const load = openLoad('nodes', [(path, init) => fetch(service.url + path, init)])
  try {
    await load.progress()
    for (const [relay, state] of [
      [one, '0,1'],
      [two, '1,0'],
    ] as const) {
      await relay.cut()
      await load.progress()
      await become(state)
      expect((await service.call('/ready')).status).toBe(200)
      await relay.mend()
      await become('1,1')
      await load.progress()
    }
  } finally {
    await load.stop()
  }
  expect(load.ledger.faults(await storedEntries('nodes'))).toEqual([])
  expect(load.missing).toEqual([])
  const { '200': served = 0, '503 engine_unavailable': retryable, ...others } = load.responses
  expect(others).toEqual({})
  expect(served).toBeGreaterThan(0)

  expect(await (await service.call('/api/status')).json()).toMatchObject({
    engine: { ready: true, nodes: [{ ready: true }, { ready: true }] },
  })
})

test('after a kill of one of two services, the other has every acknowledged entry once', {
  timeout: 600_000,
}, async () => {
  const directory = scratchDirectory()
  const doomed = spawnService(['--port', '0', '--data-dir', directory.path], {
    ...environmentOf(server.url),
    // Inserts of statistics slow down an emulated engine.
    WELLHEAD_STATISTICS: 'off',
  })
  spawned.push(doomed)
  const urls = [await doomed.ready(), service.url]
  expect((await fetch(`${urls[0]}/api/endpoints`, counting('services'))).status).toBe(201)
  const query = `${urls[1]}/api/endpoints/services.count`
  const headers = { 'X-API-KEY': adminToken }
  await vi.waitFor(async () => expect((await fetch(query, { headers })).status).toBe(200), soon)

  const load = openLoad(
    'services',
    urls.map(
      (url): Call =>
        (path, init) =>
          fetch(url + path, init),
    ),
  )
  try {
    await load.progress()
    doomed.child.kill('SIGKILL')
    await doomed.exit
    await load.progress()
  } finally {
    await load.stop()
  }
  expect(load.ledger.faults(await storedEntries('services'))).toEqual([])
  expect(load.missing).toEqual([])
  // 0 means no response.
  const { '0': _none, '200': _served, ...others } = load.responses
  expect(others).toEqual({})
  expect(doomed.stderr() + doomed.stdout()).not.toMatch(
    new RegExp(`${encodeURIComponent(password)}|${password}`),
  )
  directory.remove()
})

test('without a cluster, several addresses are of one server', async () => {
  const relay = await openRelay(Number(new URL(server.url).port))
  const one = engineOf(server.url, relay.url)
  const separate = engineOf(server.url, other.url)
  try {
    await Promise.all([one.start(), separate.start()])
    expect(one.state().nodes).toMatchObject([{ ready: true }, { ready: true }])
    const states = separate.state().nodes ?? []
    expect(states.map(({ ready }) => ready).sort()).toEqual([false, true])
    expect(states.find(({ ready }) => !ready)?.reason).toContain('not the server of the other addresses')
  } finally {
    await Promise.all([one.close(), separate.close()])
    await relay.cut()
  }
})

test('after a kill of one of two engines, queries that need no data of it succeed', async () => {
  const url = [server.url, other.url].join()
  const both = new RemoteEngine({ url, user, password, database: server.database, cluster, log })
  await both.start()
  const select = () =>
    both.query({ sql: 'SELECT 1', format: 'TabSeparatedRaw' }, limits).then(({ body }) => body.toString())
  const selects = (times: number) => Promise.all(Array.from({ length: times }, select))
  const killed = other.pid() as number
  try {
    expect(new Set(await selects(many(100, 8)))).toEqual(new Set(['1\n']))
    const underWay = selects(many(100, 16))
    process.kill(killed, 'SIGKILL')
    expect(new Set(await underWay)).toEqual(new Set(['1\n']))
    // Its supervisor starts it again, and queries do not wait for it.
    const isBack = () => both.state().nodes?.every(({ ready }) => ready) && other.pid() !== killed
    await vi.waitFor(
      async () => {
        expect(await select()).toBe('1\n')
        expect(isBack()).toBe(true)
      },
      { ...soon, interval: 200 },
    )
    expect(new Set(await selects(many(100, 8)))).toEqual(new Set(['1\n']))
  } finally {
    await both.close()
  }
})
