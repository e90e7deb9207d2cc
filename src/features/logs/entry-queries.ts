import type { EntryReader } from '../../core/access/entry-reader.ts'
import type { Clock } from '../../core/base/clock.ts'
import { invalidParameter } from '../../core/base/errors.ts'
import type { Source } from '../../core/catalog/source.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import { readableSource, type SourceReader } from '../../core/definitions/readable-source.ts'
import { callerBlame } from '../../core/engine/embedded/running-queries.ts'
import { type Engine, maxResultBytes, type Statement } from '../../core/engine/engine.ts'
import { jsonRowSql, outputJson, readJsonRows, textRows } from '../../core/engine/json-rows.ts'
import { type BoundValues, conditionSql, type WordsAs } from '../../core/search/condition-sql.ts'
import { readQuery } from '../../core/search/parse-query.ts'
import { parsingTests, type SearchCondition } from '../../core/search/search-condition.ts'
import { authorError } from '../../core/sql/errors.ts'
import {
  type HiddenRows,
  isolationSettings,
  retainedSince,
  rowFilterSettings,
} from '../../core/sql/isolation.ts'
import { formatMicros, parseIsoTimestamp } from '../../shared/timestamps.ts'
import type { EntryFilter } from './search-shape.ts'

export interface EntryQueriesOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  maxMemoryBytes: number
  /** Rows that are being erased. */
  hidden: () => HiddenRows | undefined
  /** Runs work when it is the caller's turn. */
  inTurn: <T>(
    turn: { caller: string; project: string | undefined; signal: AbortSignal },
    work: () => Promise<T>,
  ) => Promise<T>
  /** Number of threads of a query that begins now. Undefined: as many as the engine likes. */
  threads?: () => number | undefined
}

export type Search = ReturnType<EntryQueries['search']>

/** Who reads which source; with a condition, also how. */
interface Reading {
  reader: EntryReader
  source: Source
  condition?: SearchCondition | undefined
}

export const searchDeadlineMs = 30_000
/**
 * The engine looks at the time between blocks only, and one with large entries can take seconds. It must end by itself: a query
 * that runs longer than its deadline ends the engine for everyone.
 */
const engineShare = 0.7
/** Entries of a block if one condition parses them. */
const parsedRows = 256
/** Number of crashes of the engine after which searches of a caller are refused for a while. */
const maxCrashes = 3

/** Runs statements that see what a reader may see of a source. */
export class EntryQueries {
  readonly #options: EntryQueriesOptions

  constructor(options: EntryQueriesOptions) {
    this.#options = options
  }

  now(): number {
    return this.#options.clock.now()
  }

