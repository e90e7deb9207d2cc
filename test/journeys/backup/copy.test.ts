import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ClusterEngine, RemoteEngine } from '../../../src/core/engine/cluster/cluster-engine.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { writeJsonRows } from '../../../src/core/engine/json-rows.ts'
import { copyInstallation } from '../../../src/features/backup/copy-installation.ts'
import { features } from '../../../src/features.ts'
import { ownTablesOf } from '../../../src/own-tables.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { defaultPatience, embeddedEngine, log, remoteCredentials } from '../../support/engines.ts'
import { openRelay, type Relay } from '../../support/network/relay.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { childrenOf, isAlive } from '../../support/service-process.ts'
import { dropDatabase, ownCluster, ownServer } from '../../support/worker-server.ts'
import { openScriptedServer } from '../operating/scripted-server.ts'

/** An installation with the embedded engine moves to a server, in spite of interruptions. */
const directory = scratchDirectory()
const database = 'moved'
const clustered = 'clustered'
const cluster = ownCluster
const adminToken = 'the-admin-token-of-both'
const limits = { deadlineMs: 120_000 }
const dayMs = 86_400_000
const now = Date.now()
/** Of each source with entries: ten on each of three days. */
const total = 30
const days = 3

let server: { url: string }
let network: Relay
let target: RemoteEngine
let before: unknown[]
let reader: string
let keyed: { status: number; body: unknown }

const environment: Record<string, string> = {
  WELLHEAD_ENGINE_NODE: process.env.WELLHEAD_ENGINE_NODE ?? '',
  WELLHEAD_ENGINE_PATIENCE: String(defaultPatience),
  WELLHEAD_CLICKHOUSE_USER: remoteCredentials.user,
  WELLHEAD_CLICKHOUSE_PASSWORD: remoteCredentials.password,
  WELLHEAD_CLICKHOUSE_DATABASE: database,
}

beforeAll(async () => {
  server = await ownServer()
  network = await openRelay(Number(new URL(server.url).port))
  target = new RemoteEngine({ url: server.url, ...remoteCredentials, database, log })
  await target.start()
  const service = await openService({
    dataDir: directory.path,
    engine: 'embedded',
    environment: { WELLHEAD_ADMIN_TOKEN: adminToken },
  })
  await fill(service)
  before = await responses(service)
  await service.close()
})
afterAll(async () => {
  await target?.close()
  await network?.cut()
  for (const name of [database, clustered]) await dropDatabase({ ...server, database: name })
  directory.remove()
})

const admin = (service: RunningService, method: string, path: string, body?: unknown) =>
  ask(service, adminToken, method, path, body)

async function expectStatus(status: number, response: ReturnType<typeof ask>) {
  const { status: got, body } = await response
  expect([got, body]).toEqual([status, expect.anything()])
  return body
}

const odd = 'tab\t line\n return\r null\0 quote\' " back\\slash \\N \\t ü 😀 \u2028'

/** Days with the same keys, several projects, values that formats escape, and no entries at all. */
async function fill(service: RunningService): Promise<void> {
  const fields = [{ name: 'level', path: 'level', type: 'text', searched: true }]
  for (const name of ['shop_logs', 'empty_logs', 'gone_logs']) {
    await expectStatus(201, admin(service, 'POST', '/api/sources', { name, columns: fields }))
  }
  const entries = Array.from({ length: total }, (_, i) => ({
    id: i % 4 === 0 ? 'same' : `e${i} ${odd}`,
    project: ['a', 'b', `c ${odd}`][i % 5 === 0 ? 2 : i % 2],
    timestamp: new Date(now - (i % days) * dayMs - (i % 2) * 1000).toISOString(),
    event_message: `${odd} ${i % 7}`,
    metadata: { level: 'error', i: i % 7, text: odd },
  }))
  for (const source of ['shop_logs', 'auth_logs', 'gone_logs']) {
    const sent = await expectStatus(200, admin(service, 'POST', `/api/logs?source=${source}`, entries))
    expect(sent).toMatchObject({ accepted: total })
  }
  const bytes = Buffer.from([0xff, 0x41, 0xc3])
  const row = Buffer.concat([
    ...['raw', `${new Date(now - dayMs).toISOString().slice(0, 10)} 00:00:00.000001`, 'x', 'm', '{}'].map(
      (field) => Buffer.from(`${field}\t`),
    ),
  ])
  await service.engine.insert(
    {
      table: 'shop_logs',
      columns: ['project', 'timestamp', 'id', 'event_message', 'metadata'],
      format: 'TabSeparated',
    },
    Buffer.concat([row.subarray(0, 3), bytes, row.subarray(3, -1), bytes, Buffer.from('\n')]),
    limits,
  )
  await expectStatus(204, admin(service, 'DELETE', '/api/sources/gone_logs?confirm=gone_logs'))
  // A state, and a notification that was delivered and whose rows are not merged yet.
  await service.engine.command({ sql: 'SYSTEM STOP MERGES _alerts' }, limits)
  for (const [sequence, body] of ['{}', ''].entries()) {
    const rows = writeJsonRows([
      { id: 'alert msg_1', sequence, body },
      { id: 'alert', sequence, body: '{}' },
    ])
    await service.engine.insert({ table: '_alerts', format: 'JSONEachRow' }, rows, limits)
  }
  const query = 'SELECT project, count() AS n FROM shop_logs GROUP BY project ORDER BY project'
  await expectStatus(
    201,
    admin(service, 'POST', '/api/endpoints', { published: true, name: 'shop.projects', query }),
  )
  const change = { query: query.replace('count() AS n', "countIf(level = 'error') AS n") }
  await expectStatus(200, admin(service, 'PATCH', '/api/endpoints/shop.projects', change))
  await expectStatus(
    201,
    admin(service, 'POST', '/api/searches', { name: 'errors', source: 'shop_logs', query: 'level:error' }),
  )
  const columns = ['id', 'from', 'project'].map((name) => ({ name, type: 'text' }))
  await expectStatus(201, admin(service, 'POST', '/api/tables', { name: 'people', columns }))
  const people = [
    { id: odd, from: '', project: 'a' },
    { id: null, from: 'x', project: null },
  ]
  await expectStatus(200, admin(service, 'PUT', '/api/tables/people/rows', people))
  reader = (await makeToken(service, { scopes: ['query', 'ingest'], project: 'a' })).token
  keyed = await sendKeyed(service)
  expect(keyed).toMatchObject({ status: 200, body: { accepted: 1 } })
}

