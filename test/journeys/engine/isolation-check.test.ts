import { afterAll, beforeAll, expect, test } from 'vitest'
import { RemoteEngine } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { checkIsolation } from '../../../src/core/engine/cluster/isolation-check.ts'
import { own, probesOf, readProbesOf } from '../../../src/core/engine/cluster/isolation-probes.ts'
import type { Engine, Statement } from '../../../src/core/engine/engine.ts'
import { rowFilterSettings } from '../../../src/core/sql/isolation.ts'
import { log } from '../../support/engines.ts'
import { dropDatabase, newDatabase, ownServer, type SharedServer } from '../../support/worker-server.ts'

type Settings = NonNullable<Statement['settings']>

const limits = { deadlineMs: 60_000 }
let server: SharedServer
let engine: RemoteEngine

beforeAll(async () => {
  server = await newDatabase(await ownServer())
  // No pings: an emulated engine that runs all probes at once may respond to them too late.
  engine = new RemoteEngine({ ...server, log, checkEveryMs: 3_600_000 })
  await engine.start()
})
afterAll(async () => {
  await engine?.close()
  if (server) await dropDatabase(server)
})

/** The engine as a server that treats some settings in its own way. */
function serverThat(
  alter: (settings: Settings, sql: string) => Settings,
): Pick<Engine, 'query' | 'insert' | 'command' | 'database'> {
  return {
    database: engine.database,
    command: (statement, own) => engine.command(statement, own),
    insert: (target, rows, own) => engine.insert(target, rows, own),
    query: (statement, own) =>
      engine.query({ ...statement, settings: alter(statement.settings ?? {}, statement.sql) }, own),
  }
}

const without = (name: string) => (settings: Settings) =>
  Object.fromEntries(Object.entries(settings).filter(([other]) => other !== name))
/** As a profile that does not allow changing the setting. */
const insisting = (name: string) => (settings: Settings) => ({ ...settings, [name]: 1 })

const tables = async () => {
  const sql = "SELECT name FROM system.tables WHERE name LIKE '\\\\_isolation%' ORDER BY name"
  const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, limits)
  return body.toString().split('\n').filter(Boolean)
}

test('the engine shows tenants nothing of each other', async () => {
  expect(await checkIsolation(engine)).toBeUndefined()
})

test('nor does a cluster, through its distributed tables', async () => {
  expect(await checkIsolation(engine, 'main')).toBeUndefined()
  const broken = serverThat(without('additional_table_filters'))
  expect(await checkIsolation(broken, 'main')).toContain(
    'Rows of other tenants show in a plain query, a count,',
  )
  expect(await tables()).toEqual([])
})

test('every way to see foreign rows shows them without the filter', async () => {
  const ways = [...probesOf('t'), ...readProbesOf('t')].map((probe) => probe.in)
  expect(await checkIsolation(serverThat(without('additional_table_filters')))).toBe(
    `Rows of other tenants show in ${ways.join(', ')}.`,
  )
})

test.each([
  ['query_plan_merge_filters', 'Rows of other tenants show in an error after another condition.'],
  [
    'enable_join_runtime_filters',
    'Rows of other tenants show in an error of a join that filters while it reads.',
  ],
])('a server that insists on %s is found', async (setting, sentence) => {
  expect(await checkIsolation(serverThat(insisting(setting)))).toBe(sentence)
})

test('a check that shows nothing even without the filter proves nothing', async () => {
  const filtering = serverThat((settings, sql) => {
    const [table] = /_isolation_\w+/.exec(sql) ?? []
    const filters = rowFilterSettings(engine.database, [`${table}`], { project: own })
    return { ...filters, ...settings }
  })
  expect(await checkIsolation(filtering)).toMatch(
    /^The check shows nothing even without a filter in a plain query, /,
  )
})

test('a server that refuses the settings is not trusted', async () => {
  expect(await checkIsolation(serverThat(insisting('no_such_setting')))).toMatch(
    /^ClickHouse refuses queries of tenants: .*no_such_setting/,
  )
})

test('a server that does not respond is neither trusted nor accused', async () => {
  const query = async () => Promise.reject(new Error('away'))
  await expect(checkIsolation({ ...serverThat((settings) => settings), query })).rejects.toThrow('away')
  expect(await tables()).toEqual([])
})

test('checks at the same time do not disturb each other, leave no tables, and find use_skip_indexes', async () => {
  const broken = serverThat(insisting('use_skip_indexes'))
  const found = await Promise.all([checkIsolation(engine), checkIsolation(broken)])
  const sentence = 'Rows of other tenants show in the number of rows that an index skips.'
  expect(found).toEqual([undefined, sentence])
  expect(await tables()).toEqual([])
})

test('removes tables of checks that were killed, but not those of others that run', async () => {
  const [old, current] = ['_isolation_1000_ab', `_isolation_${Date.now()}_ab`]
  for (const name of [old, current]) {
    await engine.command({ sql: `CREATE TABLE ${name} (a String) ENGINE = MergeTree ORDER BY a` }, limits)
  }
  await checkIsolation(engine)
  expect(await tables()).toEqual([current])
  await engine.command({ sql: `DROP TABLE ${current}` }, limits)
})
