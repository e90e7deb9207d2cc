import type { Clock } from '../base/clock.ts'
import { resourceNotFound, WellheadError } from '../base/errors.ts'
import { grouped } from '../base/grouped.ts'
import { readShape } from '../base/validation.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { callerBlame, type Engine, maxResultBytes, type Statement } from '../engine/engine.ts'
import { outputJson, readJsonRows, textRows } from '../engine/json-rows.ts'
import { authorError } from '../sql/errors.ts'
import { isolatedRows } from '../sql/isolation.ts'
import { detectedFields, topValues } from './detected-fields.ts'
import { conditionsOf, entryRow, isoEntryRow, rangeConditions, rangeOf } from './entry-sql.ts'
import { type BoundValues, conditionSql, groupSql, present } from './search/condition-sql.ts'
import {
  isStatus,
  positiveTests,
  readQuery,
  requiredField,
  type SearchCondition,
} from './search/search-condition.ts'
import {
  type EntryFilter,
  entryFilterShape,
  histogramShape,
  searchShape,
  valuesShape,
} from './search-shape.ts'
import { type RunRows, seenPaths } from './seen-paths.ts'

interface LogSearchOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  maxMemoryBytes: number
  /** Runs work when it is the caller's turn. */
  inTurn: <T>(turn: { caller: string; signal: AbortSignal }, work: () => Promise<T>) => Promise<T>
}

export interface EntryReader {
  id: string
  /** The only project whose entries the reader sees; undefined for all projects. */
  project: string | undefined
  signal: AbortSignal
}

interface ValueCount {
  value: string
  count: number
}

interface Search {
  reader: EntryReader
  source: Source
  table: string
  filter: EntryFilter
  condition: SearchCondition | undefined
  sql: string
  parameters: BoundValues
  nowMicros: bigint
}

const deadlineMs = 30_000
const dayMs = 86_400_000
/** Number of crashes of the engine after which searches of a caller are refused for a while. */
const maxCrashes = 3
/** Values of a histogram that have counts of their own. */
const maxGroups = 8
/** A column with more distinct values is not a facet. */
const maxFacetValues = 100
const shownFacetValues = 20
/** Conditions of a search without a match that are counted, and the characters of one that are shown. */
const maxNotedTests = 10
const maxNotedLength = 100

/** Readable lengths of buckets, in seconds. */
const niceSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
]

/**
 * Searches the entries of a source, counts them over time, and counts their values. Aliases in its statements begin with _, as no
 * column does: the engine reads an alias where a condition names a column of that name.
 */
export class LogSearch {
  readonly #options: LogSearchOptions

  constructor(options: LogSearchOptions) {
    this.#options = options
  }

