import { tooLarge } from '../base/errors.ts'
import type { Engine, Limits } from '../engine/engine.ts'
import type { CopiedTable } from './copied-table.ts'

interface ChunkOptions {
  table: CopiedTable
  part: string
  parameters: Readonly<Record<string, number>>
  /** Rows of the first chunk. Later ones are smaller if a chunk was too large for the engine. */
  rows: number
  limits: Limits
}

export interface Chunk {
  /** Rows as TabSeparated, which keeps every byte. */
  body: Buffer
  rows: number
}

/** Where the next chunk begins: at the last key, after the rows that have it and were read. */
interface Position {
  /** Bytes of the key columns. */
  key: Buffer
  skip: number
}

const newline = 0x0a
const tab = 0x09

/**
 * Reads a part of a table in the order of its key, in chunks. Rows with the same key are ordered by their other columns,
 * so that those left are known; rows that are equal in all columns can replace each other.
 */
export async function* readChunks(engine: Engine, options: ChunkOptions): AsyncGenerator<Chunk> {
  let { rows } = options
  let position: Position | undefined
  for (;;) {
    let body: Buffer
    try {
      body = await readChunk(engine, options, position, rows)
    } catch (error) {
      if (!tooLarge.is(error) || rows === 1) throw error
      rows = Math.ceil(rows / 2)
      continue
    }
    const count = countLines(body)
    if (count > 0) yield { body, rows: count }
    if (count < rows) return
    position = after(body, options.table.key.length, position)
  }
}

async function readChunk(
  engine: Engine,
  { table, part, parameters, limits }: ChunkOptions,
  position: Position | undefined,
  rows: number,
): Promise<Buffer> {
  const { columns, from, kept } = table
  const keys = position ? fieldsOf(position.key).map((bytes, i) => [`key${i}`, bytes.toString('hex')]) : []
  const conditions = [table.isIn(part), kept, ...(position ? [notBefore(table.key)] : [])]
  const sql =
    `SELECT ${columns.join(', ')} FROM ${from} WHERE ${conditions.map((each) => `(${each})`).join(' AND ')} ` +
    `ORDER BY ${columns.join(', ')} LIMIT ${rows} OFFSET ${position?.skip ?? 0}`
  const statement = {
    sql,
    parameters: { ...parameters, ...Object.fromEntries(keys) },
    format: 'TabSeparated',
  }
  return (await engine.query(statement, limits)).body
}

/** A comparison of tuples, in the form from which the engine finds the granules to read. */
function notBefore([first, ...rest]: CopiedTable['key'], index = 0): string {
  if (first === undefined) return 'true'
  const value = first.fromHex(`{key${index}:String}`)
  if (rest.length === 0) return `${first.name} >= ${value}`
  return `${first.name} > ${value} OR (${first.name} = ${value} AND (${notBefore(rest, index + 1)}))`
}

export function after(body: Buffer, keyColumns: number, before: Position | undefined): Position {
  const last = lineBefore(body, body.length)
  const key = Buffer.from(last.subarray(0, endOfFields(last, keyColumns)))
  let skip = 0
  let end = body.length
  while (end > 0) {
    const line = lineBefore(body, end)
    if (endOfFields(line, keyColumns) !== key.length || !line.subarray(0, key.length).equals(key)) break
    skip++
    end -= line.length + 1
  }
  const goesOn = end === 0 && before?.key.equals(key) === true
  return { key, skip: goesOn ? before.skip + skip : skip }
}

/** The line whose newline is at `end - 1`. */
function lineBefore(body: Buffer, end: number): Buffer {
  const start = end < 2 ? 0 : body.lastIndexOf(newline, end - 2) + 1
  return body.subarray(start, end - 1)
}

function endOfFields(line: Buffer, count: number): number {
  let end = -1
  for (let i = 0; i < count; i++) {
    end = line.indexOf(tab, end + 1)
    if (end < 0) return line.length
  }
  return end
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', 0: '\0' }

/** The values of escaped fields, as bytes. */
export function fieldsOf(line: Buffer): Buffer[] {
  // One character per byte.
  return line
    .toString('latin1')
    .split('\t')
    .map((field) =>
      Buffer.from(
        field.replace(/\\(.)/gs, (_, character: string) => escapes[character] ?? character),
        'latin1',
      ),
    )
}

function countLines(body: Buffer): number {
  let count = 0
  for (let at = body.indexOf(newline); at >= 0; at = body.indexOf(newline, at + 1)) count++
  return count
}
