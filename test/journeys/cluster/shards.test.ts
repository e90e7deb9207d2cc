import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RemoteEngine } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { queryRows } from '../../../src/core/engine/json-rows.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { log, openServer, type TestServer } from '../../support/engines.ts'
import { Ledger } from '../../support/ledger.ts'
import { freePort } from '../../support/network/free-port.ts'
import { sendUntilStopped } from '../../support/sender.ts'
import { openService, type RunningService } from '../../support/service.ts'

/**
 * Two servers, each a shard with one replica, and a service on each. Without a keeper, a service refuses a cluster of several
 * nodes. So each starts on a cluster of one node and creates its tables, and then the cluster gets a second shard.
 */
const cluster = 'main'
const perProject = 3
const projects = Array.from({ length: 16 }, (_, i) => `p${i}`)
const soon = { timeout: 120_000, interval: 100 }
const limits = { deadlineMs: 60_000 }
const noCache = { 'Cache-Control': 'no-cache' }

type Pair<T> = [T, T]
let nodes: Pair<TestServer>
let services: Pair<RunningService>
/** Connections to each node, past the services. */
let engines: Pair<RemoteEngine>
/** A project of each shard. */
let stored: Pair<string>

const configOf = (own: number, ports: number[]) => {
  const replica = (port: number) => `<replica><host>127.0.0.1</host><port>${port}</port></replica>`
  const shard = (port: number) =>
    `<shard><internal_replication>true</internal_replication>${replica(port)}</shard>`
  const shards = `<secret>known to both</secret>${ports.map(shard).join('')}`
  return {
    extraConfig: `<tcp_port>${own}</tcp_port><remote_servers><${cluster}>${shards}</${cluster}></remote_servers>`,
  }
}

const both = <T, R>([one, other]: Pair<T>, run: (each: T) => Promise<R>): Promise<Pair<R>> =>
  Promise.all([run(one), run(other)])
const admin = (service: RunningService, method: string, path: string, body?: unknown, headers = {}) =>
  ask(service, service.adminToken.token, method, path, body, headers)
const send = (service: RunningService, entries: object[], headers = {}) =>
  admin(service, 'POST', '/api/logs?source=edge_logs', entries, headers)
const call = (service: RunningService, path: string) =>
  admin(service, 'GET', `/api/endpoints/query/${path}`, undefined, noCache)
const isReady = (service: RunningService) =>
  vi.waitFor(async () => expect((await admin(service, 'GET', '/ready')).status).toBe(200), soon)
const countsOn = async (engine: RemoteEngine) => {
  const sql =
    "SELECT project, toUInt32(count()) AS n FROM edge_logs_local WHERE id LIKE 'first-%' GROUP BY project"
  return queryRows<{ project: string; n: number }>(engine, { sql }, limits)
}

const unavailable = { status: 503, body: { error: { code: 'engine_unavailable' } } }
const expectUnavailable = (response: Awaited<ReturnType<typeof ask>>) => {
  expect(response).toMatchObject(unavailable)
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
}

beforeAll(async () => {
  const ports: Pair<number> = [await freePort(), await freePort()]
  nodes = await both(ports, (port) => openServer({ protocols: ['HTTP', 'TCP'], ...configOf(port, [port]) }))
  services = await both(nodes, ({ url }) =>
    openService({ environment: { WELLHEAD_CLICKHOUSE_URL: url, WELLHEAD_CLICKHOUSE_CLUSTER: cluster } }),
  )
  engines = await both(nodes, async ({ url }) => new RemoteEngine({ url, database: 'wellhead', log }))
  await both(engines, (engine) => engine.start())
  await both(nodes, (node) => node.kill())
  await Promise.all(nodes.map((node, at) => node.start(configOf(ports[at] as number, ports))))
  await both(services, isReady)
  for (const service of services) {
    for (const [name, query] of Object.entries({
      'shards.all':
        "SELECT count() AS n, uniqExact(project) AS projects FROM edge_logs WHERE id LIKE 'first-%'",
      'shards.one': "SELECT count() AS n FROM edge_logs WHERE project = @project AND id LIKE 'first-%'",
      'shards.joined':
        "SELECT count() AS n FROM edge_logs AS l JOIN edge_logs AS r USING (id) WHERE l.id IN (SELECT id FROM edge_logs WHERE id LIKE 'first-%')",
      'shards.ids': 'SELECT project, id FROM edge_logs',
    })) {
      expect((await admin(service, 'POST', '/api/endpoints', { published: true, name, query })).status).toBe(
        201,
      )
    }
  }
  // Each service gets some of the entries of every project.
  for (let n = 0; n < perProject; n++) {
    const entries = projects.map((project) => ({ project, id: `first-${project}-${n}` }))
    expect((await send(services[n % 2] as RunningService, entries)).body.accepted).toBe(projects.length)
  }
  stored = await both(engines, async (engine) => (await countsOn(engine))[0]?.project ?? 'none')
})
afterAll(async () => {
  for (const service of services ?? []) await service.close()
  for (const engine of engines ?? []) await engine.close()
  for (const node of nodes ?? []) await node.close()
})

