import { sqlText } from '../sql/names.ts'
import { systemTable, type Topology } from './cluster/topology.ts'
import type { Engine, Limits } from './engine.ts'
import { outputJson, queryRows, queryText } from './json-rows.ts'

/** Of the service's database, in order. */
export async function tableNames(engine: Pick<Engine, 'query'>, limits: Limits): Promise<string[]> {
  const sql = 'SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name'
  return (await queryText(engine, { sql }, limits)).split('\n').filter(Boolean)
}

/** Whether a node that responds lacks a table: it was added to the cluster, or lost its data. */
export async function someNodeLacks(
  table: string,
  engine: Engine,
  { cluster, database }: Topology,
  limits: Limits,
): Promise<boolean> {
  if (cluster === undefined) return false
  const sql =
    `SELECT countIf(database = 'system') > countIf(database != 'system') FROM clusterAllReplicas(${sqlText(cluster)}, system.tables) ` +
    `WHERE (database, name) IN (('system', 'clusters'), (${sqlText(database)}, ${sqlText(table)}))`
  return (await queryText(engine, { sql, settings: { skip_unavailable_shards: 1 } }, limits)) === '1'
}

type StoredTable = Record<'parts' | 'rows' | 'bytes', number>

/** By source, without empty ones. On a cluster, one replica of each shard counts. */
export async function readStoredTables(
  engine: Engine,
  topology: Topology,
  limits: Limits,
): Promise<Map<string, StoredTable>> {
  const sql =
    "SELECT replaceRegexpOne(table, '_local$', '') AS source, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes " +
    `FROM ${systemTable(topology, 'parts')} WHERE active AND database = {database:String} GROUP BY source`
  type Row = Record<keyof StoredTable | 'source', string>
  const tables = await queryRows<Row>(engine, { sql, parameters: { database: engine.database } }, limits)
  return new Map(
    tables.map(({ source, parts, rows, bytes }) => [
      source,
      { parts: Number(parts), rows: Number(rows), bytes: Number(bytes) },
    ]),
  )
}

/** How much of each column that is being filled is done, from 0 to 1. Other columns are complete. */
export async function readFilling(
  source: string,
  engine: Engine,
  topology: Topology,
  limits: Limits,
): Promise<Map<string, number>> {
  const ofSource = 'database = {database:String} AND table IN ({source:String}, {local:String})'
  const sql =
    "SELECT extract(command, 'MATERIALIZE COLUMN `?(\\\\w+)') AS column, max(parts_to_do) AS left, " +
    `(SELECT count() FROM ${systemTable(topology, 'parts')} WHERE active AND ${ofSource}) AS parts ` +
    `FROM ${systemTable(topology, 'mutations')} WHERE NOT is_done AND column != '' AND ${ofSource} GROUP BY column`
  const parameters = { database: engine.database, source, local: `${source}_local` }
  const statement = { sql, parameters, settings: outputJson }
  type Row = { column: string; left: number; parts: number }
  const rows = await queryRows<Row>(engine, statement, limits)
  return new Map(rows.map(({ column, left, parts }) => [column, 1 - Math.min(1, left / Math.max(1, parts))]))
}

export async function readDisks(engine: Engine, limits: Limits) {
  const sql =
    'SELECT name, toFloat64(free_space) AS free, toFloat64(total_space) AS total FROM system.disks ORDER BY name'
  return queryRows<{ name: string; free: number; total: number }>(engine, { sql }, limits)
}
