import { FixableProblem } from '../base/fixable-problem.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { createCopyTable } from './tables.ts'

/** What a copy from another installation records in the database that it fills. */
export interface CopyRecord {
  at: string
  /** Identifies the copied installation. */
  origin: string
  event: 'begun' | 'finished'
  /** The sources that are copied, with what determines their tables. */
  sources: string
}

const limits = { deadlineMs: 60_000 }

/** Oldest first; empty if nothing was ever copied to this database. */
export async function readCopyRecords(engine: Engine): Promise<CopyRecord[]> {
  const sql = "SELECT count() AS n FROM system.tables WHERE database = currentDatabase() AND name = '_copy'"
  const [found] = await queryRows<{ n: string }>(engine, { sql }, limits)
  if (Number(found?.n) === 0) return []
  return queryRows<CopyRecord>(
    engine,
    { sql: 'SELECT toString(at) AS at, origin, event, sources FROM _copy ORDER BY at, origin' },
    limits,
  )
}

export async function recordCopy(
  engine: Engine,
  topology: Topology,
  record: Omit<CopyRecord, 'at'>,
): Promise<void> {
  for (const sql of createCopyTable(topology)) await engine.command({ sql }, limits)
  await engine.insert(
    { table: '_copy', columns: ['origin', 'event', 'sources'], format: 'JSONEachRow' },
    writeJsonRows([record]),
    limits,
  )
}

/** A service on a half-filled database would create a catalog of its own. */
export async function refuseUnfinishedCopy(engine: Engine): Promise<void> {
  const records = await readCopyRecords(engine)
  if (records.length === 0 || records.some(({ event }) => event === 'finished')) return
  throw new FixableProblem(
    `A copy to the database ${engine.database} is not finished. Run wellhead copy again until it succeeds, then start the service.`,
  )
}
