import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { invalidParameter, queryTimeout, WellheadError } from '../../base/errors.ts'
import type { Computed } from '../../cache/cached-result.ts'
import {
  type Blame,
  type Engine,
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
  isolatedRows,
  isolationSettings,
  rowFilterSettings,
  type TimeRange,
} from '../../sql/isolation.ts'
import { type BoundValues, withNow } from '../definition/parameters.ts'
import { isJsonColumn, outputSettings, type ResultColumn, wrapQuery } from '../definition/result-columns.ts'
import type { PreparedCall, RunPurpose } from './prepared-call.ts'
import type { QueryQueue } from './query-queue.ts'
import { Sandboxes } from './sandboxes.ts'

interface EndpointRunnerOptions {
  engine: Engine
  queue: QueryQueue
  clock: Clock
  maxMemoryBytes: number
  maxThreads: number
  sources: () => Iterable<string>
  /** Called after each run, also if it failed. */
  onRun?: (purpose: RunPurpose, engineMs: number) => void
}

/** A draft has neither a key nor SQL of a caller. */
type RunCall = Omit<PreparedCall, 'parameters' | 'key' | 'sql'> & {
  sql?: string | undefined
  /** Who is refused for a while if the query crashes the engine. */
  blame?: readonly Blame[]
}

/** A run at a certain time, or of entries in a certain range. */
export interface Part {
  nowMicros?: bigint
  range?: TimeRange | undefined
}

