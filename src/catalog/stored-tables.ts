import { systemTable, type Topology } from '../cluster/topology.ts'
import type { Engine, Limits } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'

export type StoredTable = Record<'parts' | 'rows' | 'bytes', number>

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
