import { guardedCsv } from '../../base/text/guarded-csv.ts'
import { textRows } from '../../engine/json-rows.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { OutputForm } from '../definition/output-types.ts'

export interface OutputFormat {
  id: string
  name: 'json' | 'csv' | 'ndjson' | 'parquet' | 'arrow'
  engineFormat: string
  contentType: string
  form: OutputForm
  /** Whether timestamps are ISO 8601 text with a zone. */
  isoTimestamps?: true
  /** Whether columns are in the order of their names, instead of that of the query. */
  sortedColumns?: true
  settings?: Readonly<Record<string, number | string>>
  /** Settings for rows that the engine writes as text, since columns hold JSON; undefined if they stay text. */
  textRows?: Readonly<Record<string, number | string>>
  /** Truncates the body at the maximum number of rows; undefined if the format does not allow it. */
  cut?: (body: Buffer, maxRows: number) => CutResult
  frame?: (body: Buffer) => Buffer
}

interface CutResult {
  body: Buffer
  rows: number
  truncated: boolean
}

const newline = 0x0a
const quote = 0x22
const brace = 0x7b

const resultOpen = Buffer.from('{"result":')
const resultClose = Buffer.from('}')

/** One row per line: a JSON string never contains a raw line break. */
function cutLines(body: Buffer, maxRows: number): CutResult {
  let rows = 0
  let end = 0
  for (let at = body.indexOf(newline); at >= 0; at = body.indexOf(newline, at + 1)) {
    if (++rows > maxRows) return { body: body.subarray(0, end), rows: maxRows, truncated: true }
    end = at + 1
  }
  return { body, rows, truncated: false }
}

/** A line with "[", one line per row with a comma after all but the last, and a line with "]". */
function cutArray(body: Buffer, maxRows: number): CutResult {
  let rows = 0
  let end = body.indexOf(newline)
  while (body[end + 1] === brace) {
    if (rows === maxRows) {
      return { body: Buffer.concat([body.subarray(0, end - 1), Buffer.from('\n]')]), rows, truncated: true }
    }
    rows++
    end = body.indexOf(newline, end + 1)
  }
  if (rows === 0) return { body: Buffer.from('[]'), rows, truncated: false }
  return { body: body.at(-1) === newline ? body.subarray(0, -1) : body, rows, truncated: false }
}

/** The first line holds the names. A line break between quotes belongs to a value. */
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

export const outputFormats: readonly OutputFormat[] = [
  {
    id: 'json',
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
    id: 'ndjson',
    name: 'ndjson',
    engineFormat: 'JSONEachRow',
    contentType: 'application/x-ndjson; charset=utf-8',
    form: 'json',
    textRows: textRows.lines,
    cut: cutLines,
  },
  {
    id: 'csv',
    name: 'csv',
    engineFormat: 'CSVWithNames',
    contentType: 'text/csv; charset=utf-8',
    form: 'csv',
    settings: { format_csv_null_representation: '' },
    cut: cutCsv,
  },
  {
    id: 'parquet',
    name: 'parquet',
    engineFormat: 'Parquet',
    contentType: 'application/vnd.apache.parquet',
    form: 'typed',
  },
  {
    id: 'arrow',
    name: 'arrow',
    engineFormat: 'ArrowStream',
    contentType: 'application/vnd.apache.arrow.stream',
    form: 'typed',
    settings: { output_format_arrow_compression_method: 'none' },
  },
]

const isoSettings = { date_time_output_format: 'iso' }

const inIso = (format: OutputFormat, id: string): OutputFormat =>
  // Parquet and Arrow have a type for timestamps, so they stay the same.
  format.form === 'typed'
    ? format
    : { ...format, id, isoTimestamps: true, settings: { ...format.settings, ...isoSettings } }

export function withIsoTimestamps(format: OutputFormat): OutputFormat {
  return inIso(format, `${format.id}-iso`)
}

/** CSV that a spreadsheet can open: no text of it is a formula. */
export function forSpreadsheets(format: OutputFormat): OutputFormat {
  return format.name === 'csv' ? { ...format, id: 'csv-sheet', frame: guardedCsv } : format
}

/** The format in which an endpoint returns a result. Requests for its own form of timestamps share results with others. */
export function formatOf(
  { timestamps }: Pick<EndpointDefinition, 'timestamps'>,
  format: OutputFormat,
): OutputFormat {
  return timestamps === 'iso' ? inIso(format, format.id.replace(/-iso$/, '')) : format
}

export function findFormat(id: string): OutputFormat | undefined {
  const formats = outputFormats.flatMap((format) => [...new Set([format, forSpreadsheets(format)])])
  return [...formats, ...formats.map(withIsoTimestamps)].find((format) => format.id === id)
}
