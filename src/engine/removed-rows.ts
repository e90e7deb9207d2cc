import { onCluster, systemTable, type Topology } from './cluster/topology.ts'
import type { Engine, Limits } from './engine.ts'
import { queryRows } from './json-rows.ts'
import { localName } from './tables.ts'

const commandLimits = { deadlineMs: 120_000 }
/** Of counts of several tables, for which a request may wait. */
const maxDeadlineMs = 600_000

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
  table: string
  rows: number
  newestMicros: bigint
}

/** Tables that are counted by one statement. */
const countedAtOnce = 16

/** Rows of tables that meet a condition, on every replica or on one of each shard. Throws if one of these cannot be reached. */
export async function countRows(
  engine: Engine,
  topology: Topology,
  conditions: readonly { table: string; sql: string }[],
  { deadlineMs }: Limits,
  replicas: 'all' | 'one' = 'all',
): Promise<CountedRows[]> {
  const { cluster, database } = topology
  const counted: CountedRows[] = []
  for (let first = 0; first < conditions.length; first += countedAtOnce) {
    const some = conditions.slice(first, first + countedAtOnce)
    const counts = some.map(({ table, sql }, place) => {
      const local = storedName(table, topology)
      const from =
        cluster === undefined
          ? `${database}.\`${local}\``
          : `${replicas === 'all' ? 'clusterAllReplicas' : 'cluster'}('${cluster}', ${database}, \`${local}\`)`
      const newest = `toString(toUnixTimestamp64Micro(max(${table.startsWith('_') ? 'at' : 'timestamp'})))`
      return `SELECT ${place} AS place, count() AS rows, ${newest} AS newest FROM ${from} WHERE ${sql}`
    })
    const statement = { sql: counts.join(' UNION ALL '), settings: { skip_unavailable_shards: 0 } }
    type Row = { place: number; rows: string; newest: string }
    const rows = await queryRows<Row>(engine, statement, {
      deadlineMs: Math.min(deadlineMs * some.length, maxDeadlineMs),
    })
    const byPlace = new Map(rows.map((row) => [row.place, row]))
    for (const [place, { table }] of some.entries()) {
      const { rows: count = 0, newest = 0 } = byPlace.get(place) ?? {}
      counted.push({ table, rows: Number(count), newestMicros: BigInt(newest) })
    }
  }
  return counted
}

/** Internal tables are the same on every node of a cluster. */
function storedName(table: string, topology: Topology): string {
  return table.startsWith('_') ? table : localName(table, topology)
}