export type RunResult = Omit<Computed, 'contentType'>

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

  async run(call: RunCall, part: Part = {}): Promise<RunResult> {
    const { format } = call
    const maxRows = call.endpoint.definition.max_rows
    const values = this.#atTime(call, part.nowMicros)
    const since = performance.now()
    let startedAt: number | undefined
    let engineMs = 0
    const queued = call.trace?.child('queue')
    const result = await this.inTurn(call, async () => {
      startedAt = performance.now()
      queued?.end()
      call.engineTime?.begin()
      const ready = await this.#compiled(call)
      const { compiled, columns, definition } = ready.endpoint
      await this.#checkPatterns(ready, values, startedAt)
      // One extra row shows whether the result is truncated.
      const rows = format.cut ? maxRows + 1 : maxRows
      const selected = format.sortedColumns ? columns.toSorted((a, b) => (a.name < b.name ? -1 : 1)) : columns
      const { form, ...expected } = outputOf(ready, selected)
      const maxRowBytes = isUnsaved(ready) ? maxResultBytes : undefined
      const { isoTimestamps } = format
      const wrapping = { rows, form, json: definition.json, isoTimestamps, maxRowBytes }
      const sql = wrapQuery(compiled, selected, wrapping)
      const output = await this.#query(ready, values, sql, { ...expected, startedAt }, part.range)
      return { output, more: format.cut ? false : await this.#hasMore(ready, values, startedAt) }
    }).finally(() => {
      call.engineTime?.end()
      // It left the queue before its turn.
      if (startedAt === undefined) return queued?.end()
      engineMs = performance.now() - startedAt
      this.#options.onRun?.(call.purpose ?? 'call', engineMs)
    })
    const { output, more } = result
    const cut = format.cut?.(output.body, maxRows) ?? { body: output.body, rows: 0, truncated: more }
    return {
      body: format.frame?.(cut.body) ?? cut.body,
      rows: cut.rows,
      truncated: cut.truncated,
      queueMs: (startedAt ?? since) - since,
      engineMs,
      rowsRead: output.readRows,
      bytesRead: output.readBytes,
    }
  }

  /** Runs work that needs the engine when it is the caller's turn. */
  inTurn<T>(
    { caller, signal, purpose }: Pick<RunCall, 'caller' | 'signal' | 'purpose'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const background = purpose !== undefined && purpose !== 'call' && purpose !== 'preview'
    return this.#options.queue.run({ caller, signal, background }, work)
  }

  explain(call: RunCall): Promise<QueryPlan> {
    const values = this.#atTime(call)
    return this.inTurn(call, async () => {
      const ready = await this.#compiled(call)
      const { compiled, columns, definition } = ready.endpoint
      const sql = wrapQuery(compiled, columns, { rows: definition.max_rows + 1, form: 'json' })
      const output = { deadlineMs: explainWithinMs }
      const text = { ...output, format: 'TabSeparatedRaw' }
      const plan = await this.#query(ready, values, `EXPLAIN indexes = 1 ${sql}`, text)
      const rows = { ...output, format: 'JSONEachRow' }
      const reads = await this.#query(ready, values, `EXPLAIN ESTIMATE ${sql}`, rows)
      const found = readJsonRows<QueryPlan['reads'][number]>(reads.body)
      return {
        plan: plan.body.toString(),
        reads: found.map(({ table, parts, rows, marks }) => ({ table, parts, rows, marks })),
      }
    })
  }

  /** The check of a caller's SQL takes the engine's time, so it is part of the query's turn. */
  async #compiled(call: RunCall): Promise<RunCall> {
    const { endpoint, sql, blame = [] } = call
    return sql === undefined
      ? call
      : { ...call, endpoint: await this.sandboxes.compile(endpoint, sql, blame) }
  }

  #atTime({ values }: RunCall, nowMicros?: bigint): BoundValues {
    return withNow(values, nowMicros ?? BigInt(this.#options.clock.now()) * 1000n)
  }

  async #query(
    call: RunCall,
    parameters: BoundValues,
    sql: string,
    /** A deadline replaces the time limit of the endpoint, which counts from the start. */
    output: Pick<Statement, 'format' | 'settings'> & ({ deadlineMs: number } | { startedAt: number }),
    range?: TimeRange,
  ): Promise<QueryResult> {
    const { engine, maxMemoryBytes, maxThreads } = this.#options
    const own = call.sql === undefined ? undefined : callerSqlSettings
    const { timeout_seconds: timeoutSeconds } = call.endpoint.definition
    const deadlineMs =
      'deadlineMs' in output
        ? output.deadlineMs
        : timeoutSeconds * 1000 - (performance.now() - output.startedAt)
    if (deadlineMs <= 0) throw queryTimeout(timeoutSeconds)
    const span = call.trace?.child('engine', { 'db.system.name': 'clickhouse' })
    try {
      const result = await engine.query(
        {
          sql,
          parameters,
          format: output.format,
          settings: {
            ...outputSettings,
            ...output.settings,
            ...(isUnsaved(call) && { max_block_size: callerSqlSettings.max_block_size }),
            ...own,
            ...this.#filters(call, range),
            max_memory_usage: Math.min(maxMemoryBytes, own?.max_memory_usage ?? maxMemoryBytes),
            max_result_bytes: maxResultBytes,
            max_threads: maxThreads,
          },
        },
        {
          deadlineMs,
          asReader: true,
          isolated: call.project !== undefined || call.sql !== undefined,
          ...(call.blame && { blame: call.blame }),
          ...(call.signal && { signal: call.signal }),
          ...(span && { trace: span.context }),
        },
      )
      if (result.readRows !== undefined) span?.set({ 'wellhead.rows_read': result.readRows })
      span?.end()
      return result
    } catch (error) {
      span?.end(error instanceof WellheadError ? error.code : 'internal')
      const [pattern] = call.endpoint.compiled.patterns
      if (engineCodeOf(error) === badPattern && pattern !== undefined) {
        throw invalidParameter(pattern, `${pattern} must be a regular expression that RE2 can read.`)
      }
      // Report the whole time limit, not what was left of it.
      if (queryTimeout.is(error) && !('deadlineMs' in output)) throw queryTimeout(timeoutSeconds)
      // Positions and quotes would refer to the composed SQL, which contains values of the call.
      throw authorError(error, () => undefined)
    }
  }

  #filters({ project, endpoint }: RunCall, range?: TimeRange): Record<string, string | number> {
    const isIsolated = project !== undefined || endpoint.definition.sandbox
    const { engine, sources } = this.#options
    if (project === undefined && range === undefined) return isIsolated ? isolationSettings : {}
    const tables = new Set([...sources(), ...endpoint.compiled.possibleSources])
    if (isIsolated) return isolatedRows(engine.database, tables, { project, range })
    return { ...filterOrderSettings, ...rowFilterSettings(engine.database, tables, { range }) }
  }

  /** The engine does not report an invalid expression if no row is matched against it. */
  async #checkPatterns(call: RunCall, values: BoundValues, startedAt: number): Promise<void> {
    for (const name of call.endpoint.compiled.patterns) {
      const pattern = values[name]
      if (typeof pattern !== 'string' || plainText.test(pattern) || this.#goodPatterns.has(pattern)) continue
      await this.#query(call, values, `SELECT match('', {${name}:String})`, { format: 'Null', startedAt })
      this.#goodPatterns.set(pattern, true)
    }
  }

  /** Binary formats cannot be truncated here, so a second query tells whether there are more rows. */
  async #hasMore(call: RunCall, values: BoundValues, startedAt: number): Promise<boolean> {
    const { compiled, definition } = call.endpoint
    const sql = `SELECT count() FROM (SELECT 1 FROM (\n${compiled.prunedSql}\n) LIMIT 1 OFFSET ${definition.max_rows})`
    const { body } = await this.#query(call, values, sql, { format: 'TabSeparatedRaw', startedAt })
    return body.toString().trim() === '1'
  }
}

/** Whether nobody has seen yet how large the result of the SQL is. */
function isUnsaved({ sql, purpose }: RunCall): boolean {
  return sql !== undefined || purpose === 'preview'
}

function outputOf(call: RunCall, columns: readonly ResultColumn[]) {
  const { form, engineFormat, textRows: asText, settings } = call.format
  // The engine limits the size of columns, so only rows that are one column of text can have no more text than that.
  if (asText && isUnsaved(call)) {
    return { form: 'text-rows' as const, format: textRows.format, settings: { ...settings, ...asText } }
  }
  const members = columns.map((column) => {
    return { name: column.name, isJson: isJsonColumn(column, call.endpoint.definition.json) }
  })
  if (asText && members.some(({ isJson }) => isJson)) {
    const template = templateRows(members, call.format.name === 'json')
    return { form: 'template' as const, format: 'Template', settings: { ...settings, ...template } }
  }
  return { form, format: engineFormat, settings: settings ?? {} }
}
