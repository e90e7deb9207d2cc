import { textRows } from '../../engine/json-rows.ts'
import type { OutwardForm } from '../definition/result-columns.ts'

export interface OutputFormat {
  name: 'json' | 'csv' | 'ndjson' | 'parquet' | 'arrow'
  /** Name of the format in the engine. */
  engineFormat: string
  contentType: string
  form: OutwardForm
  settings: Readonly<Record<string, number | string>>
  /** Settings for a result with columns of JSON text, whose rows the engine writes as text; undefined where they stay text. */
  textRows?: Readonly<Record<string, number | string>>
  /** Leaves as many rows as may be, and tells whether there were more; undefined where rows cannot be told. */
  cut: ((body: Buffer, maxRows: number) => CutResult) | undefined
  frame: (body: Buffer) => Buffer
}

export interface CutResult {
  body: Buffer
  rows: number
  truncated: boolean
}

const newline = 0x0a
const quote = 0x22

const resultOpen = Buffer.from('{"result":')
const resultClose = Buffer.from('}')

/** One row a line: text inside of JSON never holds a bare line break. */
function cutLines(body: Buffer, maxRows: number): CutResult {
  let rows = 0
  let end = 0
  for (let at = body.indexOf(newline); at >= 0; at = body.indexOf(newline, at + 1)) {
    if (++rows > maxRows) return { body: body.subarray(0, end), rows: maxRows, truncated: true }
    end = at + 1
  }
  return { body, rows, truncated: false }
}

/** "[", rows with a comma behind all but the last, "]": each on a line of its own. */
function cutArray(body: Buffer, maxRows: number): CutResult {
  const first = body.indexOf(newline) + 1
  // An empty array has an empty line where its rows would be.
  if (body[first] === newline) return { body: Buffer.from('[]'), rows: 0, truncated: false }
  let rows = 0
  let end = first
  for (
    let at = body.indexOf(newline, first);
    at >= 0 && body[at - 1] !== 0x5d;
    at = body.indexOf(newline, at + 1)
  ) {
    if (++rows > maxRows) {
      const kept = body.subarray(0, end - 2)
      return { body: Buffer.concat([kept, Buffer.from('\n]')]), rows: maxRows, truncated: true }
    }
    end = at + 1
    if (body[at + 1] === 0x5d && body.length <= at + 3) break
  }
  return { body: trimEnd(body), rows, truncated: false }
}

function trimEnd(body: Buffer): Buffer {
  return body.at(-1) === newline ? body.subarray(0, -1) : body
}

/** The first line has the names; a line break between quotes belongs to a value. */
function cutCsv(body: Buffer, maxRows: number): CutResult {
  let lines = 0
  let inQuotes = false
  for (let at = 0; at < body.length; at++) {
    if (body[at] === quote) inQuotes = !inQuotes
    if (body[at] !== newline || inQuotes) continue
    lines++
    if (lines === maxRows + 1 && at + 1 < body.length) {
      return { body: body.subarray(0, at + 1), rows: maxRows, truncated: true }
    }
  }
  return { body, rows: Math.max(0, lines - 1), truncated: false }
}

const asIs = (body: Buffer) => body

export const outputFormats: readonly OutputFormat[] = [
  {
    name: 'json',
    engineFormat: 'JSONEachRow',
    contentType: 'application/json; charset=utf-8',
    form: 'json',
    settings: { output_format_json_array_of_rows: 1 },
    textRows: textRows.array,
    cut: cutArray,
    frame: (body) => Buffer.concat([resultOpen, body, resultClose]),
  },
  {
    name: 'ndjson',
    engineFormat: 'JSONEachRow',
    contentType: 'application/x-ndjson; charset=utf-8',
    form: 'json',
    settings: {},
    textRows: textRows.lines,
    cut: cutLines,
    frame: asIs,
  },
  {
    name: 'csv',
    engineFormat: 'CSVWithNames',
    contentType: 'text/csv; charset=utf-8',
    form: 'json',
    settings: {},
    cut: cutCsv,
    frame: asIs,
  },
  {
    name: 'parquet',
    engineFormat: 'Parquet',
    contentType: 'application/vnd.apache.parquet',
    form: 'typed',
    settings: {},
    cut: undefined,
    frame: asIs,
  },
  {
    name: 'arrow',
    engineFormat: 'ArrowStream',
    contentType: 'application/vnd.apache.arrow.stream',
    form: 'typed',
    settings: { output_format_arrow_compression_method: 'none' },
    cut: undefined,
    frame: asIs,
  },
]
