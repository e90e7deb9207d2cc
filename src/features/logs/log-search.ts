import type { EntryReader } from '../../core/access/entry-reader.ts'
import { invalidParameter, queryTimeout, resourceNotFound, WellheadError } from '../../core/base/errors.ts'
import { grouped } from '../../core/base/grouped.ts'
import { didYouMean } from '../../core/base/text/closest-name.ts'
import { readShape } from '../../core/base/validation.ts'
import { conditionSql, present } from '../../core/search/condition-sql.ts'
import {
  type FieldCondition,
  positiveTests,
  requiredField,
  type WordCondition,
} from '../../core/search/search-condition.ts'
import { nextPage, readNext, type SearchCursor } from '../../core/search/search-cursor.ts'
import { pathSettings, seenPaths } from '../../core/search/seen-paths.ts'
import { closestPath } from '../../core/sql/warnings/path-warnings.ts'
import { containsSql, foldCase } from '../../core/sql/word.ts'
import { countedLength } from '../../shared/counted-values.ts'
import { pathOf, shownPath } from '../../shared/path-text.ts'
import {
  EntryQueries,
  entryRow,
  isoEntryRow,
  rangeConditions,
  type Search,
  searchDeadlineMs,
  tableOf,
} from './entry-queries.ts'
import { facetsOf } from './facets.ts'
import { histogramOf } from './histogram.ts'
import { cursorShape, entryFilterShape, histogramShape, searchShape, valuesShape } from './search-shape.ts'
import { dateOf, slicesOf } from './search-slices.ts'

interface EmptyResult {
  notes: string[]
  /** Timestamp of the newest entry if the time range has none. */
  newest: number | null
}

/** Entries, newest first. */
export interface FoundEntries {
  /** JSON objects, one in each line. */
  lines: Buffer
  count: number
  /** Set if older entries were not read in time: where the search stopped. */
  searchedSince: Date | undefined
  /** Continues after a page that is full. */
  next?: string | undefined
}

const dayMs = 86_400_000
/** Conditions of a search without a match that are counted, and the characters of one that are shown. */
const maxNotedTests = 10
const maxNotedLength = 100

/** status>=500 instead of status:>=500 */
const comparedField = /^([\p{L}_][\p{L}\p{N}_.]*)([<>]=?|=)([^\s=<>]+)$/u

/**
 * Searches the entries of a source, counts them over time, and counts their values. Aliases in its statements begin with _, as no
 * column does: the engine reads an alias where a condition names a column of that name.
 */
