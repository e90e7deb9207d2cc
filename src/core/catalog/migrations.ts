import { OperatorError } from '../base/operator-error.ts'
import { version } from '../base/package-file.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { createProjectTables } from '../engine/project-tables.ts'
import { someNodeLacks, tableNames } from '../engine/stored-tables.ts'
import { createMigrationsTable, createOwnTables } from '../engine/tables.ts'

interface Migration {
  id: number
  statements: (topology: Topology) => string[]
}

/**
 * Schema changes, in order; each runs once. Statements must be idempotent, because a start may be interrupted before the
 * migration is recorded. Released migrations are never removed, and always lead to the same tables.
 */
export const migrations: readonly Migration[] = [
  { id: 10, statements: createOwnTables },
  { id: 11, statements: createProjectTables },
]

export const schemaVersion = Math.max(...migrations.map(({ id }) => id))

const limits = { deadlineMs: 60_000 }

/**
 * Runs the migrations that this data lacks, and returns their ids. `keepCopy` is called before data that already has a schema
 * is changed.
 */
export async function migrate(
  engine: Engine,
  topology: Topology,
  known: readonly Migration[] = migrations,
  keepCopy?: (schema: number) => Promise<void>,
) {
  await refuseForeignTables(engine)
  for (const sql of createMigrationsTable(topology)) await engine.command({ sql }, limits)
  const done = await readDone(engine, known)
  if (done.size > 0 && known.some(({ id }) => !done.has(id))) await keepCopy?.(Math.max(...done))
  const ran: number[] = []
  const isIncomplete = done.size > 0 && (await someNodeLacks('_catalog', engine, topology, limits))
  for (const { id, statements } of known) {
    if (done.has(id) && !isIncomplete) continue
    // All replicas must have a new column before rows with it are inserted.
    const settings = { alter_sync: 2 }
    for (const sql of statements(topology)) await engine.command({ sql, settings }, limits)
    if (done.has(id)) continue
    const target = { table: '_migrations', columns: ['id', 'wellhead'], format: 'JSONEachRow' } as const
    await engine.insert(target, writeJsonRows([{ id, wellhead: version }]), limits)
    ran.push(id)
  }
  return ran
}

/** Before the first migration, the tables in the database belong to another program: a source could take one over. */
async function refuseForeignTables(engine: Engine): Promise<void> {
  const names = await tableNames(engine, limits)
  if (names.includes('_migrations') || names.every((name) => name.startsWith('_'))) return
  throw new OperatorError(
    `The database ${engine.database} has tables of another program. Choose another with WELLHEAD_CLICKHOUSE_DATABASE.`,
  )
}

/** The migrations of this data. Refuses data of a newer version, and names that version. */
export async function readDone(
  engine: Engine,
  known: readonly Migration[] = migrations,
): Promise<Set<number>> {
  const sql = 'SELECT id, wellhead FROM _migrations ORDER BY id'
  const rows = await queryRows<{ id: number; wellhead: string }>(engine, { sql }, limits)
  const { id: schema = 0, wellhead = '' } = rows.at(-1) ?? {}
  const supported = Math.max(0, ...known.map(({ id }) => id))
  refuseNewerSchema('The data', { wellhead, schema }, supported, startNewer(wellhead))
  return new Set(rows.map(({ id }) => id))
}

export function refuseNewerSchema(
  what: string,
  { wellhead, schema }: { wellhead: string; schema: number },
  supported: number,
  advice: string,
): void {
  if (schema <= supported) return
  throw new OperatorError(
    `${what} is from Wellhead ${wellhead} and has schema ${schema}; this version supports schemas up to ${supported}. ${advice}`,
  )
}

export function startNewer(wellhead: string): string {
  return `Start Wellhead ${wellhead} or newer, or restore a backup from before the upgrade.`
}
