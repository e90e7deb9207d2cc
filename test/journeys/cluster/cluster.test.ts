import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { migrate, migrations } from '../../../src/core/catalog/migrations.ts'
import { coreTables } from '../../../src/core/catalog/own-tables.ts'
import type { Source } from '../../../src/core/catalog/source.ts'
import { ClusterEngine, createDatabase, topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { queryRows, writeJsonRows } from '../../../src/core/engine/json-rows.ts'
import { createLookupTable, switchTables } from '../../../src/core/engine/lookup-tables.ts'
import {
  changeRetention,
  changeTypedColumns,
  changeWordIndex,
  createMigrationsTable,
  createSourceTable,
  dropSourceTable,
  fillTypedColumns,
  storedColumns,
} from '../../../src/core/engine/tables.ts'
import { isolationSettings, rowFilterSettings } from '../../../src/core/sql/isolation.ts'
import { features } from '../../../src/features.ts'
import { ownTablesOf } from '../../../src/own-tables.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { log } from '../../support/engines.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { sharedServer } from '../../support/worker-server.ts'
import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()

const limits = { deadlineMs: 60_000 }
let service: RunningService

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const read = <Row>(sql: string, settings: Record<string, string | number> = {}) =>
  queryRows<Row>(service.engine, { sql, settings }, limits)
const count = async (sql: string, settings?: Record<string, string | number>) =>
  Number((await read<{ n: number }>(sql, settings))[0]?.n)
const command = (sql: string) => service.engine.command({ sql }, limits)
const ofProject = (tables: string[], project: string) => ({
  ...isolationSettings,
  ...rowFilterSettings(service.engine.database, tables, { project }),
})

beforeAll(async () => {
  service = await openService({ environment: { WELLHEAD_STATISTICS: 'on' } })
  await admin('POST', '/api/sources', { name: 'orders' })
  const entries = ['a', 'a', 'b'].map((project, n) => ({ project, id: `${project}${n}`, n }))
  await admin('POST', '/api/logs?source=orders', entries)
  // Both shards are this node, so each row counts once for every shard that is asked.
  await command(
    `CREATE TABLE twice AS orders_local ENGINE = Distributed('main_twice', '${service.engine.database}', 'orders_local', cityHash64(project))`,
  )
})
afterAll(() => service?.close())

test('a source is a distributed table over a local one, and both go with it', async () => {
  const engines = () =>
    read("SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name LIKE 'gone%'")
  await admin('POST', '/api/sources', { name: 'gone' })
  expect(await engines()).toEqual([
    { name: 'gone', engine: 'Distributed' },
    { name: 'gone_local', engine: 'MergeTree' },
  ])
  await admin('DELETE', '/api/sources/gone?confirm=gone')
  expect(await engines()).toEqual([])
})

test('an erasure hides and removes what was stored before it on the local table, and nothing later', async () => {
  await admin('POST', '/api/sources', { name: 'erased_orders' })
  const send = (id: string, minutes: number) => {
    const timestamp = new Date(Date.now() + minutes * 60_000).toISOString()
    return admin('POST', '/api/logs?source=erased_orders', [{ project: 'a', id, timestamp }])
  }
  const ids = async () => {
    const { body } = await admin('POST', '/api/sql', { query: 'SELECT id FROM erased_orders ORDER BY id' })
    return body.result.map(({ id }: { id: string }) => id)
  }
  await send('1', 30)
  const { body: erasure } = await admin('POST', '/api/erasures', { project: 'a', source: 'erased_orders' })
  await send('2', 0)
  expect([erasure.entries, await ids()]).toEqual([1, ['2']])
  const state = async () => (await admin('GET', `/api/erasures/${erasure.id}`)).body.state
  await expect.poll(state).toBe('done')
  expect(await ids()).toEqual(['2'])
})

test('a table that is created again has its columns in the order of the others, and one without the index of words gets it', async () => {
  const fields = (...paths: string[]) => ({
    columns: paths.map((path) => ({ name: path, path, type: 'text' })),
  })
  const columns = async (table: string) =>
    (
      await read<{ name: string }>(
        `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '${table}' ` +
          "AND default_kind = 'MATERIALIZED' ORDER BY position",
      )
    ).map(({ name }) => name)
  expect((await admin('POST', '/api/sources', { name: 'shaped', ...fields('a', 'b') })).status).toBe(201)
  expect((await admin('PATCH', '/api/sources/shaped', fields('c', 'b', 'a'))).status).toBe(200)
  expect(await columns('shaped_local')).toEqual(['a', '_rest_a', 'b', '_rest_b', 'c', '_rest_c'])
  await command('DROP TABLE shaped_local SYNC')
  await command('ALTER TABLE orders_local DROP INDEX _text')
  const another = await openService()
  await another.close()
  const indexes =
    "SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() AND table = 'orders_local'"
  expect(await read(indexes)).toEqual([{ name: '_text' }])
  // Entries of before have the index, too.
  const filled =
    'SELECT toUInt32(countIf(secondary_indices_compressed_bytes = 0)) AS n FROM system.parts ' +
    "WHERE database = currentDatabase() AND table = 'orders_local' AND active"
  await expect.poll(() => count(filled)).toBe(0)
  expect(await columns('shaped_local')).toEqual(['a', '_rest_a', 'b', '_rest_b', 'c', '_rest_c'])
  expect((await admin('POST', '/api/logs?source=shaped', [{ c: 'x' }])).body.accepted).toBe(1)
  expect(await count("SELECT count() AS n FROM shaped WHERE c = 'x'")).toBe(1)
})

test('a table is on every node, joins of all shards read it there, and its rows are replaced', async () => {
  const headers = { 'Content-Type': 'text/csv' }
  const put = (rows: string) =>
    ask(service, service.adminToken.token, 'PUT', '/api/tables/owners/rows', rows, headers)
  const sql = async (query: string) => (await admin('POST', '/api/sql', { query })).body
  await admin('POST', '/api/tables', { name: 'owners' })
  const join =
    'SELECT w.owner AS owner, count() AS n FROM orders AS o JOIN owners AS w ON w.project = o.project'
  for (const owner of ['first', 'second']) {
    expect((await put(`project,owner\na,${owner}\nb,other\n`)).status).toBe(200)
    expect((await sql(`${join} GROUP BY owner ORDER BY n`)).result).toEqual([
      { owner: 'other', n: 1 },
      { owner, n: 2 },
    ])
  }
  const { token } = await makeToken(service, { scopes: ['query'], project: 'b' })
  await admin('POST', '/api/endpoints', {
    name: 'owners.all',
    query: 'SELECT owner FROM owners',
    published: true,
  })
  expect((await ask(service, token, 'GET', '/api/endpoints/query/owners.all')).body.result).toEqual([
    { owner: 'other' },
  ])
  // Twice, because two shards are asked.
  const twice = join.replace('FROM orders', 'FROM twice')
  expect(await count(`SELECT sum(n) AS n FROM (${twice} GROUP BY owner)`)).toBe(6)
  expect((await put('project,owner,seats\na,third,3\n')).status).toBe(200)
  expect((await sql('SELECT owner, seats FROM owners')).result).toEqual([{ owner: 'third', seats: 3 }])
  const left =
    "SELECT count() AS n FROM system.tables WHERE database = currentDatabase() AND name LIKE '%table_%'"
  expect(await count(left)).toBe(0)
})

test('the usage counts the entries of local tables once', async () => {
  const { body } = await admin('GET', '/api/usage')
  expect(body.sources).toContainEqual(expect.objectContaining({ name: 'orders', entries: 3 }))
})

test('requests are recorded', async () => {
  await admin('POST', '/api/endpoints', { name: 'orders.count', query: 'SELECT count() AS n FROM orders' })
  expect((await admin('GET', '/api/endpoints/query/orders.count')).status).toBe(200)
  const recorded = "SELECT count() AS n FROM endpoint_requests WHERE endpoint = 'orders.count'"
  await vi.waitFor(async () => expect(await count(recorded)).toBe(1), { interval: 200 })
})

test('a page of the newest entries comes in order', async () => {
  const newest = await read<{ id: string }>(
    'SELECT id, metadata FROM orders ORDER BY timestamp DESC, id DESC LIMIT 2',
  )
  expect(newest.map(({ id }) => id)).toEqual(['b2', 'a1'])
})

describe('shards', () => {
  test('a query of a tenant asks one, also in joins and subqueries', async () => {
    const settings = { ...ofProject(['twice', 'orders'], 'a'), force_optimize_skip_unused_shards: 2 }
    for (const sql of [
      'SELECT count() AS n FROM twice',
      'SELECT count() AS n FROM (SELECT * FROM twice)',
      'SELECT count() AS n FROM twice AS l JOIN twice AS r USING (id)',
      'SELECT count() AS n FROM twice WHERE id IN (SELECT id FROM twice)',
      'SELECT count() AS n FROM twice AS l FULL JOIN (SELECT id FROM twice) AS r ON l.id = r.id',
    ]) {
      expect(await count(sql, settings), sql).toBe(2)
    }
  })

  test('a query of all projects asks all, and subqueries run over all of them', async () => {
    expect(await count('SELECT count() AS n FROM twice')).toBe(6)
    expect(await count('SELECT count() AS n FROM twice WHERE id IN (SELECT id FROM twice)')).toBe(6)
    expect(await count('SELECT count() AS n FROM twice AS l JOIN twice AS r USING (id)')).toBe(12)
  })

  test('a retry with the same token is stored once through the distributed table', async () => {
    const target = {
      table: 'orders',
      format: 'JSONEachRow',
      settings: { insert_deduplication_token: 'once' },
    } as const
    const timestamp = new Date().toISOString().replace('T', ' ').replace('Z', '')
    const rows = writeJsonRows([{ project: 'retried', id: 'r1', timestamp, metadata: '{}' }])
    for (let attempt = 0; attempt < 2; attempt++) await service.engine.insert(target, rows, limits)
    expect(await count("SELECT count() AS n FROM orders WHERE project = 'retried'")).toBe(1)
  })
})

test('reads and inserts carry the settings of a cluster', async () => {
  const names = ['optimize_skip_unused_shards', 'distributed_product_mode', 'skip_unavailable_shards']
  const [sent] = await read(`SELECT ${names.map((name) => `toString(getSetting('${name}')) AS ${name}`)}`)
  expect(Object.values(sent as object)).toEqual(['true', 'global', 'false'])
  await command(
    "CREATE TABLE sent (a UInt8, foreground UInt8 DEFAULT getSetting('distributed_foreground_insert'), " +
      "async UInt8 DEFAULT getSetting('async_insert')) ENGINE = MergeTree ORDER BY a",
  )
  const target = { table: 'sent', columns: ['a'], format: 'JSONEachRow' } as const
  await service.engine.insert(target, Buffer.from('{"a":1}\n'), limits)
  expect(await read('SELECT foreground, async FROM sent')).toEqual([{ foreground: 1, async: 0 }])
})

describe('tenants', () => {
  test('see their rows alone, of an endpoint and with SQL of their own', async () => {
    const query = 'WITH mine AS (SELECT id FROM orders) SELECT id FROM mine ORDER BY id'
    for (const fields of [{ name: 'cluster.ids' }, { name: 'cluster.sandbox', sandbox: true }]) {
      expect((await admin('POST', '/api/endpoints', { published: true, ...fields, query })).status).toBe(201)
    }
    const sql = encodeURIComponent('SELECT id FROM mine ORDER BY id')
    for (const [project, ids] of Object.entries({ a: ['a0', 'a1'], b: ['b2'], c: [] })) {
      const { token } = await makeToken(service, { scopes: ['query'], project })
      for (const path of ['cluster.ids', `cluster.sandbox?sql=${sql}`]) {
        const { body } = await ask(service, token, 'GET', `/api/endpoints/query/${path}`)
        expect([path, project, body]).toEqual([path, project, { result: ids.map((id) => ({ id })) }])
      }
    }
  })

  test.each([
    'orders_local',
    '`orders_local`',
    '"orders_local"',
    'wellhead.orders_local',
    'default.orders_local',
    'merge(currentDatabase(), ".*_local")',
    "cluster('main', currentDatabase(), 'orders_local')",
    "clusterAllReplicas('main', currentDatabase(), 'orders_local')",
    "remote('127.0.0.1', currentDatabase(), 'orders_local')",
  ])('cannot name the local table as %s', async (table) => {
    const query = `SELECT count() AS n FROM ${table}`
    const { status } = await admin('POST', '/api/endpoints', { name: 'sneaky', query })
    expect(status).toBe(422)
  })

  test('would read only their rows from the local table', async () => {
    const settings = ofProject(['orders'], 'b')
    expect(await count('SELECT count() AS n FROM orders_local', settings)).toBe(1)
    expect(await count('SELECT count() AS n FROM orders', settings)).toBe(1)
  })
})

describe('a start', () => {
  const start = async (cluster: string, quorum?: number) => {
    const { url, database } = sharedServer() as { url: string; database: string }
    const engine = new ClusterEngine({ url, database, cluster, quorum, log })
    await engine.start().finally(() => engine.close())
  }

  test.each([
    ['an unknown cluster', 'other', 1, 'ClickHouse has no cluster named other'],
    ['several nodes without a keeper', 'main_twice', 1, 'has several nodes, but no keeper'],
    ['a quorum that cannot be reached', 'main', 2, 'Set it to at most 1.'],
  ])('with %s says what to do', async (_problem, cluster, quorum, message) => {
    await expect(start(cluster, quorum)).rejects.toThrow(message)
  })

  test('after the shards changed asks every shard', async () => {
    await command("ALTER TABLE _migrations MODIFY COMMENT 'shards 1,1'")
    const { url, database } = sharedServer() as { url: string; database: string }
    const engine = new ClusterEngine({ url, database, cluster: 'main', quorum: undefined, log })
    try {
      await engine.start()
      const sql = "SELECT getSetting('optimize_skip_unused_shards') AS n"
      expect(await queryRows(engine, { sql }, limits)).toEqual([{ n: false }])
    } finally {
      await engine.close()
      await command("ALTER TABLE _migrations MODIFY COMMENT 'shards 1'")
    }
  })

  test('creates tables that a node lacks', async () => {
    const { url, database } = sharedServer() as { url: string; database: string }
    const own = `${database}_own`
    const engine = new ClusterEngine({ url, database: own, cluster: 'main', quorum: undefined, log })
    try {
      await engine.start()
      const topology = topologyOf(engine)
      expect((await migrate(engine, topology, { tables: coreTables })).length).toBeGreaterThan(0)
      await engine.command({ sql: 'DROP TABLE _catalog SYNC' }, limits)
      expect(await migrate(engine, topology, { tables: coreTables })).toEqual([])
      const sql = 'SELECT toUInt32(count(position)) AS n FROM _catalog'
      expect(await queryRows(engine, { sql }, limits)).toEqual([{ n: 0 }])
    } finally {
      await engine.close()
      await command(`DROP DATABASE IF EXISTS ${own} SYNC`)
    }
  })
})

test('the engine can parse every statement of a replicated cluster', async () => {
  const topology = {
    ...topologyOf(service.engine),
    database: 'wellhead',
    replicated: true,
    shards: 'shards 1,1',
  }
  const column = { name: 'path', path: 'request.path', type: 'text', searched: true } as const
  const number = { name: 'status', path: 'status', type: 'number', searched: false } as const
  const source: Source = {
    name: 'orders',
    description: '',
    aliases: [],
    retention_days: 90,
    search_index: true,
    columns: [column, number],
    project: null,
    list_columns: [],
    rules: [],
    published: false,
    id: '00000000-0000-4000-8000-000000000001',
    version: 1,
    created_at: '',
    updated_at: '',
    updated_by: '',
    note: '',
  }
  const added = storedColumns({ columns: [column] })
  const ownTables = await ownTablesOf(features)
  const statements = {
    'the database': [createDatabase(topology)],
    'the list of migrations': createMigrationsTable(topology),
    ...Object.fromEntries(
      migrations.map(({ id }) => {
        const tables = ownTables.filter(({ schema }) => schema === id)
        return [`migration ${id}`, tables.flatMap(({ create }) => create(topology))]
      }),
    ),
    'a new source': createSourceTable(source, topology),
    'another retention': changeRetention('orders', 30, topology),
    'other typed columns': changeTypedColumns('orders', { added, removed: ['status'] }, topology),
    'values of new typed columns': fillTypedColumns('orders', added, topology),
    'the index of words': changeWordIndex('orders_local', true, topology),
    'a table of rows': [
      createLookupTable('owners', [{ name: 'project', type: 'text' }], 'owners-1', topology),
    ],
    'other rows': switchTables('owners', '_table_1_a', topology),
    'a deleted source': dropSourceTable('orders', topology),
  }
  const text: string[] = []
  for (const [title, each] of Object.entries(statements)) {
    text.push(`-- ${title}`)
    for (const statement of each) {
      const [row] = await queryRows<{ sql: string }>(
        service.engine,
        { sql: 'SELECT formatQuery({statement:String}) AS sql', parameters: { statement } },
        limits,
      )
      text.push(`${row?.sql};`, '')
    }
  }
  await expect(text.join('\n')).toMatchFileSnapshot('./replicated-statements.sql')
})