  /** Newest first, as JSON written by the engine. */
  async entries(
    name: string,
    body: unknown,
    reader: EntryReader,
    timestamps: 'microseconds' | 'iso' = 'microseconds',
  ): Promise<Buffer> {
    const { limit, before, ...filter } = readShape(searchShape, body)
    const search = this.#search(name, filter, reader)
    const last = "fromUnixTimestamp64Micro({last:Int64}, 'UTC')"
    const isAfter = before?.skip === undefined ? '<' : '<='
    const after = before
      ? ` AND timestamp <= ${last} AND (timestamp, id) ${isAfter} (${last}, {last_id:String})`
      : ''
    const where = `WHERE ${search.sql}${after}`
    const newest = 'ORDER BY timestamp DESC, id DESC'
    return this.#query(search, {
      // Entries can have the same timestamp and id, so nothing else may decide their order. Only those that can be on the page
      // are read whole to compare them.
      sql:
        `SELECT ${timestamps === 'iso' ? isoEntryRow : entryRow} FROM ${search.table} ` +
        `PREWHERE (timestamp, id) GLOBAL IN (SELECT timestamp, id FROM ${search.table} ${where} ${newest} LIMIT {most:UInt32}) ` +
        `${where} ${newest}, project, event_message, metadata LIMIT {limit:UInt32} OFFSET {skip:UInt32}`,
      parameters: {
        ...search.parameters,
        limit,
        skip: before?.skip ?? 0,
        most: limit + (before?.skip ?? 0),
        ...(before && { last: before.timestamp, last_id: before.id }),
      },
      format: textRows.format,
      settings: textRows.array,
    })
  }

  /** The newest entry with this id, as JSON written by the engine. */
  async entry(name: string, id: string, micros: string | undefined, reader: EntryReader): Promise<Buffer> {
    const source = this.#options.sources.get(name, () => true)
    const { project } = reader
    const which = `id = {id:String}${project === undefined ? '' : ' AND project = {project:String}'}`
    // Without the timestamp, or with a wrong one, ids of all entries are read.
    const times =
      micros === undefined ? [''] : [" AND timestamp = fromUnixTimestamp64Micro({at:Int64}, 'UTC')", '']
    for (const time of times) {
      const body = await this.#query(
        { reader, source },
        {
          sql: `SELECT ${entryRow} FROM ${tableOf(source)} WHERE ${which}${time} ORDER BY timestamp DESC LIMIT 1`,
          parameters: {
            id,
            ...(project !== undefined && { project }),
            ...(time !== '' && { at: micros as string }),
          },
          format: textRows.format,
          settings: textRows.lines,
        },
      )
      if (body.length > 0) return body
    }
    throw resourceNotFound(`The source ${source.name} has no entry with the id "${id}"`)
  }

  async histogram(name: string, body: unknown, reader: EntryReader) {
    const { buckets: maxBuckets, by, ...filter } = readShape(histogramShape, body)
    const search = this.#search(name, filter, reader)
    const step = stepOf(filter, search.nowMicros, maxBuckets)
    const group = by === undefined ? "''" : groupSql(requiredField(by, search.source.columns, 'by'))
    const { table, sql } = search
    const top =
      `(SELECT groupArray(_g) FROM (SELECT ${group} AS _g FROM ${table} WHERE ${sql} ` +
      `GROUP BY _g ORDER BY count() DESC, _g LIMIT ${maxGroups}))`
    const rows = await this.#rows<{ _bucket: number; _value: string; _n: number }>(
      search,
      'SELECT intDiv(toUnixTimestamp(timestamp), {step:UInt32}) * {step:UInt32} * 1000000 AS _bucket, ' +
        `${by === undefined ? group : `if(has(${top}, ${group} AS _g), _g, '…')`} AS _value, count() AS _n ` +
        `FROM ${table} WHERE ${sql} GROUP BY _bucket, _value ORDER BY _bucket, _n DESC, _value LIMIT ${2000 * (maxGroups + 1)}`,
      { ...search.parameters, step },
    )
    const buckets = new Map<number, { timestamp: number; count: number; counts?: Record<string, number> }>()
    for (const { _bucket: bucket, _value: value, _n: n } of rows) {
      const found = buckets.get(bucket) ?? { timestamp: bucket, count: 0, ...(by && { counts: {} }) }
      found.count += n
      // Values are of others: one may be named __proto__.
      if (found.counts) Object.defineProperty(found.counts, value, { value: n, enumerable: true })
      buckets.set(bucket, found)
    }
    // The counts are right without notes.
    const notes = buckets.size === 0 ? await this.#notes(search).catch(unlessRefused) : []
    // In order, without empty ones.
    return { bucket_seconds: step, buckets: [...buckets.values()], notes }
  }

  async values(name: string, body: unknown, reader: EntryReader): Promise<ValueCount[]> {
    const { path, limit, ...filter } = readShape(valuesShape, body)
    const search = this.#search(name, filter, reader)
    const rows = await this.#rows<{ _value: string; _n: number }>(
      search,
      `SELECT substringUTF8(${present(requiredField(path, search.source.columns, 'path'))}, 1, 500) AS _value, count() AS _n ` +
        `FROM ${search.table} WHERE ${search.sql} GROUP BY _value HAVING _value != '' ORDER BY _n DESC, _value LIMIT {limit:UInt32}`,
      { ...search.parameters, limit },
    )
    return rows.map(({ _value, _n }) => ({ value: _value, count: _n }))
  }

  /** The most frequent values of all typed columns that have few, and of fields that no typed column stores. */
  async facets(name: string, body: unknown, reader: EntryReader) {
    const search = this.#search(name, readShape(entryFilterShape, body), reader)
    const rows: RunRows = (sql, settings) => this.#rows(search, sql, search.parameters, settings)
    const [facets, fields] = await Promise.all([
      this.#facets(search, rows),
      detectedFields(search, maxFacetValues + 1, rows),
    ])
    const detected = fields.map(({ path, values, ...counts }) => {
      const isFew = values.length <= maxFacetValues
      // Ids and the like differ from entry to entry.
      const isFacet = isFew && (values.length <= 10 || values.length * 2 <= counts.entries)
      return {
        field: path,
        ...counts,
        distinct: isFew ? values.length : null,
        values: isFacet ? values.sort(byCount).slice(0, shownFacetValues) : [],
      }
    })
    return { facets, detected }
  }

  async #facets(search: Search, rows: RunRows) {
    const columns = search.source.columns.flatMap(({ name: column, path, type }) => {
      const field = requiredField(column, search.source.columns, 'column')
      return type === 'text' || isStatus(field) ? [{ column, path, value: present(field) }] : []
    })
    if (columns.length === 0) return []
    // One more than allowed, to see whether there are more.
    const tops = await topValues(columns, `${search.table} WHERE ${search.sql}`, maxFacetValues + 1, rows)
    return columns.flatMap(({ column, path }, index) => {
      const values = tops[index] ?? []
      if (values.length > maxFacetValues || values.length === 0) return []
      return [{ field: path, column, values: values.sort(byCount).slice(0, shownFacetValues) }]
    })
  }

  /** The fields of the newest entries, and how many entries arrived lately. */
  async describe(name: string, reader: EntryReader) {
    const lastDay = new Date(this.#options.clock.now() - dayMs).toISOString()
    const search = this.#search(name, readShape(entryFilterShape, { from: lastDay }), reader)
    const { table, sql, parameters, source } = search
    const [fields, counts, newestMicros] = await Promise.all([
      seenPaths(source, (statement, settings) => this.#rows(search, statement, {}, settings)),
      this.#rows<{ _n: number }>(search, `SELECT count() AS _n FROM ${table} WHERE ${sql}`, parameters),
      this.#newest(search),
    ])
    return { fields, lastDay: counts[0]?._n ?? 0, newestMicros }
  }

  #search(name: string, sent: EntryFilter, reader: EntryReader): Search {
    const source = this.#options.sources.get(name, () => true)
    const nowMicros = BigInt(this.#options.clock.now()) * 1000n
    const filter = reader.project === undefined ? sent : { ...sent, project: reader.project }
    const condition = filter.query.trim() === '' ? undefined : readQuery(filter.query, source.columns)
    const bound = conditionsOf(filter, nowMicros, condition)
    return { reader, source, table: tableOf(source), filter, condition, nowMicros, ...bound }
  }

  async #notes(search: Search): Promise<string[]> {
    const { table, filter, condition, nowMicros } = search
    const { sql, parameters } = rangeConditions(filter, nowMicros)
    // Some conditions are several tests: a UUID is searched in two columns, and 5xx is a range or a text.
    const tests = grouped(condition ? [...positiveTests(condition)] : [], ({ text }) => text)
    const texts = [...tests.keys()].slice(0, maxNotedTests)
    const counts = texts.map((text, index) => {
      const parts = tests.get(text) ?? []
      return `countIf(${conditionSql({ kind: 'or', parts }, parameters)}) AS _n${index}`
    })
    const [count = {}] = await this.#rows<Record<string, number>>(
      search,
      `SELECT ${['count() AS _entries', ...counts].join(', ')} FROM ${table} WHERE ${sql}`,
      parameters,
    )
    if (count._entries === 0) {
      const newest = await this.#newest(search)
      const whose = filter.project === undefined ? '' : ` of project "${filter.project}"`
      if (newest === undefined) return [`The source has no entries${whose}.`]
      const at = new Date(Math.floor(newest / 1000)).toISOString()
      return [`There are no entries in this time range. The newest entry is from ${at}.`]
    }
    if (texts.length === 0) return ['The query excludes every entry in this time range.']
    const unmatched = texts.filter((_, index) => count[`_n${index}`] === 0)
    if (unmatched.length === 0) {
      return ['Each condition matches entries alone, but no entry matches all of them.']
    }
    const shown = unmatched.map((text) =>
      text.length > maxNotedLength ? `${text.slice(0, maxNotedLength)}…` : text,
    )
    return shown.map((text) => `No entry in this time range matches ${text}.`)
  }

  /** The timestamp of the newest entry of any time that the reader sees. */
  async #newest(search: Search): Promise<number | undefined> {
    const { project } = search.filter
    const [newest] = await this.#rows<{ at: number }>(
      search,
      `SELECT toUnixTimestamp64Micro(timestamp) AS at FROM ${search.table} ` +
        `${project === undefined ? '' : 'WHERE project = {project:String} '}ORDER BY timestamp DESC LIMIT 1`,
      project === undefined ? {} : { project },
    )
    return newest?.at
  }

  async #rows<Row>(
    search: Search,
    sql: string,
    parameters: BoundValues,
    settings: Statement['settings'] = {},
  ): Promise<Row[]> {
    return readJsonRows<Row>(await this.#query(search, { sql, parameters, settings, format: 'JSONEachRow' }))
  }

  async #query({ reader, source }: Pick<Search, 'reader' | 'source'>, statement: Statement): Promise<Buffer> {
    const { engine, maxMemoryBytes, inTurn } = this.#options
    const { id: caller, project, signal } = reader
    const isolated = project !== undefined
    const settings = {
      ...outputJson,
      ...statement.settings,
      // The caller must not learn anything from the rows of others, as in a tenant's requests to endpoints.
      ...(isolated && isolatedRows(engine.database, [source.name], { project })),
      max_memory_usage: maxMemoryBytes,
      max_result_bytes: maxResultBytes,
    }
    const blame = callerBlame(caller, project, ' search', maxCrashes)
    try {
      const { body } = await inTurn({ caller, signal }, () =>
        engine.query({ ...statement, settings }, { deadlineMs, signal, blame, isolated, asReader: true }),
      )
      return body
    } catch (error) {
      throw authorError(error, () => undefined)
    }
  }
}

function unlessRefused(error: unknown): string[] {
  if (!(error instanceof WellheadError)) throw error
  return []
}

function tableOf({ name }: Source): string {
  return `\`${name}\``
}

function byCount(one: ValueCount, other: ValueCount): number {
  return other.count - one.count || (one.value < other.value ? -1 : 1)
}

/** The shortest readable step that needs no more than this number of buckets. */
function stepOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint, buckets: number): number {
  const { from, to = nowMicros } = rangeOf(filter, nowMicros)
  const seconds = Math.max(1, Number(to - from) / 1_000_000)
  const days = Math.ceil(seconds / buckets / 86_400)
  return niceSteps.find((step) => seconds / step <= buckets) ?? days * 86_400
}