export class LogSearch extends EntryQueries {
  /** Reads the newest part of the range first, then longer and longer ones, as long as there is time. */
  async entries(
    name: string,
    body: unknown,
    reader: EntryReader,
    timestamps: 'microseconds' | 'iso' = 'microseconds',
  ): Promise<FoundEntries> {
    const { limit, next, before: sent, ...filter } = readShape(searchShape, body)
    if (next !== undefined && sent) throw invalidParameter('next', 'Send either next or before, not both.')
    const before = next === undefined ? sent : cursorOf(next)
    const search = this.search(name, filter, reader)
    const deadline = performance.now() + searchDeadlineMs
    const last = "fromUnixTimestamp64Micro({last:Int64}, 'UTC')"
    const isAfter = before?.skip === undefined ? '<' : '<='
    const after = before
      ? ` AND timestamp <= ${last} AND (timestamp, id) ${isAfter} (${last}, {last_id:String})`
      : ''
    const newest = 'ORDER BY timestamp DESC, id DESC'
    const { condition, parameters } = search
    // The index of words costs as much again, however few entries are left.
    const again = condition ? ` AND (${conditionSql(condition, parameters, 'few')})` : ''
    const inRange = `${rangeConditions(search.filter, search.nowMicros).sql}${again}`
    const found: Buffer[] = []
    let [count, skip] = [0, before?.skip ?? 0]
    for (const slice of slicesOf(search, before?.timestamp)) {
      const where = `WHERE ${search.sql}${after}${slice.sql}`
      const statement = {
        // Entries can have the same timestamp and id, so nothing else may decide their order. Only those that can be on the
        // page are read whole to compare them.
        sql:
          `SELECT ${timestamps === 'iso' ? isoEntryRow : entryRow} FROM ${search.table} ` +
          `PREWHERE (timestamp, id) GLOBAL IN (SELECT timestamp, id FROM ${search.table} ${where} ${newest} LIMIT {most:UInt32}) ` +
          `WHERE ${inRange}${after}${slice.sql} ${newest}, project, event_message, metadata LIMIT {limit:UInt32} OFFSET {skip:UInt32}`,
        parameters: {
          ...parameters,
          ...slice.parameters,
          limit: limit - count,
          skip,
          most: limit - count + skip,
          ...(before && { last: before.timestamp, last_id: before.id }),
        },
      }
      try {
        const lines = await search.lines(statement, Math.max(1, deadline - performance.now()))
        found.push(lines)
        for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) count++
      } catch (error) {
        if (!queryTimeout.is(error) || slice.toMicros === undefined) throw error
        return { lines: Buffer.concat(found), count, searchedSince: dateOf(slice.toMicros) }
      }
      if (count >= limit) break
      // Entries with the timestamp of the cursor are in the first part.
      skip = 0
    }
    const lines = Buffer.concat(found)
    const isFull = count >= limit && timestamps === 'microseconds'
    return { lines, count, searchedSince: undefined, next: isFull ? nextPage(lines, before) : undefined }
  }

  /** The newest entry with this id, as JSON written by the engine. */
  async entry(name: string, id: string, micros: string | undefined, reader: EntryReader): Promise<Buffer> {
    const source = this.source(name, reader)
    const { project } = reader
    const which = `id = {id:String}${project === undefined ? '' : ' AND project = {project:String}'}`
    const from = `SELECT ${entryRow} FROM ${tableOf(source)} WHERE ${which}`
    // Without the timestamp, or with a wrong one, ids of all entries are read.
    const times =
      micros === undefined ? [''] : [" AND timestamp = fromUnixTimestamp64Micro({at:Int64}, 'UTC')", '']
    for (const time of times) {
      const sql = `${from}${time} ORDER BY timestamp DESC LIMIT 1`
      const parameters = { id, project: project ?? null, at: micros ?? null }
      const body = await this.lines({ reader, source }, { sql, parameters })
      if (body.length > 0) return body
    }
    throw resourceNotFound(`The source ${source.name} has no entry with the id "${id}"`)
  }

  async histogram(name: string, body: unknown, reader: EntryReader) {
    const { buckets: maxBuckets, by, ...filter } = readShape(histogramShape, body)
    const search = this.search(name, filter, reader)
    const found = await histogramOf(search, maxBuckets, by)
    // The counts are right without notes.
    const isEmpty = found.buckets.length === 0 && found.searchedSince === undefined
    const empty = isEmpty ? await whyEmpty(search).catch(unlessRefused) : { notes: [], newest: null }
    return { ...found, ...empty }
  }

  async values(name: string, body: unknown, reader: EntryReader) {
    const { path, limit, search: wanted, ...filter } = readShape(valuesShape, body)
    const search = this.search(name, filter, reader)
    const value = present(requiredField(path, search.source.columns, 'path'))
    const folded = foldCase(wanted)
    const isWanted = wanted === '' ? '' : ` AND ${containsSql(value, '{wanted:String}', folded)}`
    const rows = await search.rows<{ _value: string; _n: number }>(
      `SELECT substringUTF8(${value}, 1, ${countedLength}) AS _value, count() AS _n FROM ${search.table} WHERE ${search.sql}${isWanted} ` +
        "GROUP BY _value HAVING _value != '' ORDER BY _n DESC, _value LIMIT {limit:UInt32}",
      { parameters: { limit, wanted: folded } },
    )
    return rows.map(({ _value, _n }) => ({ value: _value, count: _n }))
  }

  /** The most frequent values of fields. */
  async facets(name: string, body: unknown, reader: EntryReader) {
    return facetsOf(this.search(name, readShape(entryFilterShape, body), reader))
  }

  /** The fields of the newest entries, and how many entries arrived lately. */
  async describe(name: string, reader: EntryReader) {
    const lastDay = new Date(this.now() - dayMs).toISOString()
    const search = this.search(name, readShape(entryFilterShape, { from: lastDay }), reader)
    const [fields, counts, newestMicros] = await Promise.all([
      pathsOf(search),
      search.rows<{ _n: number }>(`SELECT count() AS _n FROM ${search.table} WHERE ${search.sql}`),
      newestOf(search),
    ])
    return { fields, lastDay: counts[0]?._n ?? 0, newestMicros }
  }
}

