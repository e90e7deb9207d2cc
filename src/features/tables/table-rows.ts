import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { invalidBody, unsupportedMediaType } from '../../core/base/errors.ts'
import { closeArray, comma, JsonScanner, openArray, openObject } from '../../core/base/json/json-scanner.ts'
import {
  type ColumnType,
  columnName,
  isPlainly,
  microsOf,
  type Row,
  type TableColumn,
  TypeTeller,
  type Value,
} from '../../shared/column-types.ts'
import { CsvProblem, csvTable } from '../../shared/csv.ts'
import { formatMicros } from '../../shared/timestamps.ts'
import { caseProblem, maxColumns, maxRowLength, maxRows, maxValueLength } from './table.ts'

/** Rows as they were sent: the names of their columns, and the values in that order. Reading starts again each time. */
export interface SentRows {
  names: readonly string[]
  rows(): Iterable<Row>
  /** Whether texts are texts, such as in JSON. */
  isTyped: boolean
}

/** A header with too many columns is refused by its number, unless it has far too many. */
const csvLimits = { maxFields: 100 * maxColumns, maxFieldLength: maxValueLength }

/** Some more than columns, as a key may be repeated. */
const maxMembers = 100 * maxColumns

const forms = {
  'text/csv': (body: Buffer) => ({ ...csvTable(body.toString(), ',', csvLimits), isTyped: false }),
  'application/x-ndjson': (body: Buffer) => readObjects(() => linesOf(body)),
  'application/json': (body: Buffer) => readObjects(() => elementsOf(body)),
}

export type RowForm = keyof typeof forms

export function rowFormOf(contentType: string): RowForm {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (Object.hasOwn(forms, type)) return type as RowForm
  throw unsupportedMediaType(`Send rows as ${Object.keys(forms).join(', ')} in Content-Type.`)
}

/** Throws if the body cannot be read. */
export function readRows(body: Buffer, form: RowForm): SentRows {
  if (!isUtf8(body)) throw invalidBody('The body is not valid UTF-8.')
  try {
    return checked(forms[form](body))
  } catch (error) {
    throw refusalOf(error)
  }
}

const tooManyRows = () => invalidBody(`A table has at most ${maxRows} rows.`)

function checked(sent: SentRows): SentRows {
  const { names } = sent
  if (names.length > maxColumns) {
    throw invalidBody(`The rows have ${names.length} columns. A table has at most ${maxColumns}.`)
  }
  for (const [at, name] of names.entries()) {
    if (names.indexOf(name) < at) throw invalidBody(`The column ${name} is there twice. Remove one of them.`)
    const problem = caseProblem(names.slice(0, at), name)
    if (problem) throw invalidBody(problem)
    if (!columnName.test(name)) {
      const be = 'must be letters, digits and _, starting with a letter, at most 64 characters'
      throw invalidBody(`The column name ${JSON.stringify(name.slice(0, 80))} ${be}.`)
    }
  }
  return {
    ...sent,
    *rows() {
      let count = 0
      try {
        for (const row of sent.rows()) {
          if (++count > maxRows) throw tooManyRows()
          yield row
        }
      } catch (error) {
        throw refusalOf(error)
      }
    },
  }
}

const refusalOf = (error: unknown) => (error instanceof CsvProblem ? invalidBody(error.message) : error)

function readObjects(objects: () => Iterable<Record<string, unknown>>): SentRows {
  const names = new Set<string>()
  let count = 0
  for (const object of objects()) {
    if (++count > maxRows) throw tooManyRows()
    for (const name of Object.keys(object)) names.add(name)
    if (names.size > maxColumns) break
  }
  const columns = [...names]
  return {
    names: columns,
    isTyped: true,
    *rows() {
      let row = 0
      for (const object of objects()) {
        row++
        yield columns.map((name) => {
          const value = Object.hasOwn(object, name) ? object[name] : null
          if (Number.isInteger(value) && !Number.isSafeInteger(value))
            throw invalidBody(`Row ${row}: ${name} is too large for a JSON number. Send it as text.`)
          return value as Value
        })
      }
    },
  }
}

function* linesOf(body: Buffer): Generator<Record<string, unknown>> {
  const scanner = new JsonScanner(body, startOf(body))
  for (let row = 1; ; row++) {
    // Also skips empty lines, of which there may be millions.
    scanner.space()
    if (scanner.at >= body.length) return
    const found = body.indexOf(0x0a, scanner.at)
    scanner.end = found < 0 ? body.length : found
    yield objectAt(scanner, row)
    scanner.space()
    if (scanner.at < scanner.end) throw notAnObject(row)
    scanner.end = body.length
  }
}

/** Reads one element after the other, so that no value of the whole body is needed. */
function* elementsOf(body: Buffer): Generator<Record<string, unknown>> {
  const scanner = new JsonScanner(body, startOf(body))
  const refuse = () => invalidBody('The body is not a JSON array of objects.')
  if (!scanner.accept(openArray)) throw refuse()
  if (!scanner.accept(closeArray)) {
    for (let row = 1; ; row++) {
      scanner.space()
      yield objectAt(scanner, row)
      if (scanner.accept(closeArray)) break
      if (!scanner.accept(comma)) throw refuse()
    }
  }
  scanner.space()
  if (scanner.at < body.length) throw refuse()
}

