import type { Clock } from '../base/clock.ts'
import { forbidden } from '../base/errors.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { callerBlame, type Engine, maxResultBytes, type Statement } from '../engine/engine.ts'
import { outputJson, readJsonRows } from '../engine/json-rows.ts'
import { auditRefusal, auditSource } from '../sql/audit-source.ts'
import { authorError } from '../sql/errors.ts'
import { isolatedRows } from '../sql/isolation.ts'
import { conditionsOf } from './entry-sql.ts'
import type { BoundValues } from './search/condition-sql.ts'
import { parsingTests, readQuery, type SearchCondition } from './search/search-condition.ts'
import type { EntryFilter } from './search-shape.ts'

export interface EntryQueriesOptions {
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
  /** Only admins read the audit. */
  isAdmin: boolean
  signal: AbortSignal
}

export interface Search {
  reader: EntryReader
  source: Source
  table: string
  filter: EntryFilter
  condition: SearchCondition | undefined
  sql: string
  parameters: BoundValues
  nowMicros: bigint
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

  source(name: string): Source {
    return this.#options.sources.get(name, () => true)
  }

  search(name: string, sent: EntryFilter, reader: EntryReader): Search {
    const source = this.source(name)
    const nowMicros = BigInt(this.now()) * 1000n
    const filter = reader.project === undefined ? sent : { ...sent, project: reader.project }
    const condition = filter.query.trim() === '' ? undefined : readQuery(filter.query, source.columns)
    const bound = conditionsOf(filter, nowMicros, condition)
    return { reader, source, table: tableOf(source), filter, condition, nowMicros, ...bound }
  }

  async rows<Row>(
    search: Search,
    sql: string,
    parameters: BoundValues,
    settings: Statement['settings'] = {},
    deadlineMs = searchDeadlineMs,
  ): Promise<Row[]> {
    const statement = { sql, parameters, settings, format: 'JSONEachRow' }
    return readJsonRows<Row>(await this.run(search, statement, deadlineMs))
  }

  async run(
    { reader, source, condition }: Pick<Search, 'reader' | 'source'> & Partial<Pick<Search, 'condition'>>,
    statement: Statement,
    deadlineMs = searchDeadlineMs,
  ): Promise<Buffer> {
    const { engine, maxMemoryBytes, inTurn } = this.#options
    const { id: caller, project, signal } = reader
    if (source.name === auditSource && !reader.isAdmin) throw forbidden(auditRefusal)
    const isolated = project !== undefined
    const parsing = condition ? parsingTests(condition) : 0
    const settings = {
      ...outputJson,
      max_execution_time: (engineShare * deadlineMs) / 1000,
      ...(parsing > 0 && { max_block_size: Math.max(4, Math.floor(parsedRows / parsing)) }),
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

export function tableOf({ name }: Source): string {
  return `\`${name}\``
}
