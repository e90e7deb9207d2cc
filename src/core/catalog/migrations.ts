import { OperatorError } from '../base/operator-error.ts'
import { version } from '../base/package-file.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { someNodeLacks, tableNames } from '../engine/stored-tables.ts'
import { createMigrationsTable } from '../engine/tables.ts'
import type { OwnTable } from './own-tables.ts'

export interface Migration {
  /** The number of the schema. No number is used twice, also not by a feature that is gone. */
  id: number
  /** Changes of existing tables. They must be idempotent, because a start may end before the migration is recorded. */
  statements?: (topology: Topology) => string[]
}

/** Schema changes, in order; each runs once, and creates the tables of its schema. Released migrations are never removed. */
export const migrations: readonly Migration[] = [{ id: 10 }, { id: 11 }]

export const schemaVersion = Math.max(...migrations.map(({ id }) => id))

const limits = { deadlineMs: 60_000 }

interface Schema {
  tables: readonly OwnTable[]
  /** By default, all migrations of this version. */
  known?: readonly Migration[]
  /** Called before data that already has a schema is changed. */
  keepCopy?: (schema: number) => Promise<void>
}

/** Runs the migrations that this data lacks, and returns their ids. */
export async function migrate(
  engine: Engine,
  topology: Topology,
  { tables, known = migrations, keepCopy }: Schema,
): Promise<number[]> {
  const existingTables = new Set(await ownTableNames(engine))
  for (const sql of createMigrationsTable(topology)) await engine.command({ sql }, limits)
  const done = await readDone(engine, known)
  if (done.size > 0 && known.some(({ id }) => !done.has(id))) await keepCopy?.(Math.max(...done))
  const ran: number[] = []
  const isIncomplete = done.size > 0 && (await someNodeLacks('_catalog', engine, topology, limits))
  for (const { id, statements = () => [] } of known) {
    const isNew = isIncomplete || !done.has(id)
    // A build without its feature may have run the migration.
    const lackingTables = tables.filter(
      ({ schema, name }) => schema === id && (isNew || !existingTables.has(name)),
    )
    const created = lackingTables.flatMap(({ create }) => create(topology))
    // All replicas must have a new column before rows with it are inserted.
    const settings = { alter_sync: 2 }
    for (const sql of [...created, ...(isNew ? statements(topology) : [])]) {
      await engine.command({ sql, settings }, limits)
    }
    if (done.has(id)) continue
    const target = { table: '_migrations', columns: ['id', 'wellhead'], format: 'JSONEachRow' } as const
    await engine.insert(target, writeJsonRows([{ id, wellhead: version }]), limits)
    ran.push(id)
  }
  return ran
}

/** Before the first migration, other tables in the database belong to another program: a source could take one over. */
async function ownTableNames(engine: Engine): Promise<string[]> {
  const names = await tableNames(engine, limits)
  if (names.includes('_migrations') || names.every((name) => name.startsWith('_'))) return names
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
  return `Start Wellhead ${wellhead} or newer, or restore a copy from before the upgrade.`
}
