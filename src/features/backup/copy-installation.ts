import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { engineUnavailable, overloaded, tooLarge } from '../../core/base/errors.ts'
import { OperatorError } from '../../core/base/operator-error.ts'
import { CatalogLog } from '../../core/catalog/catalog-log.ts'
import { recordCopy } from '../../core/catalog/copy-record.ts'
import { migrate, readDone, schemaVersion } from '../../core/catalog/migrations.ts'
import { type CopiedColumns, catalogTable, keptFor, type OwnTable } from '../../core/catalog/own-tables.ts'
import { readSource, type Source } from '../../core/catalog/source.ts'
import { singleServer, type Topology } from '../../core/engine/cluster/topology.ts'
import type { Engine, Statement } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { createLookupTable, readLookupTables } from '../../core/engine/lookup-tables.ts'
import { tableNames } from '../../core/engine/stored-tables.ts'
import { createSourceTable, readFindsWords } from '../../core/engine/tables.ts'
import { sqlName, sqlText } from '../../core/sql/names.ts'
import type { TableColumn } from '../../shared/column-types.ts'

const limits = { deadlineMs: 60_000 }

/** A larger chunk makes the next one smaller. It is in memory up to three times: as a result, a response and a request. */
const chunkBytes = 16 * 2 ** 20

/**
 * Copies everything that the service stores in its engine to an empty database of a server. The catalog comes last, and
 * services refuse to start before the copy is recorded as finished.
 */
export async function copyInstallation(options: CopySides): Promise<CopiedRows[]> {
  const { from, to, topology, ownTables } = options
  await checkSchema(options)
  const sources = await readSources(from)
  await refuseUsed(to)
  await recordCopy(to, topology, 'begun')
  await migrate(to, topology, { tables: ownTables })
  const [server] = await queryRows<{ finds: boolean }>(to, { sql: readFindsWords }, limits)
  for (const source of sources) {
    const stored = { ...source, search_index: source.search_index && (server?.finds ?? false) }
    for (const sql of createSourceTable(stored, topology)) await to.command({ sql }, limits)
  }
  const filled = await readFilled(from)
  for (const { name, columns } of filled) {
    await to.command({ sql: createLookupTable(name, columns, `${name}-${randomUUID()}`, topology) }, limits)
  }
  // The catalog comes last, because it makes the copy an installation.
  const ownInOrder = [...ownTables.filter((table) => table !== catalogTable), catalogTable]
  const tables = [...sources.map(entriesOf), ...filled.map(rowsOf), ...ownInOrder.map(copiedTable)]
  const rows = await copyTables(options, tables)
  if (rows.every(({ equal }) => equal)) await recordCopy(to, topology, 'finished')
  return rows
}

async function copyTables(options: CopySides, tables: readonly CopiedTable[]): Promise<CopiedRows[]> {
  const existing = new Set(await tableNames(options.from, limits))
  for (const table of tables) if (existing.has(table.name)) await copyTable(options, table)
  const compared: CopiedRows[] = []
  for (const table of tables) {
    options.onBytes(0, `comparing ${table.title}`)
    compared.push(await compareTable(options, table, existing.has(table.name)))
  }
  return compared
}

async function checkSchema({ from, ownTables }: CopySides): Promise<void> {
  const tables = await tableNames(from, limits)
  if (!tables.includes('_catalog'))
    throw new OperatorError('The data directory has no catalog: nothing to copy.')
  const copiedNames = new Set(['_migrations', '_copy', ...ownTables.map(({ name }) => name)])
  const unknownTable = tables.find((name) => /^_[a-z_]+$/.test(name) && !copiedNames.has(name))
  if (unknownTable !== undefined) {
    throw new OperatorError(
      `This build of Wellhead lacks the feature of the table ${unknownTable}. Use a build that has it to copy the data.`,
    )
  }
  if (Math.max(0, ...(await readDone(from))) === schemaVersion) return
  throw new OperatorError(
    'Another version of Wellhead wrote the data directory. Use that version to copy it, or start a newer one on it once.',
  )
}

async function refuseUsed(engine: Engine): Promise<void> {
  if ((await tableNames(engine, limits)).length === 0) return
  throw new OperatorError(
    `The database ${engine.database} of the server is already in use. Choose another with WELLHEAD_CLICKHOUSE_DATABASE, or drop it on the server first.`,
  )
}

async function readSources(engine: Engine): Promise<Source[]> {
  const sources: Source[] = []
  for await (const records of new CatalogLog(engine, () => singleServer(engine.database)).newest('source')) {
    sources.push(...records.map(readSource))
  }
  return sources.sort((a, b) => (a.name < b.name ? -1 : 1))
}

interface FilledTable {
  name: string
  columns: TableColumn[]
}

/** Tables that users fill. */
async function readFilled(engine: Engine): Promise<FilledTable[]> {
  const found = await queryRows<Record<keyof FilledTable, string>>(engine, { sql: readLookupTables }, limits)
  const filled = found.filter(({ name }) => !name.startsWith('_'))
  return filled.map(({ name, columns }) => ({ name, columns: JSON.parse(columns) as TableColumn[] }))
}

interface CopiedTable {
  name: string
  /** For people. */
  title: string
  columns: readonly string[]
  /** Rows that will not expire before the parameter `until`. */
  kept: string
  /** The rows to compare: the table, or a subquery. */
  from: string
}

function copied(
  name: string,
  title: string,
  { columns, from = name, kept = 'true' }: CopiedColumns,
): CopiedTable {
  return { name, title, columns: columns.split(' '), from, kept }
}