const sendKeyed = async (service: RunningService) => {
  const { status, body } = await ask(
    service,
    reader,
    'POST',
    '/api/logs?source=shop_logs',
    [{ id: 'once' }],
    {
      'Idempotency-Key': 'once',
    },
  )
  return { status, body }
}

/** What a service returns for everything that a copy concerns. */
async function responses(service: RunningService): Promise<unknown[]> {
  const paths = [
    '/api/endpoints',
    '/api/endpoints/shop.projects/versions',
    '/api/sources',
    '/api/searches',
    '/api/tables',
    '/api/tables/people/rows?_format=csv',
    '/api/endpoints/query/shop.projects',
    '/api/endpoints/query/logs.all?project=a&project_tier=PRO&iso_timestamp_start=2000-01-01T00:00:00Z',
    '/api/endpoints/query/usage.api-counts?project=a&interval=daily',
    '/api/endpoints/query/functions.invocation-stats?project=a&function_id=f&interval=7day',
  ]
  const bodies: unknown[] = []
  for (const path of paths) bodies.push(withoutUsage((await admin(service, 'GET', path)).body))
  const tokens = (await admin(service, 'GET', '/api/access-tokens')).body as { id: string }[]
  bodies.push(tokens.map(({ id }) => id))
  bodies.push((await ask(service, reader, 'GET', '/api/endpoints/query/shop.projects')).body)
  return bodies
}

/** Sizes on disk and times differ. */
function withoutUsage(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (key, value) => (key === 'usage' ? undefined : value))
}

const copyTo = (url: string, ...args: string[]) => ['copy', '--from', directory.path, '--to', url, ...args]
const copy = (...args: string[]) => copyTo(server.url, ...args)
const run = (args: string[], more = {}) => runCommand(args, { environment: { ...environment, ...more } })

const openOn = (chosen: Record<string, string>) =>
  openService({
    environment: {
      ...environment,
      WELLHEAD_CLICKHOUSE_URL: server.url,
      WELLHEAD_ADMIN_TOKEN: adminToken,
      ...chosen,
    },
  })

async function count(sql: string, engine: Engine = target): Promise<number> {
  const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, limits)
  return Number(body.toString())
}

const options = {
  log,
  signal: new AbortController().signal,
  now: Date.now,
  // Three entries.
  chunkRows: 4,
  onBytes: () => {},
}

/** A service on the target returns what the service on the data directory returned. */
async function expectSameService(chosen: Record<string, string>): Promise<void> {
  const service = await openOn(chosen)
  try {
    expect(await responses(service)).toEqual(before)
    expect(await sendKeyed(service)).toEqual(keyed)
    const { engine } = service
    expect(await count("SELECT count() FROM shop_logs WHERE id = 'once'", engine)).toBe(1)
    expect(await count("SELECT countIf(level = 'error') FROM shop_logs", engine)).toBe(total)
    const raw = "SELECT count() FROM shop_logs WHERE project = unhex('726177FF41C3')"
    expect(await count(raw, engine)).toBe(1)
  } finally {
    await service.close()
  }
}

