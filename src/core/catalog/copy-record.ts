import { OperatorError } from '../base/operator-error.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { tableNames } from '../engine/stored-tables.ts'
import { copyTable, createCopyTable } from '../engine/tables.ts'

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
  if (!(await tableNames(engine, limits)).includes('_copy')) return
  const events = await queryRows<{ event: string }>(engine, { sql: 'SELECT event FROM _copy' }, limits)
  if (events.length === 0 || events.some(({ event }) => event === 'finished')) return
  throw new OperatorError(
    `A copy to the database ${engine.database} is not finished. Drop the database, run wellhead copy again, then start the service.`,
  )
}

/** On a server, the copy of the catalog before a migration is a table beside it. Another service may make it first. */
export async function keepCatalogTable(engine: Engine, topology: Topology, schema: number): Promise<string> {
  const copy = `_catalog_of_schema_${schema}`
  const isThere = async () => (await tableNames(engine, limits)).includes(copy)
  if (await isThere()) return copy
  try {
    for (const sql of copyTable('_catalog', copy, topology)) await engine.command({ sql }, limits)
  } catch (error) {
    if (!(await isThere())) throw error
  }
  return copy
}
