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
 * Asks an engine that has just opened the restored data whether every part of the backup is there with all of its
 * rows. The engine begins to tidy up at once, so that parts count which it has merged, or dropped as expired, since
 * it opened them: it lists them for some minutes.
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
  const rows = new Map(readJsonRows<PartRow>(body).map((part) => [`${part.table}/${part.name}`, part.rows]))
  for (const table of manifest.tables) {
    let found = 0
    for (const part of table.parts) found += rows.get(`${table.name}/${part}`) ?? 0
    if (found !== table.rows) {
      throw new BackupProblem(
        `The engine finds ${found} rows of the backup in the table ${table.name}; ${table.rows} were backed up.`,
      )
    }
  }
}
