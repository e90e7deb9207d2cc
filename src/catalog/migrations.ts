import { OperatorError } from '../base/operator-error.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryText, writeJsonRows } from '../engine/json-rows.ts'
import { sqlText } from '../sql/names.ts'
import { createMigrationsTable, createOwnTables } from './tables.ts'

interface Migration {
  id: number
  statements: (topology: Topology) => string[]
}

/**
 * Schema changes, in order; each runs once. Statements must be idempotent, because a start may be interrupted before the
 * migration is recorded. Released migrations are never removed, and always lead to the same tables.
 */
export const migrations: readonly Migration[] = [
  // Smaller ids belong to versions that were never released.
  { id: 10, statements: createOwnTables },
]

export const schemaVersion = Math.max(...migrations.map(({ id }) => id))

const limits = { deadlineMs: 60_000 }

/** Runs the migrations that this data lacks, and returns their ids. */
export async function migrate(engine: Engine, topology: Topology, known: readonly Migration[] = migrations) {
  await refuseForeignTables(engine)
  for (const sql of createMigrationsTable(topology)) await engine.command({ sql }, limits)
  const done = await readDone(engine)
  const newest = Math.max(0, ...done)
  if (newest > Math.max(0, ...known.map(({ id }) => id))) {
    throw new OperatorError(
      `The data was written by a newer version of Wellhead (schema ${newest}). Start that version, or restore a backup.`,
    )
  }
  if (newest > 0 && newest < Math.min(...migrations.map(({ id }) => id))) {
    throw new OperatorError(
      'The data was written by a version of Wellhead that was never released. Use another data directory or database.',
    )
  }
  const ran: number[] = []
  const isIncomplete = done.size > 0 && (await someNodeLacksTables(engine, topology))
  for (const { id, statements } of known) {
    if (done.has(id) && !isIncomplete) continue
    // All replicas must have a new column before rows with it are inserted.
    const settings = { alter_sync: 2 }
    for (const sql of statements(topology)) await engine.command({ sql, settings }, limits)
    if (done.has(id)) continue
    const target = { table: '_migrations', columns: ['id'], format: 'JSONEachRow' } as const
    await engine.insert(target, writeJsonRows([{ id }]), limits)
    ran.push(id)
  }
  return ran
}

/** Before the first migration, the tables in the database belong to another program: a source could take one over. */
async function refuseForeignTables(engine: Engine): Promise<void> {
  const sql =
    "SELECT countIf(NOT startsWith(name, '_')) FROM system.tables WHERE database = currentDatabase() " +
    "HAVING countIf(name = '_migrations') = 0"
  if (Number(await queryText(engine, { sql }, limits)) === 0) return
  throw new OperatorError(
    `The database ${engine.database} has tables of another program. Choose another with WELLHEAD_CLICKHOUSE_DATABASE.`,
  )
}

/** Whether a node that responds was added to the cluster, or lost its data. */
async function someNodeLacksTables(engine: Engine, { cluster, database }: Topology): Promise<boolean> {
  if (cluster === undefined) return false
  const sql =
    `SELECT countIf(database = 'system') > countIf(database != 'system') FROM clusterAllReplicas(${sqlText(cluster)}, system.tables) ` +
    `WHERE (database, name) IN (('system', 'clusters'), (${sqlText(database)}, '_catalog'))`
  return (await queryText(engine, { sql, settings: { skip_unavailable_shards: 1 } }, limits)) === '1'
}

export async function readDone(engine: Engine): Promise<Set<number>> {
  const ids = await queryText(engine, { sql: 'SELECT DISTINCT id FROM _migrations ORDER BY id' }, limits)
  return new Set(ids.split('\n').filter(Boolean).map(Number))
}
