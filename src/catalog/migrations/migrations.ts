import type { Log } from '../../base/log.ts'
import type { Engine } from '../../engine/engine.ts'
import { writeJsonRows } from '../../engine/json-rows.ts'
import { sqlText } from '../../sql/names.ts'
import {
  addPositions,
  createMigrationsTable,
  createOwnTables,
  createTokenUses,
  orderCatalog,
} from '../tables.ts'
import type { Topology } from '../topology.ts'
import { keepMetadataAsText } from './metadata-text-migration.ts'

/** Adds typed columns to the built-in sources of older versions. */
export const shippedColumnsId = 5

interface Migration {
  id: number
  statements?: (topology: Topology) => string[]
  /** Set if it runs later, through `runOnce`. */
  later?: true
  run?: (engine: Engine, topology: Topology, log: Log) => Promise<void>
}

/**
 * Schema changes, in order; each runs once. Statements must be idempotent, because a start may be interrupted before the
 * migration is recorded. Released migrations are never removed, and always lead to the same tables.
 */
export const migrations: readonly Migration[] = [
  { id: 1, statements: createOwnTables },
  { id: 2, statements: orderCatalog },
  { id: 3, statements: createTokenUses },
  { id: 4, run: keepMetadataAsText },
  // Run by `Sources` once it is open.
  { id: shippedColumnsId, later: true },
  { id: 6, statements: addPositions },
]

export const schemaVersion = Math.max(...migrations.map(({ id }) => id))

const limits = { deadlineMs: 60_000 }

/** Runs the migrations that this data lacks, and returns their ids. */
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
      `The data was written by a newer version of Wellhead (schema ${newest}). Start that version, or restore a backup.`,
    )
  }
  const ran: number[] = []
  const isIncomplete = done.size > 0 && (await someNodeLacksTables(engine, topology))
  for (const { id, statements, run, later } of known) {
    if (later || (done.has(id) && !(isIncomplete && statements))) continue
    // All replicas must have a new column before rows with it are inserted.
    const settings = { alter_sync: 2 }
    for (const sql of statements?.(topology) ?? []) await engine.command({ sql, settings }, limits)
    if (done.has(id)) continue
    await run?.(engine, topology, log)
    await record(engine, id)
    ran.push(id)
  }
  return ran
}

/** Whether a node that responds was added to the cluster, or lost its data. */
async function someNodeLacksTables(engine: Engine, { cluster, database }: Topology): Promise<boolean> {
  if (cluster === undefined) return false
  const { body } = await engine.query(
    {
      sql:
        `SELECT countIf(database = 'system') > countIf(database != 'system') FROM clusterAllReplicas(${sqlText(cluster)}, system.tables) ` +
        `WHERE (database, name) IN (('system', 'clusters'), (${sqlText(database)}, '_catalog'))`,
      format: 'TabSeparatedRaw',
      settings: { skip_unavailable_shards: 1 },
    },
    limits,
  )
  return body.toString().trim() === '1'
}

/** Runs the work of a migration, unless it was already run on this data. */
export async function runOnce(engine: Engine, id: number, work: () => Promise<void>): Promise<void> {
  if ((await readDone(engine)).has(id)) return
  await work()
  await record(engine, id)
}

/** Ids of the migrations that were run on this data. */
export async function readDone(engine: Engine): Promise<Set<number>> {
  const { body } = await engine.query(
    { sql: `SELECT DISTINCT id FROM _migrations ORDER BY id`, format: 'TabSeparatedRaw' },
    limits,
  )
  return new Set(body.toString().split('\n').filter(Boolean).map(Number))
}

async function record(engine: Engine, id: number): Promise<void> {
  await engine.insert(
    { table: '_migrations', columns: ['id'], format: 'JSONEachRow' },
    writeJsonRows([{ id }]),
    limits,
  )
}