function cursorOf(next: string): SearchCursor {
  const { data } = cursorShape.safeParse(readNext(next))
  if (data) return data
  throw invalidParameter(
    'next',
    'next is not a value of the header Wellhead-Next. Start again at the first page.',
  )
}

async function whyEmpty(search: Search): Promise<EmptyResult> {
  const { table, filter, condition, nowMicros, words } = search
  const { sql, parameters } = rangeConditions(filter, nowMicros)
  // Some conditions are several tests: a UUID is searched in two columns, and 5xx is a range or a text.
  const tests = grouped(condition ? [...positiveTests(condition)] : [], ({ text }) => text)
  const texts = [...tests.keys()].slice(0, maxNotedTests)
  // In conditions, which use the index of words. A query that is one condition was already counted.
  const conditions = condition?.kind === 'word' || condition?.kind === 'test' ? [] : texts
  const selects = ['', ...conditions].map((text, index) => {
    const parts = tests.get(text)
    const test = parts ? ` AND (${conditionSql({ kind: 'or', parts }, parameters, words)})` : ''
    return `SELECT ${index} AS _n FROM (SELECT 1 FROM ${table} WHERE ${sql}${test} LIMIT 1)`
  })
  const rows = await search.rows<{ _n: number }>(selects.join(' UNION ALL '), { parameters })
  const met = new Set(rows.map(({ _n }) => _n))
  if (!met.has(0)) {
    const newest = (await newestOf(search)) ?? null
    const whose = filter.project === undefined ? '' : ` of project "${filter.project}"`
    const note =
      newest === null
        ? `The source has no entries${whose}.`
        : `There are no entries in this time range. The newest entry is from ${dateOf(newest).toISOString()}.`
    return { notes: [note], newest }
  }
  const noted = (...notes: string[]) => ({ notes, newest: null })
  if (texts.length === 0) return noted('The query excludes every entry in this time range.')
  const unmatched = texts.filter((_, index) => !met.has(index + 1))
  if (unmatched.length === 0) {
    return noted('Each condition matches entries alone, but no entry matches all of them.')
  }
  const firsts = unmatched.map((text) => tests.get(text)?.[0])
  const isHinted = firsts.some((test) => test?.kind === 'test' && test.field.kind === 'path')
  const paths = isHinted ? (await pathsOf(search)).map(({ path }) => path) : []
  return noted(
    ...unmatched.map((text, index) => {
      const shown = text.length > maxNotedLength ? `${text.slice(0, maxNotedLength)}…` : text
      return `No entry in this time range matches ${shown}.${hintFor(firsts[index], paths, search)}`
    }),
  )
}

/** What someone may have meant by a condition, as a sentence after a space. */
function hintFor(
  test: FieldCondition | WordCondition | undefined,
  paths: readonly string[],
  { source }: Search,
): string {
  if (test?.kind === 'word') {
    const [, field, sign, value] = comparedField.exec(test.value) ?? []
    return field ? ` To compare a field, write ${field}:${sign === '=' ? '' : sign}${value}.` : ''
  }
  const path = test?.field.kind === 'path' ? pathOf(test.field.keys) : undefined
  if (path === undefined || paths.some((one) => one === path || one.startsWith(`${path}.`))) return ''
  const names = source.columns.map(({ name }) => name)
  const closest = closestPath(path, new Set([...paths, ...names, 'project', 'message', 'id']))
  return didYouMean(closest && shownPath(closest))
}

function pathsOf({ source, rows }: Search) {
  return seenPaths(source, (sql) => rows(sql, { settings: pathSettings }))
}

/** The timestamp of the newest entry of any time that the reader sees. */
async function newestOf({ filter, table, rows }: Search): Promise<number | undefined> {
  const where = filter.project === undefined ? '' : 'WHERE project = {project:String} '
  const sql = `SELECT toUnixTimestamp64Micro(timestamp) AS at FROM ${table} ${where}ORDER BY timestamp DESC LIMIT 1`
  return (await rows<{ at: number }>(sql))[0]?.at
}

function unlessRefused(error: unknown): EmptyResult {
  if (!(error instanceof WellheadError)) throw error
  return { notes: [], newest: null }
}
