import { queryTimeout, tooLarge } from '../base/errors.ts'
import { parseIsoTimestamp } from '../base/text/timestamps.ts'
import { readShape } from '../base/validation.ts'
import { textRows } from '../engine/json-rows.ts'
import { auditSource } from '../sql/audit-source.ts'
import { sqlText } from '../sql/names.ts'
import { type EntryQueries, type EntryReader, entryRow, searchDeadlineMs, tableOf } from './entry-queries.ts'
import type { FoundEntries, LogSearch } from './log-search.ts'
import type { BoundValues } from './search/condition-sql.ts'
import { cursorAfter, type SearchCursor } from './search/search-cursor.ts'
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
  const source = search.queries.source(name)
  const at = "fromUnixTimestamp64Micro({at:Int64}, 'UTC')"
  const read = async (compared: string, order: string, limit: number) => {
    const sql =
      `SELECT ${entryRow} FROM ${tableOf(source)} WHERE project = {project:String} AND timestamp ${compared.slice(0, 1)}= ${at} ` +
      `AND (timestamp, id) ${compared} (${at}, {id:String}) ORDER BY timestamp ${order}, id ${order} LIMIT {limit:UInt32}`
    const parameters = { project: found.project, at: found.timestamp, id, limit }
    const statement = { sql, parameters, format: textRows.format, settings: textRows.lines }
    return linesOf(await search.queries.run({ reader, source }, statement))
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
  const readable = known.filter((name) => reader.isAdmin || name !== auditSource)
  const { sources = readable, ...filter } = readShape(crossSearchShape, body)
  const names = [...new Set(sources.map((name) => search.queries.source(name).name))]
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

/** All entries of a search up to a limit, newest first, page by page: lines of JSON, or of CSV with a head. */
export async function* exportEntries(search: LogSearch, name: string, body: unknown, reader: EntryReader) {
  const { format, limit, ...filter } = readShape(exportShape, body)
  if (format === 'csv') yield Buffer.from('timestamp,id,project,event_message,metadata\r\n')
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
    yield format === 'csv' ? Buffer.from(texts.map(csvRow).join('')) : lines
    if (count < page.limit) return
    left -= count
    before = cursorAfter(texts.map(cursorOf), before)
  }
}

function linesOf(lines: Buffer): string[] {
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

function csvRow(line: string): string {
  const { timestamp, id, project, event_message, metadata } = partsOf(line)
  const cells = [timestamp, id, project, event_message, metadata]
  return `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`
}

/** A search as SQL of an endpoint, with its values: the entries, and their number. */
export function searchSql(queries: EntryQueries, name: string, body: unknown, reader: EntryReader) {
  const { last_seconds: seconds, ...filter } = readShape(searchSqlShape, body)
  const { source, sql, parameters } = queries.search(name, filter, reader)
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
    if (type === 'String') return sqlText(String(value)).replaceAll('\0', '\\0')
    const [seconds, micros] = String(value).split('.')
    const time = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ')
    return `toDateTime64('${time}.${micros}', 6, 'UTC')`
  })
}
