import { createHash } from 'node:crypto'
import { tooLarge } from '../base/errors.ts'
import type { Source } from '../catalog/source.ts'
import { dropDay, emptyOwnTable } from '../catalog/tables.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine, Limits, Statement } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import { sqlText } from '../sql/names.ts'

/** A table whose rows are copied part by part. */
export interface CopiedTable {
  name: string
  /** For people. */
  title: string
  /** The rows to compare: the table, or a subquery. */
  from: string
  columns: readonly string[]
  /** Rows that will not expire before the parameter `until`. */
  kept: string
  /** Expression for the part of a row. */
  part: string
  isIn: (part: string) => string
  clear: (part: string, topology: Topology) => string[]
}

function keptFor(column: string, days: number): string {
  return `toDateTime(${column}) + INTERVAL ${days} DAY > toDateTime({until:UInt32})`
}

/** The entries of a source; a part is a day, as in the table. */
export function entriesOf({ name, retention_days: days }: Source): CopiedTable {
  return {
    name,
    title: name,
    from: `\`${name}\``,
    columns: ['project', 'timestamp', 'id', 'event_message', 'metadata'],
    kept: keptFor('timestamp', days),
    part: 'toString(toDate(timestamp))',
    isIn: (day) => `toDate(timestamp) = toDate(${sqlText(day)})`,
    clear: (day, topology) => dropDay(name, day, topology),
  }
}

const wholeTable = (name: string) => ({
  name,
  part: "''",
  isIn: () => 'true',
  clear: (_part: string, topology: Topology) => emptyOwnTable(name, topology),
})

/** Copied last, because it makes the copy an installation. */
export const catalogTable: CopiedTable = {
  ...wholeTable('_catalog'),
  title: 'catalog',
  from: '_catalog',
  columns: ['entry', 'kind', 'id', 'version', 'changed_at', 'changed_by', 'deleted', 'body', 'position'],
  kept: 'true',
}

/** Internal tables, except the catalog. */
export const ownTables: readonly CopiedTable[] = [
  {
    ...wholeTable('_idempotency'),
    title: 'idempotency keys',
    from: '_idempotency',
    columns: ['key', 'at', 'digest', 'response'],
    kept: keptFor('at', 1),
  },
  {
    ...wholeTable('_token_uses'),
    title: 'token uses',
    // Older uses of a token disappear when parts are merged.
    from: '(SELECT id, max(at) AS at FROM _token_uses GROUP BY id)',
    columns: ['id', 'at'],
    kept: keptFor('at', 400),
  },
  {
    ...wholeTable('_alerts'),
    title: 'alerts',
    from: '(SELECT id, max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body FROM _alerts GROUP BY id)',
    columns: ['id', 'sequence', 'body'],
    // With the empty rows of what is deleted: older rows of the same id may not be merged yet.
    kept: 'true',
  },
]

export interface CopySides {
  from: Engine
  to: Engine
  topology: Topology
  signal: AbortSignal
  now: () => number
  /** Approximate bytes of one insert. */
  chunkBytes: number
  onBytes: (bytes: number, note: string) => void
}

/** Reading all entries of a source may take hours. */
const digestDeadlineMs = 24 * 3_600_000
const chunkDeadlineMs = 600_000

/** Rows that expire sooner are not copied: the other side may remove them before they are compared. */
const expiryMarginMs = 3_600_000

function expiryLimit(now: () => number): number {
  return Math.ceil((now() + expiryMarginMs) / 1000)
}

/** A part of a table, as one side has it. */
interface Digest {
  rows: number
  bytes: number
  /** The checksum of all bytes of all rows, in any order. */
  checksum: string
}

type Digests = ReadonlyMap<string, Digest>

export interface Comparison {
  name: string
  rows: number
  copied: number
  /** Parts that differ. */
  different: readonly Difference[]
}

interface Difference {
  part: string
  there: Digest | undefined
  here: Digest | undefined
}

/** Compares all parts of a table by the number and the content of their rows. */
export async function compareTable(
  sides: CopySides,
  table: CopiedTable,
  isThere: boolean,
): Promise<Comparison> {
  // The same time for both sides, so that both leave out the same rows.
  const parameters = { until: expiryLimit(sides.now) }
  const limits = { deadlineMs: digestDeadlineMs, signal: sides.signal }
  const there: Digests = isThere ? await digest(sides.from, table, { parameters }, limits) : new Map()
  // A majority of all nodes stores the catalog, so another node may lack its newest rows.
  const settings =
    table === catalogTable && sides.topology.replicated ? { select_sequential_consistency: 1 } : {}
  const here = await digest(sides.to, table, { parameters, settings }, limits)
  const parts = [...new Set([...there.keys(), ...here.keys()])].sort()
  return {
    name: table.title,
    rows: rowsOf(there),
    copied: rowsOf(here),
    different: parts
      .map((part) => ({ part, there: there.get(part), here: here.get(part) }))
      .filter((each) => each.there?.checksum !== each.here?.checksum || each.there?.rows !== each.here?.rows),
  }
}

