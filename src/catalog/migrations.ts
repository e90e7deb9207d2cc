import type { Log } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { writeJsonRows } from '../engine/json-rows.ts'
import { keepMetadataAsText } from './metadata-text-migration.ts'
import {
  createMigrationsTable,
  createOwnTables,
  createTokenUses,
  database,
  orderCatalog,
  type Topology,
} from './tables.ts'

/** Typed columns that built-in sources of an older version do not have. */
export const shippedColumnsId = 5

export interface Migration {
  id: number
  statements?: (topology: Topology) => string[]
  /** Whether somebody else runs it. */
  later?: true
  /** Runs after the statements. */
  run?: (engine: Engine, topology: Topology, log: Log) => Promise<void>
}

/**
 * Changes of the schema, in the order in which they run, each once. A statement must bear being run again: a
 * start may be cut short between a change and its record. None that was ever released is changed or removed.
 */
export const migrations: readonly Migration[] = [
  { id: 1, statements: createOwnTables },
  { id: 2, statements: orderCatalog },
  { id: 3, statements: createTokenUses },
  { id: 4, run: keepMetadataAsText },
  // Done by the sources once they are open.
  { id: shippedColumnsId, later: true },
]

/** What the data is like once every migration has run. */
export const schemaVersion = Math.max(...migrations.map(({ id }) => id))

const limits = { deadlineMs: 60_000 }

/** Runs what has not been run on this data yet, and tells which that was. */
export async function migrate(
  engine: Engine,
  topology: Topology,
  log: Log,
  known: readonly Migration[] = migrations,
): Promise<number[]> {
  for (const sql of createMigrationsTable(topology)) await engine.command({ sql }, limits)
  const done = await readDone(engine)
  const newest = Math.max(0, ...done)
  if (newest > Math.max(0, ...known.map(({ id }) => id))) {
    throw new Error(
      `The data was written by a newer Wellhead (schema ${newest}). Start that one, or restore a backup.`,
    )
  }
  const ran: number[] = []
  for (const { id, statements, run, later } of known) {
    if (done.has(id) || later) continue
    for (const sql of statements?.(topology) ?? []) await engine.command({ sql }, limits)
    await run?.(engine, topology, log)
    await record(engine, id)
    ran.push(id)
  }
  return ran
}

/** Runs a migration that is not of the schema alone, unless it was run on this data. */
export async function runOnce(engine: Engine, id: number, work: () => Promise<void>): Promise<void> {
  if ((await readDone(engine)).has(id)) return
  await work()
  await record(engine, id)
}

async function readDone(engine: Engine): Promise<Set<number>> {
  const { body } = await engine.query(
    { sql: `SELECT DISTINCT id FROM ${database}._migrations ORDER BY id`, format: 'TabSeparatedRaw' },
    limits,
  )
  return new Set(body.toString().split('\n').filter(Boolean).map(Number))
}

async function record(engine: Engine, id: number): Promise<void> {
  await engine.insert(
    { table: `${database}._migrations`, columns: ['id'], format: 'JSONEachRow' },
    writeJsonRows([{ id }]),
    limits,
  )
}
