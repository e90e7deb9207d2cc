import type { EntryReader } from '../../core/access/entry-reader.ts'
import { queryTimeout, tooLarge } from '../../core/base/errors.ts'
import { JsonPaths, pathName } from '../../core/base/json/json-paths.ts'
import { JsonScanner } from '../../core/base/json/json-scanner.ts'
import { guardedCsv } from '../../core/base/text/guarded-csv.ts'
import { readShape } from '../../core/base/validation.ts'
import type { BoundValues } from '../../core/search/condition-sql.ts'
import { requiredField } from '../../core/search/search-condition.ts'
import { cursorAfter, type SearchCursor } from '../../core/search/search-cursor.ts'
import { sqlText } from '../../core/sql/names.ts'
import { parseIsoTimestamp } from '../../shared/timestamps.ts'
import { entryRow, searchDeadlineMs, tableOf } from './entry-queries.ts'
import type { FoundEntries, LogSearch } from './log-search.ts'
import { crossSearchShape, exportShape, searchSqlShape } from './search-shape.ts'

/** The entry with those of its project before and after it as lines, newest first. */
export async function contextOf(
  search: LogSearch,
  name: string,
  entry: { id: string; micros: string | undefined; size: { before: number; after: number } },
  reader: EntryReader,
): Promise<Buffer> {
  const { id, micros, size } = entry
  const found = JSON.parse((await search.entry(name, id, micros, reader)).toString())
  const source = search.source(name, reader)
  const at = "fromUnixTimestamp64Micro({at:Int64}, 'UTC')"
  const read = async (compared: string, order: string, limit: number) => {
    const sql =
      `SELECT ${entryRow} FROM ${tableOf(source)} WHERE project = {project:String} AND timestamp ${compared.slice(0, 1)}= ${at} ` +
      `AND (timestamp, id) ${compared} (${at}, {id:String}) ORDER BY timestamp ${order}, id ${order} LIMIT {limit:UInt32}`
    const parameters = { project: found.project, at: found.timestamp, id, limit }
    return linesOf(await search.lines({ reader, source }, { sql, parameters }))
  }
  const [newer, older] = await Promise.all([
    read('>', 'ASC', size.after),
    read('<=', 'DESC', size.before + 1),
  ])
  return Buffer.from([...newer.reverse(), ...older].map((line) => `${line}\n`).join(''))
}

const searchedAtOnce = 4

/** Searches several sources. Each entry has the name of its source. */
export async function searchSources(
  search: LogSearch,
  body: unknown,
  reader: EntryReader,
  known: readonly string[],
): Promise<FoundEntries> {
  const { sources = known, ...filter } = readShape(crossSearchShape, body)
  const names = [...new Set(sources.map((name) => search.source(name, reader).name))]
  const read = async (name: string) => {
    const { lines, searchedSince } = await search.entries(name, filter, reader)
    const entries = linesOf(lines).map((line) => ({
      at: Number(/"timestamp":(-?\d+)/.exec(line)?.[1]),
      line: `{"source":${JSON.stringify(name)},${line.slice(1)}`,
    }))
    return { entries, searchedSince }
  }
  const found: Awaited<ReturnType<typeof read>>[] = []
  while (names.length > 0) found.push(...(await Promise.all(names.splice(0, searchedAtOnce).map(read))))
  const all = found.flatMap(({ entries }) => entries).sort((one, other) => other.at - one.at)
  const page = all.slice(0, filter.limit)
  const since = found.flatMap(({ searchedSince }) => searchedSince ?? [])
  return {
    lines: Buffer.from(page.map(({ line }) => `${line}\n`).join('')),
    count: page.length,
    searchedSince: since.sort((one, other) => Number(other) - Number(one))[0],
  }
}

const exportedPage = 1_000
const entryColumns = ['timestamp', 'id', 'project', 'event_message', 'metadata']

/** All entries of a search up to a limit, newest first, page by page: lines of JSON, or of CSV with a head. */
export async function* exportEntries(
  search: LogSearch,
  name: string,
  body: unknown,
  /** Raw CSV can have texts that a spreadsheet takes for formulas. */
  reader: EntryReader & { raw: boolean },
) {
  const { format, limit, columns, ...filter } = readShape(exportShape, body)
  const names = [...new Set(columns ?? entryColumns)]
  const cellsOf = cellReader(names)
  const write = (cells: readonly string[]) => {
    if (format === 'ndjson') return Buffer.from(jsonRow(names, cells))
    return reader.raw ? Buffer.from(csvRow(cells)) : guardedCsv(Buffer.from(csvRow(cells)))
  }
  if (format === 'csv') yield write(names.map((each) => JSON.stringify(each)))
  let before: SearchCursor | undefined
  let size = exportedPage
  for (let left = limit; left > 0; ) {
    const page = { ...filter, limit: Math.min(left, size), ...(before && { before }) }
    const found = await search.entries(name, page, reader, 'iso').catch((error: unknown) => {
      if (!tooLarge.is(error) || size === 1) throw error
    })
    // Large entries, which fit into shorter pages.
    if (!found) size = Math.ceil(size / 8)
    if (!found) continue
    const { lines, count, searchedSince } = found
    // The response must not look complete.
    if (searchedSince) throw queryTimeout(searchDeadlineMs / 1000)
    const texts = linesOf(lines)
    if (columns || format === 'csv') yield* inChunks(texts, (text) => write(cellsOf(text)))
    else yield lines
    if (count < page.limit) return
    left -= count
    before = cursorAfter(texts.map(cursorOf), before)
  }
}

