import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { engineUnavailable } from '../base/errors.ts'
import { sqlText } from '../sql/names.ts'
import { onCluster, systemTable, type Topology } from './cluster/topology.ts'
import type { Engine, Limits } from './engine.ts'
import { queryRows, queryText } from './json-rows.ts'
import { localName } from './tables.ts'

const commandLimits = { deadlineMs: 120_000 }
/** Of counts of several tables, for which a request may wait. */
const maxDeadlineMs = 600_000
/** Nodes of a cluster may learn late of a removal. */
const mutationListedMs = 30_000

/** Begins to remove rows from a source or an internal table, by writing the parts that have some again: decision 27. */
export async function removeRows(
  engine: Engine,
  topology: Topology,
  table: string,
  condition: string,
): Promise<void> {
  const settings = {
    mutations_sync: 0,
    // The condition may read which projects have a plan.
    allow_nondeterministic_mutations: 1,
  }
  const target = `${topology.database}.\`${storedName(table, topology)}\`${onCluster(topology)}`
  await engine.command({ sql: `ALTER TABLE ${target} DELETE WHERE ${condition}`, settings }, commandLimits)
}

/** The tables of these from which rows are being removed. */
export async function tablesRemoving(
  engine: Engine,
  topology: Topology,
  tables: readonly string[],
): Promise<Set<string>> {
  const byStored = new Map(tables.map((table) => [storedName(table, topology), table]))
  const sql =
    `SELECT DISTINCT table FROM ${systemTable(topology, 'mutations')} WHERE database = {database:String} ` +
    "AND has({tables:Array(String)}, table) AND NOT is_done AND startsWith(command, '(DELETE')"
  const parameters = { database: topology.database, tables: [...byStored.keys()] }
  const rows = await queryRows<{ table: string }>(engine, { sql, parameters }, { deadlineMs: 30_000 })
  return new Set(rows.map(({ table }) => byStored.get(table) as string))
}

export interface CountedRows {
  rows: number
  newestMicros: bigint
}

/** Tables that are counted by one statement. */
const countedAtOnce = 16

interface CountedTable {
  table: string
  conditions: readonly string[]
}

/**
 * Rows of tables that meet each condition, in the order of these, on every replica or on one of each shard. Throws if one of these
 * cannot be reached. One thread counts, which leaves the others to queries.
 */
export async function countRows(
  engine: Engine,
  topology: Topology,
  tables: readonly CountedTable[],
  { deadlineMs }: Limits,
  replicas: 'all' | 'one' = 'all',
): Promise<CountedRows[][]> {
  const counted: CountedRows[][] = []
  for (let first = 0; first < tables.length; first += countedAtOnce) {
    const some = tables.slice(first, first + countedAtOnce)
    const sql = some.map((table, place) => countSql(topology, table, place, replicas)).join(' UNION ALL ')
    const statement = { sql, settings: { skip_unavailable_shards: 0, max_threads: 1 } }
    type Row = { place: number; rows: string[]; newest: string[] }
    const rows = await queryRows<Row>(engine, statement, {
      deadlineMs: Math.min(deadlineMs * some.length, maxDeadlineMs),
    })
    const byPlace = new Map(rows.map((row) => [row.place, row]))
    for (const [place, { conditions }] of some.entries()) {
      const row = byPlace.get(place)
      counted.push(
        conditions.map((_, at) => ({
          rows: Number(row?.rows[at] ?? 0),
          newestMicros: BigInt(row?.newest[at] ?? 0),
        })),
      )
    }
  }
  return counted
}

/** Reads the rows once, however many conditions there are. */
function countSql(
  topology: Topology,
  { table, conditions }: CountedTable,
  place: number,
  replicas: 'all' | 'one',
): string {
  const { cluster, database } = topology
  const local = storedName(table, topology)
  const from =
    cluster === undefined
      ? `${database}.\`${local}\``
      : `${replicas === 'all' ? 'clusterAllReplicas' : 'cluster'}('${cluster}', ${database}, \`${local}\`)`
  const each = (sql: (at: number) => string) => conditions.map((_, at) => sql(at)).join(', ')
  return (
    `SELECT ${place} AS place, [${each((at) => `toString(countIf(_is${at}))`)}] AS rows, ` +
    `[${each((at) => `toString(toUnixTimestamp64Micro(maxIf(_at, _is${at})))`)}] AS newest FROM (` +
    `SELECT ${table.startsWith('_') ? 'at' : 'timestamp'} AS _at, ` +
    `${conditions.map((sql, at) => `(${sql}) AS _is${at}`).join(', ')} FROM ${from} ` +
    `WHERE ${conditions.map((_, at) => `_is${at}`).join(' OR ')})`
  )
}