test('a copy to a cluster survives a pause of the network, and ends with each row once', {
  timeout: 900_000,
}, async () => {
  const on = (name: string) => ({
    WELLHEAD_CLICKHOUSE_DATABASE: name,
    WELLHEAD_CLICKHOUSE_CLUSTER: cluster,
  })
  await withSides('stopped', async (sides) => {
    const { to } = sides
    const stopped = new AbortController()
    const aborted = copyInstallation({
      ...sides,
      signal: stopped.signal,
      onBytes: (_bytes, note) => note === 'auth_logs' && stopped.abort(),
    })
    await expect(aborted).rejects.toMatchObject({ code: 'query_cancelled' })
    expect(await count('SELECT count() FROM _catalog', to)).toBe(0)
    const refused = await run(copy())
    expect(refused.stderr).toMatch(/^wellhead: Another process uses the data directory .* Stop it/)
    await expect(copyInstallation(sides)).rejects.toThrow(
      'The database stopped of the server is already in use. Choose another with WELLHEAD_CLICKHOUSE_DATABASE',
    )
  })
  await expect(openOn(on('stopped'))).rejects.toThrow(
    /copy to the database stopped is not finished\. Drop the database, run wellhead copy again/,
  )
  await withSides(clustered, async (sides) => {
    const pause = async () => {
      await network.cut()
      await network.mend()
    }
    const tables = await copyInstallation({ ...sides, onBytes: onChunk(6, () => void pause()) })
    expect(tables.filter(({ equal }) => !equal)).toEqual([])
    expect(tables).toContainEqual({ name: 'auth_logs', rows: total, copied: total, equal: true })
    expect(await count('SELECT count() FROM auth_logs_local', sides.to)).toBe(total)
  })
  await expectSameService(on(clustered))
})

/** The engine of the data directory, and a cluster behind the network. */
async function withSides(name: string, work: (sides: CopySides) => Promise<void>): Promise<void> {
  const from = embeddedEngine(directory.path, { atRest: true })
  const to = new ClusterEngine({
    url: network.url,
    ...remoteCredentials,
    database: name,
    cluster,
    quorum: undefined,
    log,
  })
  try {
    await Promise.all([from.start(), to.start()])
    const ownTables = await ownTablesOf(features)
    await work({ ...options, topology: to.topology, ownTables, from, to })
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}

type CopySides = Parameters<typeof copyInstallation>[0] & { to: ClusterEngine }

function expectFinish(done: { code: number | null; stdout: string; stderr: string }): void {
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('All rows are equal.')])
  const lines = done.stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(lines).toContainEqual(['shop_logs', `${total + 2}`, `${total + 2}`, 'yes'])
  expect(lines).toContainEqual(['auth_logs', `${total}`, `${total}`, 'yes'])
  expect(lines).toContainEqual(['empty_logs', '0', '0', 'yes'])
  expect(lines).toContainEqual(['idempotency keys', '1', '1', 'yes'])
  expect(lines).toContainEqual(['token uses', '1', '1', 'yes'])
  expect(lines.map(([name]) => name)).not.toContain('gone_logs')
  expect(lines.every(([, rows, copied]) => rows === copied || rows === 'ROWS')).toBe(true)
}

const onChunk = (number: number, act: () => void) => {
  let chunks = 0
  return (bytes: number) => {
    if (bytes > 0 && ++chunks === number) act()
  }
}

test('a copy to a server can be used once it is finished', { timeout: 900_000 }, async () => {
  const killed = { WELLHEAD_CLICKHOUSE_DATABASE: 'killed' }
  await killDuringInsert(4, killed)
  await expect(openOn(killed)).rejects.toThrow(/copy to the database killed is not finished/)
  expectFinish(await run(copy()))
  await expectSameService({ WELLHEAD_CLICKHOUSE_DATABASE: database })
})

/** Starts a copy and kills it when it sends an insert of entries, which may be stored. */
async function killDuringInsert(number: number, chosen: Record<string, string> = {}): Promise<void> {
  let inserts = 0
  let engines: number[] = []
  const kill = () => {
    engines = childrenOf(child.pid as number)
    child.kill('SIGKILL')
  }
  const proxy = await openScriptedServer(
    (sql) => {
      if (/^INSERT INTO \w+_logs/.test(sql) && ++inserts === number) kill()
      return undefined
    },
    { behind: server.url },
  )
  const { child, result } = startCommand(copyTo(proxy.url), { environment: { ...environment, ...chosen } })
  expect((await result).signal).toBe('SIGKILL')
  proxy.close()
  expect(engines).toHaveLength(1)
  await vi.waitFor(() => expect(engines.filter(isAlive)).toEqual([]))
}

test('refuses what cannot be copied, and says what to do', async () => {
  const empty = scratchDirectory()
  const refused = async (args: string[], more?: Record<string, string>) => {
    const { code, stderr } = await run(['copy', ...args], more)
    return [code, stderr]
  }
  const to = ['--to', server.url]
  expect(await refused(['--from', empty.path, ...to])).toEqual([
    2,
    `wellhead: ${empty.path} is not a data directory of Wellhead.\n`,
  ])
  const from = ['--from', directory.path]
  expect(await refused([...from, '--to', './other'])).toEqual([
    2,
    expect.stringMatching(/^wellhead: --to must be an? http/),
  ])
  expect(await refused(from)).toEqual([2, expect.stringContaining('Name the ClickHouse server with --to')])
  const wrong = await refused([...from, ...to], { WELLHEAD_CLICKHOUSE_PASSWORD: 'wrong' })
  expect(wrong).toEqual([1, expect.stringMatching(/^wellhead: .*AUTHENTICATION_FAILED.*\n$/)])
  empty.remove()
})
