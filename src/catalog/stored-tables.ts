import type { Engine } from '../engine/engine.ts'
import { readJsonRows } from '../engine/json-rows.ts'
import { database } from './tables.ts'

/** What the parts of one source's table are together. */
export interface StoredTable {
  parts: number
  rows: number
  /** On disk, packed. */
  bytes: number
}

/** By source; one without a part is not there. On a cluster this is the share of the server that answers. */
export async function readStoredTables(
  engine: Engine,
  limits: { deadlineMs: number },
): Promise<Map<string, StoredTable>> {
  const { body } = await engine.query(
    {
      sql:
        "SELECT replaceRegexpOne(table, '_local$', '') AS source, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes " +
        'FROM system.parts WHERE active AND database = {database:String} GROUP BY source',
      parameters: { database },
      format: 'JSONEachRow',
    },
    limits,
  )
  return new Map(
    readJsonRows<Record<keyof StoredTable | 'source', string>>(body).map(({ source, parts, rows, bytes }) => [
      source,
      { parts: Number(parts), rows: Number(rows), bytes: Number(bytes) },
    ]),
  )
}
