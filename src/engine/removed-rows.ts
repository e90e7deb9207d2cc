import { onCluster, systemTable, type Topology } from './cluster/topology.ts'
import type { Engine, Limits } from './engine.ts'
import { queryRows, queryText } from './json-rows.ts'
import { localName } from './tables.ts'

const commandLimits = { deadlineMs: 120_000 }

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

/** Whether rows are being removed from a table. */
export async function isRemoving(engine: Engine, topology: Topology, table: string): Promise<boolean> {
  const sql =
    `SELECT count() FROM ${systemTable(topology, 'mutations')} WHERE database = {database:String} ` +
    "AND table = {table:String} AND NOT is_done AND startsWith(command, '(DELETE')"
  const parameters = { database: topology.database, table: storedName(table, topology) }
  const limits = { deadlineMs: 30_000 }
  return (await queryText(engine, { sql, parameters }, limits)) !== '0'
}

/** Rows on every replica: throws if one cannot be reached. */
export async function countRows(
  engine: Engine,
  topology: Topology,
  table: string,
  condition: string,
  limits: Limits,
): Promise<{ rows: number; newestMicros: bigint }> {
  const { cluster, database } = topology
  const local = storedName(table, topology)
  const from =
    cluster === undefined
      ? `${database}.\`${local}\``
      : `clusterAllReplicas('${cluster}', ${database}, \`${local}\`)`
  const at = table.startsWith('_') ? 'at' : 'timestamp'
  const sql = `SELECT count() AS rows, toString(toUnixTimestamp64Micro(max(${at}))) AS newest FROM ${from} WHERE ${condition}`
  const settings = { skip_unavailable_shards: 0 }
  type Row = { rows: string; newest: string }
  const [row] = await queryRows<Row>(engine, { sql, settings }, limits)
  return { rows: Number(row?.rows ?? 0), newestMicros: BigInt(row?.newest ?? 0) }
}

/** Internal tables are the same on every node of a cluster. */
function storedName(table: string, topology: Topology): string {
  return table.startsWith('_') ? table : localName(table, topology)
}