/** After a byte order mark. */
const startOf = (body: Buffer) => (body.subarray(0, 3).equals(Buffer.from('\ufeff')) ? 3 : 0)

const notAnObject = (row: number) =>
  invalidBody(`Row ${row} is not a JSON object, such as {"id": "a", "plan": "pro"}.`)

/** Parses an object once its members are known to be few and short. */
function objectAt(scanner: JsonScanner, row: number): Record<string, unknown> {
  if (scanner.peek() !== openObject) throw notAnObject(row)
  const start = scanner.at
  let members = 0
  const isObject = scanner.object(() => {
    if (++members > maxMembers) throw invalidBody(`Row ${row} has more than ${maxMembers} members.`)
    const next = scanner.peek()
    if (next === openObject || next === openArray) {
      const name = JSON.parse(scanner.bytes.toString('utf8', scanner.keyStart, scanner.keyEnd)) as string
      throw invalidBody(`Row ${row}: ${name.slice(0, 80)} must be text, a number, true, false or null.`)
    }
    const valueStart = scanner.at
    if (!scanner.value()) return false
    // Escapes and UTF-8 take up to six bytes for a character.
    if (scanner.at - valueStart <= 6 * maxValueLength) return true
    throw invalidBody(`Row ${row} has a value of more than ${maxValueLength} characters.`)
  })
  if (!isObject) throw notAnObject(row)
  return JSON.parse(scanner.bytes.toString('utf8', start, scanner.at)) as Record<string, unknown>
}

const expected: Record<ColumnType, string> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  timestamp: 'a date, or date and time, in ISO 8601 between 1900 and 2299',
}

/** Writes rows as the engine reads them: values of the columns, in their order, as JSON. Throws if a value does not fit. */
export function rowWriter({ names, isTyped }: SentRows, columns: readonly TableColumn[]) {
  const unknown = names.find((name) => columns.every((column) => column.name !== name))
  if (unknown !== undefined) {
    const all = columns.map(({ name }) => name).join(', ')
    throw invalidBody(`Unknown column ${unknown}. The table has the columns ${all}.`)
  }
  const missing = columns.find(({ name }) => !names.includes(name))
  if (missing && names.length > 0) throw invalidBody(`The column ${missing.name} is missing.`)
  const places = columns.map(({ name, type }) => ({ name, type, at: names.indexOf(name) }))
  const hash = createHash('sha256').update(JSON.stringify(columns.map(({ name, type }) => [name, type])))
  // The header is a row, too.
  let index = isTyped ? 0 : 1
  const write = (row: Row) => {
    index++
    let length = 0
    const values = places.map(({ name, type, at }) => {
      const value = row[at] ?? null
      const written = value === null ? 'null' : writtenAs(type, value)
      length += written?.length ?? 0
      if (length > maxRowLength) {
        throw invalidBody(`Row ${index} is longer than ${maxRowLength / 2 ** 20} MiB. Send shorter values.`)
      }
      if (written !== undefined) return written
      const shown = JSON.stringify(String(value).slice(0, 50))
      throw invalidBody(`Row ${index}: ${name} must be ${expected[type]}, not ${shown}.`)
    })
    const line = `[${values.join(',')}]\n`
    hash.update(line)
    return line
  }
  /** Of the columns and all rows, however they were sent. */
  return { write, digest: () => hash.digest('hex') }
}

/** All that is told from a file: its columns, unless they are declared, and its digest. */
export function readCsvFile(content: Buffer, declared: readonly TableColumn[]) {
  const sent = readRows(content, 'text/csv')
  const teller = new TypeTeller(sent.names)
  for (const row of sent.rows()) teller.add(row)
  const columns = declared.length > 0 ? declared : teller.columns
  const { write, digest } = rowWriter(sent, columns)
  for (const row of sent.rows()) write(row)
  return { columns, rows: teller.rows, digest: digest() }
}

function writtenAs(type: ColumnType, value: Exclude<Value, null>): string | undefined {
  if (type === 'text') {
    const text = String(value)
    return text.isWellFormed() ? JSON.stringify(text) : undefined
  }
  if (type === 'number') {
    // Empty text and 0x10 are numbers in JavaScript.
    const isOther =
      typeof value === 'boolean' || (typeof value === 'string' && !/^[-+.\d][-+.\deE]*$/.test(value))
    const number = Number(value)
    return !isOther && Number.isFinite(number) ? String(number) : undefined
  }
  if (type === 'boolean') {
    if (typeof value === 'boolean') return String(value)
    return typeof value === 'string' && isPlainly('boolean', value) ? value.toLowerCase() : undefined
  }
  const micros = typeof value === 'string' ? microsOf(value) : undefined
  return micros === undefined ? undefined : JSON.stringify(formatMicros(micros))
}
