import { randomBytes } from 'node:crypto'
import { ClusterEngine, RemoteEngine, topologyOf } from '../../src/core/engine/cluster/cluster-engine.ts'
import { queryRows } from '../../src/core/engine/json-rows.ts'
import { log, type OpenEngine, openEmbedded, openServer, type TestServer } from './engines.ts'
import { openRelay, type Relay } from './network/relay.ts'

interface Server {
  /** With user and password. */
  url: string
  cluster?: string | undefined
}

/** A server that all engines and services of a test file use, in one database. */
export interface SharedServer extends Server {
  database: string
}

let opened: Promise<TestServer> | undefined
let shared: SharedServer | undefined

/** The cluster that the server of a worker has, of which it is the only node. */
export const ownCluster = 'main'

/** A ClickHouse server that the files of a worker share, and that ends with the worker. Nobody may stop it. */
export function ownServer(): Promise<Pick<TestServer, 'url'>> {
  opened ??= openServer({ cluster: ownCluster })
  return opened
}

/** The server of this worker, or the one that the environment names. */
export async function workerServer(): Promise<Server> {
  const { WELLHEAD_TEST_CLICKHOUSE_URL: given, WELLHEAD_TEST_CLICKHOUSE_CLUSTER: cluster } = process.env
  const { url } = given ? { url: given } : await ownServer()
  return { url, cluster: cluster || undefined }
}

/** Settings of a service that uses the database. */
export function environmentOf({ url, database, cluster }: SharedServer): Record<string, string> {
  return {
    WELLHEAD_CLICKHOUSE_URL: url,
    WELLHEAD_CLICKHOUSE_DATABASE: database,
    WELLHEAD_CLICKHOUSE_CLUSTER: cluster ?? '',
  }
}

export function sharedServer(): SharedServer | undefined {
  return shared
}

export function shareServer(server: SharedServer | undefined): void {
  shared = server
}

/** A new database on the server, by default that of the worker. */
export async function newDatabase(server?: Server): Promise<SharedServer> {
  const { url, cluster } = server ?? (await workerServer())
  return { url, cluster, database: `wellhead_test_${randomBytes(6).toString('hex')}` }
}

/** A database that a service has had, and what it had at first: its tables, and the number of its migrations. */
interface UsedDatabase extends SharedServer {
  tables: Map<string, string>
  migrations: number
}

/** Databases of services that have ended, emptied for the next ones: a start that creates all tables takes twice as long. */
const emptied: UsedDatabase[] = []
const limits = { deadlineMs: 60_000 }

/** A database without entries and definitions for a service, which may have the tables already. */
export async function databaseForService(): Promise<SharedServer> {
  return emptied.pop() ?? newDatabase()
}

/** To be called when the first service has started there. */
export async function rememberTables(server: SharedServer): Promise<SharedServer> {
  if (server.cluster !== undefined || server.url !== (await opened)?.url || 'tables' in server) return server
  const engine = await connect(server)
  const found = await tablesOf(engine).finally(() => engine.close())
  const tables = new Map(found.map(({ name, sql }) => [name, sql]))
  const used: UsedDatabase = { ...server, tables, migrations: migrationsIn(found) }
  return used
}

/** Empties the database for another service, or drops it if its tables or its schema have changed. */
export async function leaveDatabase(server: SharedServer | UsedDatabase): Promise<void> {
  if (!('tables' in server)) return dropDatabase(server)
  const engine = await connect(server)
  const run = (sql: string) => engine.command({ sql }, limits)
  try {
    const found = await tablesOf(engine)
    for (const { name } of found) if (!server.tables.has(name)) await run(`DROP TABLE \`${name}\` SYNC`)
    const kept = found.filter(({ name, sql }) => server.tables.get(name) === sql)
    const isChanged = kept.length < server.tables.size || migrationsIn(found) !== server.migrations
    if (isChanged) return await dropDatabase(server)
    for (const { name, parts } of kept)
      if (parts > 0 && name !== '_migrations') await run(`TRUNCATE TABLE \`${name}\` SYNC`)
    emptied.push(server)
  } finally {
    await engine.close()
  }
}

interface FoundTable {
  name: string
  sql: string
  rows: number
  /** A table whose rows were all deleted can have parts, with which the server remembers tokens of inserts. */
  parts: number
}

function tablesOf(engine: RemoteEngine): Promise<FoundTable[]> {
  const sql =
    'SELECT name, create_table_query AS sql, toFloat64(ifNull(total_rows, 0)) AS rows, toFloat64(ifNull(active_parts, 0)) AS parts ' +
    'FROM system.tables WHERE database = currentDatabase()'
  return queryRows<FoundTable>(engine, { sql }, limits)
}

function migrationsIn(found: readonly FoundTable[]): number {
  return found.find(({ name }) => name === '_migrations')?.rows ?? 0
}

export async function dropDatabase(server: SharedServer): Promise<void> {
  const engine = await connect(server)
  const { database, cluster, replicated } = topologyOf(engine)
  const where = replicated ? ` ON CLUSTER \`${cluster}\`` : ''
  const sql = `DROP DATABASE IF EXISTS \`${database}\`${where} SYNC`
  await engine.command({ sql }, limits).finally(() => engine.close())
}

export async function connect({ cluster, ...server }: SharedServer): Promise<RemoteEngine> {
  const options = { ...server, log, maxResultBytes: 32 * 2 ** 20 }
  const engine =
    cluster === undefined
      ? new RemoteEngine(options)
      : new ClusterEngine({ ...options, cluster, quorum: undefined })
  await engine.start()
  return engine
}

/** An engine on the server that this file shares, or in a database of its own on the worker's server. */
export async function openEngine(otherwise?: 'embedded'): Promise<OpenEngine> {
  if (!shared && otherwise === 'embedded') return openEmbedded()
  const server = shared ?? (await newDatabase())
  const isOwn = server !== shared
  const engine = await connect(server)
  return {
    engine,
    close: async () => {
      await engine.close()
      if (isOwn) await dropDatabase(server)
    },
  }
}

/** A connection to the worker's server that can be cut. */
export async function openRemote(): Promise<OpenEngine<RemoteEngine> & { network: Relay }> {
  const server = await newDatabase()
  const address = new URL(server.url)
  const network = await openRelay(Number(address.port), address.hostname)
  const engine = await connect({
    ...server,
    url: Object.assign(address, { host: new URL(network.url).host }).href,
  })
  return {
    engine,
    network,
    close: async () => {
      await engine.close()
      await network.cut()
      await dropDatabase(server)
    },
  }
}
