import { randomUUID } from 'node:crypto'
import { FixableProblem } from '../base/fixable-problem.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import { readBody } from '../catalog/catalog.ts'
import { CatalogLog } from '../catalog/catalog-log.ts'
import { type CopyRecord, readCopyRecords, recordCopy } from '../catalog/copy-record.ts'
import { migrate, readDone, schemaVersion } from '../catalog/migrations.ts'
import { type Source, sourceShape } from '../catalog/source.ts'
import { createSourceTable, dropSourceTable } from '../catalog/tables.ts'
import { singleServer, type Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import {
  type Comparison,
  type CopiedTable,
  type CopySides,
  catalogTable,
  compareTable,
  copyPart,
  entriesOf,
  ownTables,
} from './copy-table.ts'

export interface CopiedRows {
  name: string
  rows: number
  copied: number
  equal: boolean
}

interface CopyResult {
  /** Set if an earlier run finished the copy; then nothing was compared. */
  finishedAt?: string
  tables: CopiedRows[]
}

const limits = { deadlineMs: 60_000 }

/** One round copies and one compares; the others are for a source or server that misbehaves. */
const maxRounds = 4

interface CopyOptions extends CopySides {
  /** The total is known once all of a round was compared. */
  onTotal: (bytes: number) => void
}

/**
 * Copies everything that the service stores in its engine to an empty database of a server. The catalog comes last, and
 * services refuse to start before the copy is recorded as finished. A repeated run continues: parts that are equal on both
 * sides are skipped, others are replaced as a whole.
 */
export async function copyInstallation(options: CopyOptions): Promise<CopyResult> {
  const { from, to, topology } = options
  await checkSchema(options)
  const sources = await readSources(from)
  const origin = originOf(sources)
  const finished = await begin(options, origin, sources)
  if (finished) return { finishedAt: finished.at, tables: [] }
  await migrate(to, topology)
  for (const source of sources) {
    for (const sql of createSourceTable(source, topology)) await to.command({ sql }, limits)
  }
  const tables = await copyTables(options, origin, [...sources.map(entriesOf), ...ownTables])
  if (tables.every(({ equal }) => equal)) tables.push(...(await copyTables(options, origin, [catalogTable])))
  if (tables.every(({ equal }) => equal)) {
    await recordCopy(to, topology, { origin, event: 'finished', sources: '' })
  }
  return { tables }
}

/** Compares all tables, and copies what differs, until nothing does. */
async function copyTables(
  options: CopyOptions,
  origin: string,
  tables: readonly CopiedTable[],
): Promise<CopiedRows[]> {
  const existing = new Set(await tableNames(options.from))
  for (let round = 1; ; round++) {
    const compared: Comparison[] = []
    for (const table of tables) {
      options.onBytes(0, `comparing ${table.title}`)
      compared.push(await compareTable(options, table, existing.has(table.name)))
    }
    const different = compared.flatMap((each) => each.different)
    if (different.length === 0 || round >= maxRounds) {
      return compared.map(({ different: parts, ...rows }) => ({ ...rows, equal: parts.length === 0 }))
    }
    options.onTotal(different.reduce((sum, { there }) => sum + (there?.bytes ?? 0), 0))
    // The same tokens every time, so that a late insert of an interrupted run is not stored again.
    const tokens = round === 1 ? origin : randomUUID()
    for (const [i, table] of tables.entries()) {
      for (const part of compared[i]?.different ?? []) await copyPart(options, table, part, tokens)
    }
  }
}

async function checkSchema({ from }: CopyOptions): Promise<void> {
  const tables = await tableNames(from)
  if (!tables.includes('_catalog'))
    throw new FixableProblem('The data directory has no catalog: nothing to copy.')
  const done = await readDone(from)
  const newest = Math.max(0, ...done)
  if (newest > schemaVersion) {
    throw new FixableProblem(
      'The data directory was written by a newer version of Wellhead. Use that version to copy it.',
    )
  }
  if (newest < schemaVersion) {
    throw new FixableProblem(
      'The data directory was written by an older version of Wellhead. Start this version on it once, stop it, then copy.',
    )
  }
}

/** The first built-in source has an id that no other installation has. */
function originOf(sources: readonly Source[]): string {
  const first = sources.find(({ name }) => name === builtInSources[0]?.name)
  if (first === undefined)
    throw new FixableProblem('The catalog of the data directory is empty: nothing to copy.')
  return `source ${first.id}`
}

/** Claims the target for this copy. Returns the record of the end if the copy is complete. */
async function begin(
  { to, topology }: CopyOptions,
  origin: string,
  current: Source[],
): Promise<CopyRecord | undefined> {
  const records = await readCopyRecords(to)
  refuseForeign(to, records, origin)
  const finished = records.find(({ event }) => event === 'finished')
  if (finished) return finished
  const sources = JSON.stringify(
    current.map(({ name, columns, retention_days }) => ({ name, columns, retention_days })),
  )
  const last = records.at(-1)
  if (last?.sources === sources) return undefined
  if (last === undefined) await refuseUsed(to, topology)
  // A service changed the sources between two runs. Tables are created again rather than altered.
  const earlier = records.flatMap((record) => JSON.parse(record.sources) as Pick<Source, 'name'>[])
  for (const name of new Set(earlier.map((source) => source.name))) {
    for (const sql of dropSourceTable(name, topology)) {
      // Otherwise the keeper has the replicas of the old table for some minutes, and refuses those of the new one.
      await to.command({ sql: `${sql} SYNC`, settings: { max_table_size_to_drop: 0 } }, limits)
    }
  }
  await recordCopy(to, topology, { origin, event: 'begun', sources })
  // Another copy may have begun at the same time.
  refuseForeign(to, await readCopyRecords(to), origin)
  return undefined
}

const anotherDatabase = 'Choose another with WELLHEAD_CLICKHOUSE_DATABASE, or drop it on the server first.'

function refuseForeign({ database }: Engine, [first]: readonly CopyRecord[], origin: string): void {
  if (first === undefined || first.origin === origin) return
  throw new FixableProblem(
    `The database ${database} of the server is the target of a copy of another data directory. ${anotherDatabase}`,
  )
}

async function refuseUsed(engine: Engine, topology: Topology): Promise<void> {
  const tables = await tableNames(engine)
  const hasCatalog = tables.includes('_catalog') && (await new CatalogLog(engine, () => topology).end()) > 0
  if (!hasCatalog && tables.every((name) => name.startsWith('_'))) return
  throw new FixableProblem(
    `The database ${engine.database} of the server is already in use. ${anotherDatabase}`,
  )
}

async function tableNames(engine: Engine): Promise<string[]> {
  const sql = 'SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name'
  return (await queryRows<{ name: string }>(engine, { sql }, limits)).map(({ name }) => name)
}

async function readSources(engine: Engine): Promise<Source[]> {
  const sources: Source[] = []
  for await (const records of new CatalogLog(engine, () => singleServer(engine.database)).newest('source')) {
    sources.push(...records.map((record) => readBody(record, sourceShape)))
  }
  return sources.sort((a, b) => (a.name < b.name ? -1 : 1))
}
