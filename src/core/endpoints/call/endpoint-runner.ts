import { LRUCache } from 'lru-cache'
import { type Clock, type TimeLimit, timeLimit } from '../../base/clock.ts'
import { forbidden, invalidParameter, queryTimeout, tooLarge, WellheadError } from '../../base/errors.ts'
import { Result } from '../../cache/result.ts'
import {
  type Engine,
  type Limits,
  maxResultBytes,
  type QueryPlan,
  type QueryResult,
  type Statement,
} from '../../engine/engine.ts'
import { engineCodeOf } from '../../engine/engine-errors.ts'
import { readJsonRows, templateRows, textRows } from '../../engine/json-rows.ts'
import { authorError } from '../../sql/errors.ts'
import {
  callerSqlSettings,
  filterOrderSettings,
  type HiddenRows,
  isolationSettings,
  retainedSince,
  rowFilterSettings,
} from '../../sql/isolation.ts'
import { queryOf } from '../../sql/query.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { OutputForm } from '../definition/output-types.ts'
import { type BoundValues, withNow } from '../definition/parameters.ts'
import {
  isWrittenAsJson,
  outputSettings,
  type ResultColumn,
  wrapQuery,
} from '../definition/result-columns.ts'
import { blameFor, type Call, isUnseen, type RunPurpose } from './call.ts'
import type { OutputFormat } from './output-formats.ts'
import type { QueryQueue } from './query-queue.ts'
import { Sandboxes } from './sandboxes.ts'

interface EndpointRunnerOptions {
  engine: Engine
  queue: QueryQueue
  clock: Clock
  maxMemoryBytes: number
  maxThreads: number
  sources: () => Iterable<string>
  /** Rows that are being erased. */
  hidden: () => HiddenRows | undefined
  /** Columns of the tables that users fill, by name. */
  tables: () => ReadonlyMap<string, readonly { name: string }[]>
  /** Called after each run, also if it failed. */
  onRun?: (metricLabel: string, engineMs: number) => void
}

type TurnOf = Pick<Call, 'caller' | 'signal'> & { project?: string | undefined; purpose?: RunPurpose }

/** Independent of the endpoint's time limit, which may be too short for explaining. */
const explainWithinMs = 10_000

/** The engine's code for an invalid regular expression. */
const badPattern = 427

