import { OperatorError } from '../base/operator-error.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { createCopyTable } from './tables.ts'

const limits = { deadlineMs: 60_000 }

export async function recordCopy(
  engine: Engine,
  topology: Topology,
  event: 'begun' | 'finished',
): Promise<void> {
  for (const sql of createCopyTable(topology)) await engine.command({ sql }, limits)
  const rows = writeJsonRows([{ event }])
  await engine.insert({ table: '_copy', columns: ['event'], format: 'JSONEachRow' }, rows, limits)
}

/** A service on a half-filled database would create a catalog of its own. */
export async function refuseUnfinishedCopy(engine: Engine): Promise<void> {
  const tables = "SELECT name FROM system.tables WHERE database = currentDatabase() AND name = '_copy'"
  if ((await queryRows(engine, { sql: tables }, limits)).length === 0) return
  const events = await queryRows<{ event: string }>(engine, { sql: 'SELECT event FROM _copy' }, limits)
  if (events.length === 0 || events.some(({ event }) => event === 'finished')) return
  throw new OperatorError(
    `A copy to the database ${engine.database} is not finished. Drop the database, run wellhead copy again, then start the service.`,
  )
}