test('all entries of a project are on one shard, and both shards have projects', async () => {
  const [one, other] = await both(engines, countsOn)
  expect(one).not.toEqual([])
  expect(other).not.toEqual([])
  const byName = (left: { project: string }, right: { project: string }) =>
    left.project < right.project ? -1 : 1
  expect([...one, ...other].sort(byName)).toEqual(
    projects.map((project) => ({ project, n: perProject })).sort(byName),
  )
})

test('requests to either node see the entries of both', async () => {
  const n = projects.length * perProject
  for (const service of services) {
    expect((await call(service, 'shards.all')).body.result).toEqual([{ n, projects: projects.length }])
    expect((await call(service, 'shards.joined')).body.result).toEqual([{ n }])
    for (const project of stored) {
      expect((await call(service, `shards.one?project=${project}`)).body.result).toEqual([{ n: perProject }])
    }
  }
})

test('an erasure counts the entries of the other shard, too', async () => {
  for (const [at, service] of services.entries()) {
    const project = stored[1 - at]
    const { body } = await admin(service, 'POST', '/api/erasures', { project, dry_run: true })
    expect(body).toMatchObject({ project, entries: perProject })
  }
})

test('a tenant sees only its entries, on either shard and through either node', async () => {
  for (const service of services) {
    for (const project of stored) {
      const { token } = await makeToken(service, { scopes: ['query'], project })
      const { body } = await ask(service, token, 'GET', '/api/endpoints/query/shards.ids')
      expect(new Set(body.result.map((row: { project: string }) => row.project))).toEqual(new Set([project]))
      expect(body.result).toHaveLength(perProject)
    }
  }
})

test('while a shard is away, its projects get 503 and others are served; afterward, nothing acknowledged is lost', async () => {
  const [here, there] = stored
  const [service, otherService] = services
  const ledger = new Ledger()
  const statuses = new Set<number>()
  let stopped = false
  const senders = stored.map((project) =>
    sendUntilStopped({
      name: `sent-${project}`,
      keyed: true,
      project,
      call: service.call,
      stopped: () => stopped,
      ledger,
      onStatus: (status) => statuses.add(status),
    }),
  )
  const progress = (more: number) => {
    const since = ledger.acknowledgedBatches
    return vi.waitFor(() => expect(ledger.acknowledgedBatches).toBeGreaterThan(since + more), soon)
  }
  const half = [here, there].map((project) => ({ project, id: `half-${project}` }))
  const key = { 'Idempotency-Key': 'sent during the outage' }
  try {
    await progress(4)
    await nodes[1].kill()

    expect((await call(service, `shards.one?project=${here}`)).body.result).toEqual([{ n: perProject }])
    expectUnavailable(await call(service, `shards.one?project=${there}`))
    expectUnavailable(await call(service, 'shards.all'))
    expectUnavailable(await send(service, half, key))
    expectUnavailable(await call(otherService, `shards.one?project=${here}`))
    expect((await admin(otherService, 'GET', '/ready')).status).toBe(503)
    expect((await admin(service, 'GET', '/ready')).status).toBe(200)
    // The sender of the shard that is left continues.
    await progress(2)

    await nodes[1].start()
    await both(services, isReady)
    await progress(4)
  } finally {
    stopped = true
    await Promise.all(senders)
  }
  expect([...statuses].sort()).toEqual([200, 503])
  expect((await send(service, half, key)).body.accepted).toBe(half.length)
  for (const each of services) {
    expect((await call(each, 'shards.all')).body.result).toMatchObject([{ n: projects.length * perProject }])
    const { body } = await call(each, 'shards.ids')
    const ids = (body.result as { id: string }[]).map(({ id }) => id)
    expect(ids.filter((id) => id.startsWith('half-')).sort()).toEqual(half.map(({ id }) => id).sort())
    const times = new Map<string, number>()
    for (const id of ids.filter((id) => id.startsWith('sent-'))) times.set(id, (times.get(id) ?? 0) + 1)
    expect(ledger.faults(times)).toEqual([])
  }
})

test('while the only node of a service is away, all requests get 503, and are served when it is back', async () => {
  const [service] = services
  await nodes[0].kill()
  for (const project of stored) expectUnavailable(await call(service, `shards.one?project=${project}`))
  expectUnavailable(await send(service, [{ project: stored[0] }]))
  await nodes[0].start()
  await isReady(service)
  for (const each of services) {
    expect((await call(each, 'shards.all')).body.result).toMatchObject([{ n: projects.length * perProject }])
  }
})