export function copiedTable({ name, title, copied: rows }: OwnTable): CopiedTable {
  return copied(name, title, rows)
}

function rowsOf({ name, columns }: FilledTable): CopiedTable {
  const from = sqlName(name)
  return { name, title: name, columns: columns.map((column) => sqlName(column.name)), from, kept: 'true' }
}

function entriesOf({ name, retention_days: days }: Source): CopiedTable {
  return copied(name, name, {
    columns: 'project timestamp id event_message metadata',
    from: `\`${name}\``,
    kept: keptFor('timestamp', days),
  })
}

export interface CopySides {
  from: Engine
  to: Engine
  topology: Topology
  /** Tables of core and of all features. */
  ownTables: readonly OwnTable[]
  signal: AbortSignal
  now: () => number
  /** Maximum rows of one insert. */
  chunkRows: number
  onBytes: (bytes: number, note: string) => void
}

export interface CopiedRows {
  name: string
  rows: number
  copied: number
  equal: boolean
}

/** Reading all entries of a source may take hours. */
const digestDeadlineMs = 24 * 3_600_000
const chunkDeadlineMs = 600_000

/** A server that restarts is away for some seconds. */
const insertAttempts = 10
const retryAfterMs = 1_000

/** Rows that expire sooner are not copied: the other side may remove them before they are compared. */
const expiryMarginMs = 3_600_000

function expiryLimit(now: () => number): number {
  return Math.ceil((now() + expiryMarginMs) / 1000)
}

async function compareTable(sides: CopySides, table: CopiedTable, isThere: boolean): Promise<CopiedRows> {
  // The same time for both sides, so that both leave out the same rows.
  const parameters = { until: expiryLimit(sides.now) }
  const there = isThere ? await digest(sides, sides.from, table, { parameters }) : noRows
  // A majority of all nodes stores the catalog, so another node may lack its newest rows.
  const settings =
    table.name === catalogTable.name && sides.topology.replicated ? { select_sequential_consistency: 1 } : {}
  const here = await digest(sides, sides.to, table, { parameters, settings })
  const equal = there.rows === here.rows && there.checksum === here.checksum
  return { name: table.title, rows: Number(there.rows), copied: Number(here.rows), equal }
}

type Digest = Record<'rows' | 'checksum', string>
const noRows: Digest = { rows: '0', checksum: '0' }

/** The checksum is of all bytes of all rows, in any order. */
async function digest(
  { signal }: CopySides,
  engine: Engine,
  { columns, from, kept }: CopiedTable,
  statement: Pick<Statement, 'parameters' | 'settings'>,
): Promise<Digest> {
  const checksum = `sum(cityHash64(${columns.join(', ')}))`
  const sql = `SELECT toString(count()) AS rows, toString(${checksum}) AS checksum FROM ${from} WHERE ${kept}`
  const limits = { deadlineMs: digestDeadlineMs, signal }
  const [found] = await queryRows<Digest>(engine, { sql, ...statement }, limits)
  return found ?? noRows
}

async function copyTable(sides: CopySides, table: CopiedTable): Promise<void> {
  for await (const chunk of readChunks(sides, table)) {
    await insertChunk(sides, table, chunk)
    sides.onBytes(chunk.length, table.title)
  }
}

/** Reads rows as TabSeparated, which keeps every byte, by their positions in the files of the engine. */
async function* readChunks(
  { from, signal, now, chunkRows }: CopySides,
  { name, columns, kept }: CopiedTable,
): AsyncGenerator<Buffer> {
  const parameters = { until: expiryLimit(now) }
  const limits = { deadlineMs: chunkDeadlineMs, signal }
  const filtered = `FROM \`${name}\` WHERE (${kept})`
  const sql = `SELECT _part AS file, toFloat64(max(_part_offset)) AS last ${filtered} GROUP BY file ORDER BY file`
  const files = await queryRows<{ file: string; last: number }>(from, { sql, parameters }, limits)
  let step = chunkRows
  for (const { file, last } of files) {
    for (let at = 0; at <= last; ) {
      const place = `_part = ${sqlText(file)} AND _part_offset >= ${at} AND _part_offset < ${at + step}`
      const chunk = `SELECT ${columns.join(', ')} ${filtered} AND ${place}`
      try {
        const { body } = await from.query({ sql: chunk, parameters, format: 'TabSeparated' }, limits)
        at += step
        if (body.length > chunkBytes) step = Math.ceil(step / 2)
        if (body.length > 0) yield body
      } catch (error) {
        if (!tooLarge.is(error) || step === 1) throw error
        step = Math.ceil(step / 2)
      }
    }
  }
}

/** An insert that fails may have been stored; its token makes sure that it is stored once. */
async function insertChunk({ to, signal }: CopySides, table: CopiedTable, body: Buffer): Promise<void> {
  const settings = { insert_deduplication_token: randomUUID(), max_partitions_per_insert_block: 0 }
  const { name, columns } = table
  const target = { table: name, columns, format: 'TabSeparated', settings } as const
  for (let attempt = 1; ; attempt++) {
    try {
      return await to.insert(target, body, { deadlineMs: chunkDeadlineMs, signal })
    } catch (error) {
      const isRetried = engineUnavailable.is(error) || overloaded.is(error)
      if (!isRetried || attempt >= insertAttempts) throw error
      await delay(retryAfterMs, undefined, { signal })
    }
  }
}