  /** Throws if the reader may not read the entries of the source. */
  source(name: string, reader: SourceReader): Source {
    return readableSource(this.#options.sources, name, reader)
  }

  search(name: string, sent: EntryFilter, reader: EntryReader, wordsAs?: WordsAs) {
    const source = this.source(name, reader)
    // Isolated queries must not use an index.
    const isRead = reader.project !== undefined || !source.search_index
    const words = wordsAs ?? (isRead ? 'entries' : 'index')
    const nowMicros = BigInt(this.now()) * 1000n
    const filter = reader.project === undefined ? sent : { ...sent, project: reader.project }
    const condition = filter.query.trim() === '' ? undefined : readQuery(filter.query, source.columns)
    const { sql, parameters } = conditionsOf(filter, nowMicros, condition, words)
    const reading = { reader, source, condition }
    const lines = (statement: Pick<Statement, 'sql' | 'parameters'>, deadlineMs?: number) =>
      this.lines(reading, statement, deadlineMs)
    /** Rows of a statement, which can use the parameters of the search and more. */
    const rows = async <Row>(
      text: string,
      more: Pick<Statement, 'parameters' | 'settings'> = {},
      deadlineMs?: number,
    ) => {
      const all = { ...more, parameters: { ...parameters, ...more.parameters } }
      return readJsonRows<Row>(
        await this.run(reading, { sql: text, format: 'JSONEachRow', ...all }, deadlineMs),
      )
    }
    return {
      source,
      table: tableOf(source),
      filter,
      condition,
      words,
      nowMicros,
      sql,
      parameters,
      lines,
      rows,
    }
  }

  /** Entries as lines of JSON, from a statement that selects such rows. */
  lines(
    what: Reading,
    statement: Pick<Statement, 'sql' | 'parameters'>,
    deadlineMs?: number,
  ): Promise<Buffer> {
    return this.run(what, { ...statement, format: textRows.format, settings: textRows.lines }, deadlineMs)
  }

  async run(
    { reader, source, condition }: Reading,
    statement: Statement,
    deadlineMs = searchDeadlineMs,
  ): Promise<Buffer> {
    const isIndexed = reader.project === undefined && source.search_index
    const parsing = condition ? parsingTests(condition, isIndexed) : 0
    const block = parsing > 0 && { max_block_size: Math.max(4, Math.floor(parsedRows / parsing)) }
    const settings = { ...block, ...statement.settings }
    return this.#runOn([source], reader, { ...statement, settings }, deadlineMs)
  }

  /** Rows of a statement that reads several sources. */
  async rowsOf<Row>(
    sources: readonly Source[],
    reader: EntryReader,
    statement: Pick<Statement, 'sql' | 'parameters'>,
    deadlineMs: number,
  ) {
    return readJsonRows<Row>(
      await this.#runOn(sources, reader, { ...statement, format: 'JSONEachRow' }, deadlineMs),
    )
  }

  async #runOn(
    sources: readonly Source[],
    reader: EntryReader,
    statement: Statement,
    deadlineMs: number,
  ): Promise<Buffer> {
    const { engine, maxMemoryBytes, inTurn, threads } = this.#options
    const { id: caller, project, retentionDays, signal } = reader
    const isolated = project !== undefined
    const sinceMicros = retainedSince(retentionDays, this.now())
    const filter = { project, sinceMicros, hidden: this.#options.hidden() }
    const settings = {
      ...outputJson,
      max_execution_time: (engineShare * deadlineMs) / 1000,
      ...statement.settings,
      // The caller must not learn anything from the rows of others, as in a tenant's requests to endpoints.
      ...(isolated && isolationSettings),
      ...rowFilterSettings(
        engine.database,
        sources.map(({ name }) => name),
        filter,
      ),
      max_memory_usage: maxMemoryBytes,
      max_result_bytes: maxResultBytes,
    }
    const blame = callerBlame(caller, project, ' search', maxCrashes)
    try {
      const { body } = await inTurn({ caller, project, signal }, () => {
        const maxThreads = threads?.()
        const limited = { ...settings, ...(maxThreads && { max_threads: maxThreads }) }
        const limits = { deadlineMs, signal, blame, isolated, asReader: true }
        return engine.query({ ...statement, settings: limited }, limits)
      })
      return body
    } catch (error) {
      throw authorError(error, () => undefined)
    }
  }
}

export function tableOf({ name }: Source): string {
  return `\`${name}\``
}

function rowWith(timestamp: string): string {
  return jsonRowSql([
    { name: 'id', sql: 'id' },
    { name: 'timestamp', sql: timestamp },
    { name: 'project', sql: 'project' },
    { name: 'event_message', sql: 'event_message' },
    { name: 'metadata', sql: 'metadata', isJson: true },
  ])
}

/** Selects an entry as the text of a JSON object, with its metadata as it was sent. */
export const entryRow = rowWith('toUnixTimestamp64Micro(timestamp)')

/** The same with an ISO 8601 timestamp. */
export const isoEntryRow = rowWith("concat(replaceOne(toString(timestamp), ' ', 'T'), 'Z')")

const instant = "DateTime64(6, 'UTC')"

/** A search without a start covers one hour, so that nobody reads ninety days by mistake. */
const defaultRangeMicros = 3_600_000_000n

/** The bounds of a filter in microseconds; `to` stays undefined if there is none. */
export function rangeOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint) {
  const to = filter.to === undefined ? undefined : parseIsoTimestamp(filter.to)
  const from = filter.from === undefined ? undefined : parseIsoTimestamp(filter.from)
  const bounds = { from: from ?? (to ?? nowMicros) - defaultRangeMicros, to }
  if (to !== undefined && bounds.from >= to) throw invalidParameter('to', 'to must be later than from.')
  return bounds
}

export function rangeConditions(filter: Pick<EntryFilter, 'from' | 'to' | 'project'>, nowMicros: bigint) {
  const { from, to } = rangeOf(filter, nowMicros)
  const terms = [`timestamp >= {from:${instant}}`]
  const parameters: BoundValues = { from: formatMicros(from) }
  if (to !== undefined) {
    terms.push(`timestamp < {to:${instant}}`)
    parameters.to = formatMicros(to)
  }
  if (filter.project !== undefined) {
    terms.push('project = {project:String}')
    parameters.project = filter.project
  }
  return { sql: terms.join(' AND '), parameters }
}

/** All conditions of a filter, for a WHERE clause. Values are parameters; column names and paths are quoted in the SQL. */
export function conditionsOf(
  filter: EntryFilter,
  nowMicros: bigint,
  query?: SearchCondition,
  words?: WordsAs,
) {
  const { sql, parameters } = rangeConditions(filter, nowMicros)
  return { sql: query ? `${sql} AND (${conditionSql(query, parameters, words)})` : sql, parameters }
}
