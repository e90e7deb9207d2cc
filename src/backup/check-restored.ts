import type { Engine } from '../engine/engine.ts'
import { readJsonRows } from '../engine/json-rows.ts'
import { engineDatabase } from '../sql/names.ts'
import { BackupProblem, type Manifest } from './manifest.ts'

const limits = { deadlineMs: 600_000 }

/**
 * Compares the rows that an engine finds in every table with those that were backed up: the engine opens a table all
 * the same where it has to put parts aside that it cannot read. The engine must be at rest: else it merges and removes what has
 * expired as soon as it is open.
 */
export async function checkRestored(engine: Engine, manifest: Manifest): Promise<void> {
  const { body } = await engine.query(
    {
      sql:
        'SELECT table, toFloat64(sum(rows)) AS rows FROM system.parts ' +
        'WHERE active AND database = {database:String} GROUP BY table',
      parameters: { database: engineDatabase },
      format: 'JSONEachRow',
    },
    limits,
  )
  const found = new Map(
    readJsonRows<{ table: string; rows: number }>(body).map(({ table, rows }) => [table, rows]),
  )
  for (const { name, rows } of manifest.tables) {
    if ((found.get(name) ?? 0) === rows) continue
    throw new BackupProblem(
      `The backup has ${rows} rows of table ${name}, and the engine can read ${found.get(name) ?? 0} of them. ` +
        'Restore another backup, or take a new one. To keep what can be read of this one, restore it with --no-open.',
    )
  }
}