/** Text without special characters of regular expressions. */
const plainText = /^[\w ,:;@/%&=#~-]*$/
const maxGoodPatterns = 10_000

/** Of SQL that callers sent to sandboxes, with what its check found. */
const maxCheckedSqlBytes = 16 * 2 ** 20

export class EndpointRunner {
  readonly sandboxes: Sandboxes
  readonly #options: EndpointRunnerOptions
  readonly #goodPatterns = new LRUCache<string, true>({ max: maxGoodPatterns })

  constructor(options: EndpointRunnerOptions) {
    this.#options = options
    this.sandboxes = new Sandboxes(options.engine, maxCheckedSqlBytes)
  }

  async run(call: Call): Promise<Result> {
    const { format } = call
    const maxRows = call.endpoint.definition.max_rows
    const values = this.#atTime(call)
    const since = performance.now()
    let startedAt: number | undefined
    let engineMs = 0
    const queued = call.trace?.child('queue')
    const result = await this.inTurn(call, async () => {
      startedAt = performance.now()
      queued?.end()
      call.engineTime?.begin()
      const limit = timeLimit(call.endpoint.definition.timeout_seconds * 1000)
      const ready = await this.#compiled(call, limit)
      await this.#checkPatterns(ready, values, limit)
      const write = isUnseen(call) ? unseenStatement : statementOf
      const output = await this.#query(ready, values, write(ready.endpoint, format), limit)
      return { output, more: format.cut ? false : await this.#hasMore(ready, values, limit) }
    }).finally(() => {
      call.engineTime?.end()
      // It left the queue before its turn.
      if (startedAt === undefined) return queued?.end()
      engineMs = performance.now() - startedAt
      this.#options.onRun?.(call.metricLabel ?? call.purpose, engineMs)
    })
    const { output, more } = result
    const cut = format.cut?.(output.body, maxRows) ?? { body: output.body, rows: 0, truncated: more }
    return new Result({
      body: format.frame?.(cut.body) ?? cut.body,
      contentType: format.contentType,
      rows: cut.rows,
      truncated: cut.truncated,
      queueMs: (startedAt ?? since) - since,
      engineMs,
      rowsRead: output.readRows,
      bytesRead: output.readBytes,
    })
  }

  /** Runs work that needs the engine when it is the caller's turn. All tokens of a project share its turns. */
  inTurn<T>({ caller, project, signal, purpose }: TurnOf, work: () => Promise<T>): Promise<T> {
    const background = purpose !== undefined && purpose !== 'call' && purpose !== 'preview'
    const tenant = project === undefined || background ? caller : `project:${project}`
    return this.#options.queue.run({ caller: tenant, signal, background }, work)
  }

  /** Number of threads of a search. Undefined: all, because nothing else runs. */
  get searchThreads(): number | undefined {
    return this.#options.queue.running > 1 ? this.#options.maxThreads : undefined
  }

  explain(call: Call): Promise<QueryPlan> {
    const values = this.#atTime(call)
    return this.inTurn(call, async () => {
      const limit = timeLimit(explainWithinMs)
      const ready = await this.#compiled(call, limit)
      const { compiled, columns, definition } = ready.endpoint
      const sql = wrapQuery(compiled, columns, { rows: definition.max_rows + 1, form: 'json' })
      const explained = { sql: `EXPLAIN indexes = 1 ${sql}`, format: 'TabSeparatedRaw' }
      const plan = await this.#query(ready, values, explained, limit)
      const estimated = { sql: `EXPLAIN ESTIMATE ${sql}`, format: 'JSONEachRow' }
      const reads = await this.#query(ready, values, estimated, limit)
      const found = readJsonRows<QueryPlan['reads'][number]>(reads.body)
      return {
        plan: plan.body.toString(),
        reads: found.map(({ table, parts, rows, marks }) => ({ table, parts, rows, marks })),
      }
    })
  }

  /** The check of a caller's SQL takes the engine's time, so it is part of the query's turn. */
  async #compiled(call: Call, limit: TimeLimit): Promise<Call> {
    const { endpoint, sql } = call
    if (sql === undefined) return call
    const compiled = await this.sandboxes.compile(endpoint, sql, limit, (left) => limitsOf(call, left))
    if (call.project !== undefined) this.#refuseShared(compiled)
    return { ...call, endpoint: compiled }
  }

  /** The filter of tenants hides these rows, too; this says why. */
  #refuseShared({ compiled }: Endpoint): void {
    const tables = this.#options.tables()
    const read = queryOf(compiled.sql).selects.flatMap((select) => select.tables)
    const shared = read.find(({ name = '' }) =>
      tables.get(name)?.every((column) => column.name !== 'project'),
    )
    if (!shared) return
    throw forbidden(
      `The table ${shared.name} has no column project, so SQL of tokens with a project cannot read it. Call the endpoint without sql.`,
    )
  }

  #atTime({ values, nowMicros }: Call): BoundValues {
    return withNow(values, nowMicros ?? BigInt(this.#options.clock.now()) * 1000n)
  }

  async #query(
    call: Call,
    parameters: BoundValues,
    { sql, format, settings }: Statement,
    limit: TimeLimit,
  ): Promise<QueryResult> {
    const { engine, maxMemoryBytes, maxThreads } = this.#options
    const own = call.sql === undefined ? undefined : callerSqlSettings
    const limits = limitsOf(call, limit)
    const span = call.trace?.child('engine', { 'db.system.name': 'clickhouse' })
    try {
      const result = await engine.query(
        {
          sql,
          parameters,
          format,
          settings: {
            ...outputSettings,
            ...settings,
            ...(isUnseen(call) && { max_block_size: callerSqlSettings.max_block_size }),
            ...own,
            ...this.#filters(call),
            max_memory_usage: Math.min(maxMemoryBytes, own?.max_memory_usage ?? maxMemoryBytes),
            max_result_bytes: maxResultBytes,
            max_threads: maxThreads,
          },
        },
        { ...limits, asReader: true, ...(span && { trace: span.context }) },
      )
      if (result.readRows !== undefined) span?.set({ 'wellhead.rows_read': result.readRows })
      span?.end()
      return result
    } catch (error) {
      span?.end(error instanceof WellheadError ? error.code : 'internal')
      const [pattern] = call.endpoint.compiled.patterns.values()
      if (engineCodeOf(error) === badPattern && pattern !== undefined) {
        throw invalidParameter(pattern, `${pattern} must be a regular expression that RE2 can read.`)
      }
      // Report the whole time limit, not what was left of it.
      if (queryTimeout.is(error)) throw this.#namingTables(queryTimeout(limit.ms / 1000), call)
      if (tooLarge.is(error)) throw this.#namingTables(error, call)
      // Positions and quotes would refer to the composed SQL, which contains values of the call.
      throw authorError(error, () => undefined)
    }
  }

  #namingTables(error: WellheadError, { endpoint }: Call): WellheadError {
    const tables = this.#options.tables()
    const read = [...endpoint.compiled.tables].filter((name) => tables.has(name)).join(', ')
    const message = `${error.message} Joins can multiply rows of tables; it reads ${read}.`
    return read === '' ? error : new WellheadError(error, message, { cause: error.cause })
  }

  #filters({
    project,
    retentionDays,
    endpoint,
    range,
    sql,
    isolated,
  }: Call): Record<string, string | number> {
    const { engine, sources, clock } = this.#options
    const sinceMicros = retainedSince(retentionDays, clock.now())
    const filter = { project, range, sinceMicros, hidden: this.#options.hidden() }
    if (Object.values(filter).every((part) => part === undefined)) return isolated ? isolationSettings : {}
    const tables = this.#options.tables()
    const named = [...sources(), ...endpoint.compiled.possibleSources]
    const read = new Set(named.filter((name) => !tables.has(name)))
    // In SQL of their own, tenants see only what belongs to them.
    const showsShared = sql === undefined
    const filters = rowFilterSettings(engine.database, read, {
      ...filter,
      tables: tables.keys(),
      showsShared,
    })
    return { ...(isolated ? isolationSettings : filterOrderSettings), ...filters }
  }

  /** The engine does not report an invalid expression if no row is matched against it. */
  async #checkPatterns(call: Call, values: BoundValues, limit: TimeLimit): Promise<void> {
    for (const name of call.endpoint.compiled.patterns.keys()) {
      const pattern = values[name]
      if (typeof pattern !== 'string' || plainText.test(pattern) || this.#goodPatterns.has(pattern)) continue
      const matching = { sql: `SELECT match('', {${name}:String})`, format: 'Null' }
      await this.#query(call, values, matching, limit)
      this.#goodPatterns.set(pattern, true)
    }
  }

  /** Binary formats cannot be truncated here, so a second query tells whether there are more rows. */
  async #hasMore(call: Call, values: BoundValues, limit: TimeLimit): Promise<boolean> {
    const { compiled, definition } = call.endpoint
    const sql = `SELECT count() FROM (SELECT 1 FROM (\n${compiled.prunedSql}\n) LIMIT 1 OFFSET ${definition.max_rows})`
    const { body } = await this.#query(call, values, { sql, format: 'TabSeparatedRaw' }, limit)
    return body.toString().trim() === '1'
  }
}