function rowsOf(digests: Digests): number {
  return [...digests.values()].reduce((sum, { rows }) => sum + rows, 0)
}

async function digest(
  engine: Engine,
  { columns, from, kept, part }: CopiedTable,
  statement: Pick<Statement, 'parameters' | 'settings'>,
  limits: Limits,
): Promise<Digests> {
  // A timestamp has 26 characters.
  const bytes = columns.map((column) => `length(toString(${column})) + 1`).join(' + ')
  const sql =
    `SELECT ${part} AS part, toString(count()) AS rows, toString(sum(cityHash64(${columns.join(', ')}))) AS checksum, ` +
    `toString(sum(${bytes})) AS bytes FROM ${from} WHERE ${kept} GROUP BY part`
  type Row = Record<'part' | 'rows' | 'checksum' | 'bytes', string>
  const rows = await queryRows<Row>(engine, { sql, ...statement }, limits)
  return new Map(
    rows.map((row) => [
      row.part,
      { rows: Number(row.rows), bytes: Number(row.bytes), checksum: row.checksum },
    ]),
  )
}

/** Replaces a part that differs by what the other side has. */
export async function copyPart(
  sides: CopySides,
  table: CopiedTable,
  { part, there, here }: Difference,
  tokens: string,
): Promise<void> {
  const { to, topology, signal } = sides
  if (here !== undefined) {
    const settings = { max_partition_size_to_drop: 0, max_table_size_to_drop: 0 }
    for (const sql of table.clear(part, topology)) {
      await to.command({ sql, settings }, { deadlineMs: chunkDeadlineMs, signal })
    }
  }
  if (there === undefined) return
  let number = 0
  for await (const chunk of readChunks(sides, table, part, there)) {
    const place = JSON.stringify([tokens, table.name, part, String(number++)])
    const token = createHash('sha256').update(place).digest('hex')
    await insertChunk(sides, table, chunk, token)
    sides.onBytes(chunk.length, [table.title, part].filter(Boolean).join(' '))
  }
}

/** Reads rows as TabSeparated, which keeps every byte, by their positions in the files of the engine. */
async function* readChunks(
  { from, signal, now, chunkBytes }: CopySides,
  { name, columns, kept, isIn }: CopiedTable,
  part: string,
  { rows, bytes }: Digest,
): AsyncGenerator<Buffer> {
  const parameters = { until: expiryLimit(now) }
  const limits = { deadlineMs: chunkDeadlineMs, signal }
  const filtered = `FROM \`${name}\` WHERE (${isIn(part)}) AND (${kept})`
  const sql = `SELECT _part AS file, toFloat64(max(_part_offset)) AS last ${filtered} GROUP BY file ORDER BY file`
  const files = await queryRows<{ file: string; last: number }>(from, { sql, parameters }, limits)
  let step = Math.max(1, Math.floor((chunkBytes * rows) / bytes))
  for (const { file, last } of files) {
    for (let at = 0; at <= last; ) {
      const place = `_part = ${sqlText(file)} AND _part_offset >= ${at} AND _part_offset < ${at + step}`
      const chunk = `SELECT ${columns.join(', ')} ${filtered} AND ${place}`
      try {
        const { body } = await from.query({ sql: chunk, parameters, format: 'TabSeparated' }, limits)
        at += step
        if (body.length > 0) yield body
      } catch (error) {
        if (!tooLarge.is(error) || step === 1) throw error
        step = Math.ceil(step / 2)
      }
    }
  }
}

/** An insert that fails may have been stored; its token makes sure that the next run stores it once. */
async function insertChunk(
  { to, signal }: CopySides,
  { name: table, columns }: CopiedTable,
  body: Buffer,
  token: string,
): Promise<void> {
  const settings = { insert_deduplication_token: token, max_partitions_per_insert_block: 0 }
  const target = { table, columns, format: 'TabSeparated', settings } as const
  await to.insert(target, body, { deadlineMs: chunkDeadlineMs, signal })
}
