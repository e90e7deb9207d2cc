import { type Engine, engineDatabase } from '../engine/engine.ts'
import { readJsonRows } from '../engine/json-rows.ts'
import { BackupProblem, type Manifest } from './manifest.ts'

const limits = { deadlineMs: 600_000 }

interface PartRow {
  table: string
  name: string
  rows: number
}

/**
 * Asks an engine whether every part of the backup is there with all of its rows: one that it cannot read, it puts aside
 * and goes on. The engine must be at rest: else it merges and removes what has expired as soon as it is open.
 */
export async function checkRestored(engine: Engine, manifest: Manifest): Promise<void> {
  const { body } = await engine.query(
    {
      sql: 'SELECT table, name, toFloat64(rows) AS rows FROM system.parts WHERE database = {database:String}',
      parameters: { database: engineDatabase },
      format: 'JSONEachRow',
    },
    limits,
  )
  const rows = new Map(readJsonRows<PartRow>(body).map((part) => [keyOf(part.table, part.name), part.rows]))
  for (const table of manifest.tables) {
    let found = 0
    for (const part of table.parts) found += rows.get(keyOf(table.name, part)) ?? 0
    if (found !== table.rows) {
      throw new BackupProblem(
        `The engine finds ${found} rows of the backup in the table ${table.name}; ${table.rows} were backed up.`,
      )
    }
  }
}

/** A change of a table that had not come to a part yet goes on, and gives it another end of its name. */
function keyOf(table: string, part: string): string {
  return `${table}/${part.split('_').slice(0, 3).join('_')}`
}