/** Limits of a statement of a call: the time that is left, who is blamed for a crash, and whether it is isolated. */
function limitsOf(call: Call, limit: TimeLimit): Limits {
  const { isolated, signal } = call
  return { deadlineMs: limit.leftMs(), blame: blameFor(call), isolated, ...(signal && { signal }) }
}

const written = new WeakMap<object, Map<string, Statement>>()

/** The statement of a saved endpoint, without values. It is the same for all requests, so it is written once. */
function statementOf(endpoint: Endpoint, format: OutputFormat): Statement {
  const known = written.get(endpoint.compiled) ?? new Map<string, Statement>()
  const statement = known.get(format.id) ?? writeStatement(endpoint, format)
  written.set(endpoint.compiled, known.set(format.id, statement))
  return statement
}

/** Nobody has seen yet how large the result of a caller's SQL is, so its rows are limited. */
function unseenStatement(endpoint: Endpoint, format: OutputFormat): Statement {
  const { textRows: asText, settings } = format
  if (!asText) return writeStatement(endpoint, format, maxResultBytes)
  // The engine limits the size of columns, so only rows that are one column of text can have no more text than that.
  return writeStatement(endpoint, format, maxResultBytes, {
    form: 'text-rows',
    format: textRows.format,
    settings: { ...settings, ...asText },
  })
}

function writeStatement(
  endpoint: Endpoint,
  format: OutputFormat,
  maxRowBytes?: number,
  output?: Output,
): Statement {
  const { compiled, definition } = endpoint
  const { json, max_rows: maxRows } = definition
  const { sortedColumns, isoTimestamps } = format
  const byName = (one: ResultColumn, other: ResultColumn) => (one.name < other.name ? -1 : 1)
  const columns = sortedColumns ? endpoint.columns.toSorted(byName) : endpoint.columns
  const { form, ...rest } =
    output ?? outputOf(format, columns, (column) => isWrittenAsJson(column, compiled.certain, json))
  // One extra row shows whether the result is truncated.
  const rows = format.cut ? maxRows + 1 : maxRows
  return { ...rest, sql: wrapQuery(compiled, columns, { rows, form, json, isoTimestamps, maxRowBytes }) }
}

type Output = Pick<Statement, 'format' | 'settings'> & { form: OutputForm | 'text-rows' | 'template' }

function outputOf(
  format: OutputFormat,
  columns: readonly ResultColumn[],
  isJson: (column: ResultColumn) => boolean,
): Output {
  const { form, engineFormat, textRows: asText, settings = {} } = format
  const members = columns.map((column) => ({ name: column.name, isJson: isJson(column) }))
  if (!asText || !members.some(({ isJson }) => isJson)) return { form, format: engineFormat, settings }
  const template = templateRows(members, format.name === 'json')
  return { form: 'template', format: 'Template', settings: { ...settings, ...template } }
}