/** Separates the rows that a table had when a removal began from those that were stored later: decision 27. */
export const cutoffShape = z.object({
  /** A table that was created again numbers its parts anew. */
  table_id: z.string(),
  /** The number of the removal, of each partition of a replicated table. Parts that were stored later have higher ones. */
  versions: z.array(z.object({ shard: z.string(), partition: z.string(), number: z.number() })),
})

export type Cutoff = z.output<typeof cutoffShape>

/**
 * Begins to remove the rows that meet a condition and are stored at this moment. The engine does not touch rows that are
 * stored later, and does not merge them with those that it has not looked at yet.
 */
export async function beginRemoval(
  engine: Engine,
  topology: Topology,
  table: string,
  condition: string,
): Promise<Cutoff> {
  const id = randomUUID()
  await removeRows(engine, topology, table, `(${condition}) AND notEmpty('${id}')`)
  const waitedUntil = performance.now() + mutationListedMs
  for (;;) {
    const versions = await versionsOf(engine, topology, table, id)
    if (versions) {
      return { table_id: (await tableIds(engine, topology, [table])).get(table)?.[0] ?? '', versions }
    }
    if (performance.now() > waitedUntil) throw engineUnavailable('A node does not list a removal of rows.')
    await delay(100)
  }
}

/** Condition for rows that were stored before a removal began and are still there. */
export function storedBefore({ versions }: Cutoff): string {
  const [first] = versions
  if (!first) return 'false'
  if (first.partition === '') return `_part_data_version < ${first.number}`
  const keys = versions.map(({ shard, partition }) => sqlText(`${shard} ${partition}`))
  const numbers = versions.map(({ number }) => `toUInt64(${number})`)
  const own = "concat(getMacro('shard'), ' ', _partition_id)"
  return `_part_data_version < transform(${own}, [${keys.join(', ')}], [${numbers.join(', ')}], toUInt64(0))`
}

/** Undefined if a shard does not list the removal yet. */
async function versionsOf(
  engine: Engine,
  topology: Topology,
  table: string,
  id: string,
): Promise<Cutoff['versions'] | undefined> {
  const { cluster, database, replicated } = topology
  const [shard, from] = replicated
    ? ["getMacro('shard')", `clusterAllReplicas('${cluster}', system.mutations)`]
    : ["''", 'system.mutations']
  const sql =
    `SELECT ${shard} AS shard, block_numbers.partition_id AS partitions, ` +
    `arrayMap(n -> toString(n), block_numbers.number) AS numbers FROM ${from} ` +
    'WHERE database = {database:String} AND table = {table:String} AND position(command, {id:String}) > 0'
  const parameters = { database, table: storedName(table, topology), id }
  type Row = { shard: string; partitions: string[]; numbers: string[] }
  const rows = await queryRows<Row>(engine, { sql, parameters }, commandLimits)
  if (new Set(rows.map((row) => row.shard)).size < (replicated ? await countShards(engine, topology) : 1)) {
    return undefined
  }
  const versions = new Map<string, Cutoff['versions'][number]>()
  for (const { shard, partitions, numbers } of rows) {
    for (const [at, partition] of partitions.entries()) {
      const key = `${shard} ${partition}`
      // An internal table has one for each shard of the cluster.
      const number = Math.max(Number(numbers[at]), versions.get(key)?.number ?? 0)
      versions.set(key, { shard, partition, number })
    }
  }
  return [...versions.values()]
}

async function countShards(engine: Engine, { cluster }: Topology): Promise<number> {
  const sql = 'SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String}'
  const parameters = { cluster: cluster ?? '' }
  return Number(await queryText(engine, { sql, parameters }, commandLimits))
}

/** The ids that the nodes have given to each of these tables. */
export async function tableIds(
  engine: Engine,
  topology: Topology,
  tables: readonly string[],
): Promise<Map<string, string[]>> {
  const { cluster, database, replicated } = topology
  const byStored = new Map(tables.map((table) => [storedName(table, topology), table]))
  const from = replicated ? `clusterAllReplicas('${cluster}', system.tables)` : 'system.tables'
  const sql =
    `SELECT name, groupUniqArray(toString(uuid)) AS ids FROM ${from} WHERE database = {database:String} ` +
    'AND has({tables:Array(String)}, name) GROUP BY name'
  const parameters = { database, tables: [...byStored.keys()] }
  const rows = await queryRows<{ name: string; ids: string[] }>(engine, { sql, parameters }, commandLimits)
  return new Map(rows.map(({ name, ids }) => [byStored.get(name) as string, ids]))
}

/** Internal tables are the same on every node of a cluster. */
function storedName(table: string, topology: Topology): string {
  return table.startsWith('_') ? table : localName(table, topology)
}