const chunkBytes = 65_536

/** Columns can contain each other, so that rows together are many times as long as their entries. */
function* inChunks(texts: readonly string[], write: (text: string) => Buffer) {
  let rows: Buffer[] = []
  let bytes = 0
  for (const text of texts) {
    const row = write(text)
    rows.push(row)
    bytes += row.length
    if (bytes < chunkBytes) continue
    yield Buffer.concat(rows)
    rows = []
    bytes = 0
  }
  yield Buffer.concat(rows)
}

/** The entries in the lines of a search, as JSON. */
export function linesOf(lines: Buffer): string[] {
  return lines.toString().split('\n').filter(Boolean)
}

const beforeMetadata = '","metadata":'

/** The members of a line before its metadata, which stays text: numbers can have more digits than they have here. */
function partsOf(line: string) {
  const at = line.indexOf(beforeMetadata)
  const { id, timestamp, project, event_message } = JSON.parse(`${line.slice(0, at)}"}`)
  return { id, timestamp, project, event_message, metadata: line.slice(at + beforeMetadata.length, -1) }
}

function cursorOf(line: string): { timestamp: number; id: string } {
  const { id, timestamp } = partsOf(line)
  return { id, timestamp: Number(parseIsoTimestamp(timestamp)) }
}

/** Reads columns of a line as JSON, with all digits of their numbers. */
function cellReader(names: readonly string[]) {
  const paths = new JsonPaths()
  const fields = names.map((name) => {
    if (name === 'timestamp' || name === 'metadata') return name
    // Without typed columns, a name is never short for another path.
    const field = requiredField(name, [], 'columns')
    if (field.kind === 'own') return field.column
    paths.add(field.keys)
    return { path: pathName(field.keys) }
  })
  return (line: string) => {
    const { metadata, ...own } = partsOf(line)
    const bytes = Buffer.from(metadata)
    const located = paths.locate(new JsonScanner(bytes))
    return fields.map((field) => {
      if (field === 'metadata') return metadata
      if (typeof field === 'string') return JSON.stringify(own[field])
      const span = located.get(field.path)
      return span ? bytes.toString('utf8', ...span) : 'null'
    })
  }
}

function jsonRow(names: readonly string[], cells: readonly string[]): string {
  return `{${names.map((name, index) => `${JSON.stringify(name)}:${cells[index]}`).join(',')}}\n`
}

/** Texts and containers are in quotes, as the engine writes them. */
function csvRow(cells: readonly string[]): string {
  const texts = cells.map((json) => {
    if (!/^["[{]/.test(json)) return json === 'null' ? '' : json
    const text = json.startsWith('"') ? (JSON.parse(json) as string) : json
    return `"${text.replaceAll('"', '""')}"`
  })
  return `${texts.join(',')}\r\n`
}

/** A search as SQL of an endpoint, with its values: the entries, and their number. */
export function searchSql(search: LogSearch, name: string, body: unknown, reader: EntryReader) {
  const { last_seconds: seconds, ...filter } = readShape(searchSqlShape, body)
  const { source, sql, parameters } = search.search(name, filter, reader, 'functions')
  const conditions = withValues(sql, parameters)
  const range = /^timestamp >= toDateTime64\('[^']*', 6, 'UTC'\)/
  const where =
    seconds === undefined
      ? conditions
      : conditions.replace(range, `timestamp >= @now - INTERVAL ${seconds} SECOND AND timestamp <= @now`)
  const from = `FROM ${source.name}\nWHERE ${where}`
  return {
    query: `SELECT timestamp, id, project, event_message, metadata\n${from}\nORDER BY timestamp DESC, id DESC`,
    count: `SELECT count() AS entries\n${from}`,
  }
}

const textOrPlace = /'(?:[^'\\]|\\.)*'?|\{(\w+):(\w+)(?:\(6, 'UTC'\))?\}/gs

/** Values become literals in one pass, so that neither a value nor a key of a path can be taken for the place of another. */
function withValues(sql: string, values: BoundValues): string {
  return sql.replace(textOrPlace, (literal, name: string | undefined, type: string) => {
    if (name === undefined) return literal
    const value = values[name] as string | number
    if (type === 'Float64') return `toFloat64(${sqlText(String(value))})`
    if (type === 'String') return sqlText(String(value))
    const [seconds, micros] = String(value).split('.')
    const time = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ')
    return `toDateTime64('${time}.${micros}', 6, 'UTC')`
  })
}
