import type { Clock } from '../../base/clock.ts'
import { invalidParameter, queryTimeout, WellheadError } from '../../base/errors.ts'
import type { TraceSpan } from '../../base/tracing.ts'
import type { Blame, Engine, QueryResult, Statement } from '../../engine/engine.ts'
import { engineCodeOf } from '../../engine/engine-errors.ts'
import { readJsonRows, textRows } from '../../engine/json-rows.ts'
import { authorError } from '../../sql/errors.ts'
import {
  filterOrderSettings,
  isolationSettings,
  rowFilterSettings,
  type TimeRange,
} from '../../sql/isolation.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import { type BoundValues, withNow } from '../definition/parameters.ts'
import { isJsonColumn, outwardSettings, wrapQuery } from '../definition/result-columns.ts'
import type { EngineTime } from './engine-time.ts'
import type { OutputFormat } from './output-formats.ts'
import type { QueryQueue } from './query-queue.ts'

export interface EndpointRunnerOptions {
  engine: Engine
  queue: QueryQueue
  clock: Clock
  maxMemoryBytes: number
  maxThreads: number
  /** Every source that there is now. */
  sources: () => Iterable<string>
  /** Hears how long the engine had each run, also one that failed. */
  onRun?: (purpose: RunPurpose, engineMs: number) => void
}

/** Why a query runs. */
export const runPurposes = ['call', 'renewal', 'follow', 'preview'] as const
export type RunPurpose = (typeof runPurposes)[number]

/** A call whose parameters are checked and bound. */
export interface BoundCall {
  endpoint: Endpoint
  values: BoundValues
  format: OutputFormat
  /** Who calls, for a fair share of the engine. */
  caller: string
  /** Only rows of this project are read, whatever the query says. */
  project: string | undefined
  signal?: AbortSignal | undefined
  /** The trace that the call is part of. */
  trace?: TraceSpan | undefined
  /** A call where nothing is said. */
  purpose?: RunPurpose | undefined
  /** Where the time in the engine is written down, also that of a run that fails. */
  spent?: EngineTime | undefined
  /** Who is refused for a while when the query ends the engine. */
  blame?: readonly Blame[]
  /** Milliseconds of the endpoint's time that are used up before the run. */
  usedMs?: number
  /** Settings beside the usual ones. */
  settings?: Statement['settings']
}

/** A run that does not see everything, or not now. */
export interface Part {
  nowMicros?: bigint
  range?: TimeRange | undefined
}

export interface EndpointAnswer {
  body: Buffer
  /** How many there are, where the format lets them be counted. */
  rows: number
  truncated: boolean
  queueMs: number
  engineMs: number
  /** Rows of sources that the engine read. */
  rowsRead: number | undefined
  bytesRead: number | undefined
}

export interface EndpointPlan {
  /** What the engine would do. */
  plan: string
  /** What it would read. */
  reads: { table: string; parts: number; rows: number; marks: number }[]
}

/** To say what a query would do takes no longer for one that may run but for a moment. */
const explainWithinMs = 10_000

/** The engine's number for a regular expression that does not compile. */
const badPattern = 427

/** A text without any character that means something in an expression. */
const plainText = /^[\w ,:;@/%&=#~-]*$/
const maxGoodPatterns = 10_000

/** Runs saved queries: checked, bound, bounded, in turn. */
export class EndpointRunner {
  readonly #options: EndpointRunnerOptions

  /** Regular expressions that the engine has compiled before. */
  readonly #goodPatterns = new Set<string>()

  constructor(options: EndpointRunnerOptions) {
    this.#options = options
  }

  async run(call: BoundCall, part: Part = {}): Promise<EndpointAnswer> {
    const { endpoint, format } = call
    const { compiled, columns, definition } = endpoint
    const values = this.#atTime(call, part.nowMicros)
    const maxRows = definition.max_rows
    const since = performance.now()
    let startedAt: number | undefined
    let engineMs = 0
    const queued = call.trace?.child('queue')
    const result = await this.inTurn(call, async () => {
      startedAt = performance.now()
      queued?.end()
      call.spent?.begin()
      await this.#checkPatterns(call, values, startedAt)
      // One row more than asked tells whether there are more.
      const rows = format.cut ? maxRows + 1 : maxRows
      const { form, ...output } = outputOf(endpoint, format)
      const sql = wrapQuery(compiled.sent, columns, rows, form, definition.json)
      const answer = await this.#query(call, values, sql, { ...output, startedAt }, part.range)
      return { answer, more: format.cut ? false : await this.#hasMore(call, values, startedAt) }
    }).finally(() => {
      call.spent?.end()
      // Who left the queue was never let in.
      if (startedAt === undefined) return queued?.end()
      engineMs = performance.now() - startedAt
      this.#options.onRun?.(call.purpose ?? 'call', engineMs)
    })
    const { answer, more } = result
    const cut = format.cut?.(answer.body, maxRows) ?? { body: answer.body, rows: 0, truncated: more }
    return {
      body: format.frame(cut.body),
      rows: cut.rows,
      truncated: cut.truncated,
      queueMs: (startedAt ?? since) - since,
      engineMs,
      rowsRead: answer.readRows,
      bytesRead: answer.readBytes,
    }
  }

  /** Work of a call that the engine has to do, in its turn. */
  inTurn<T>(
    { caller, signal, purpose }: Pick<BoundCall, 'caller' | 'signal' | 'purpose'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const background = purpose === 'renewal' || purpose === 'follow'
    return this.#options.queue.run({ caller, signal, background }, work)
  }

  /** What a call would do and read, without doing it. */
  async explain(call: BoundCall, { nowMicros, range }: Part = {}): Promise<EndpointPlan> {
    const values = this.#atTime(call, nowMicros)
    const { endpoint } = call
    const sql = wrapQuery(endpoint.compiled.sent, endpoint.columns, endpoint.definition.max_rows + 1, 'json')
    return this.inTurn(call, async () => {
      const text = { format: 'TabSeparatedRaw', deadlineMs: explainWithinMs }
      const plan = await this.#query(call, values, `EXPLAIN indexes = 1 ${sql}`, text, range)
      const estimate = `EXPLAIN ESTIMATE ${sql}`
      const reads = await this.#query(call, values, estimate, { ...text, format: 'JSONEachRow' }, range)
      return {
        plan: plan.body.toString(),
        reads: readJsonRows<Record<string, string>>(reads.body).map(({ table, parts, rows, marks }) => ({
          table: String(table),
          parts: Number(parts),
          rows: Number(rows),
          marks: Number(marks),
        })),
      }
    })
  }

  #atTime({ values }: BoundCall, nowMicros?: bigint): BoundValues {
    return withNow(values, nowMicros ?? BigInt(this.#options.clock.now()) * 1000n)
  }

  async #query(
    call: BoundCall,
    parameters: BoundValues,
    sql: string,
    /** Without a start, the query has a time limit of its own. */
    output: Pick<Statement, 'format' | 'settings'> & ({ deadlineMs: number } | { startedAt: number }),
    range?: TimeRange,
  ): Promise<QueryResult> {
    const { engine, maxMemoryBytes, maxThreads } = this.#options
    const { timeout_seconds: timeoutSeconds } = call.endpoint.definition
    const deadlineMs =
      'deadlineMs' in output
        ? output.deadlineMs
        : timeoutSeconds * 1000 - (call.usedMs ?? 0) - (performance.now() - output.startedAt)
    if (deadlineMs <= 0) throw queryTimeout(timeoutSeconds)
    const span = call.trace?.child('engine', { 'db.system.name': 'clickhouse' })
    try {
      const result = await engine.query(
        {
          sql,
          parameters,
          format: output.format,
          settings: {
            ...outwardSettings,
            ...output.settings,
            ...call.settings,
            ...this.#filters(call, range),
            max_memory_usage: maxMemoryBytes,
            max_threads: maxThreads,
          },
        },
        {
          deadlineMs,
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
      // What was left when the query began is no limit that anybody knows.
      if (queryTimeout.is(error) && !('deadlineMs' in output)) throw queryTimeout(timeoutSeconds)
      // Positions and quotes would be those of the composed SQL, with the values of the call in it.
      throw authorError(error, () => undefined)
    }
  }

  #filters({ project, endpoint }: BoundCall, range?: TimeRange): Record<string, string | number> {
    const isIsolated = project !== undefined || endpoint.definition.sandbox
    if (project === undefined && range === undefined) return isIsolated ? isolationSettings : {}
    const tables = new Set([...this.#options.sources(), ...endpoint.compiled.possibleSources])
    const settings = isIsolated ? isolationSettings : filterOrderSettings
    return { ...settings, ...rowFilterSettings(tables, { project, range }) }
  }

  /** Where no row comes to be matched, the engine would not find out that an expression is none. */
  async #checkPatterns(call: BoundCall, values: BoundValues, startedAt: number): Promise<void> {
    for (const name of call.endpoint.compiled.patterns) {
      const pattern = values[name]
      if (typeof pattern !== 'string' || plainText.test(pattern) || this.#goodPatterns.has(pattern)) continue
      await this.#query(call, values, `SELECT match('', {${name}:String})`, { format: 'Null', startedAt })
      if (this.#goodPatterns.size >= maxGoodPatterns) this.#goodPatterns.clear()
      this.#goodPatterns.add(pattern)
    }
  }

  /** Binary formats cannot be cut behind a row, so the engine is asked whether there is one more. */
  async #hasMore(call: BoundCall, values: BoundValues, startedAt: number): Promise<boolean> {
    const { compiled, definition } = call.endpoint
    const sql = `SELECT count() FROM (SELECT 1 FROM (\n${compiled.sent}\n) LIMIT 1 OFFSET ${definition.max_rows})`
    const { body } = await this.#query(call, values, sql, { format: 'TabSeparatedRaw', startedAt })
    return body.toString().trim() === '1'
  }
}

function outputOf({ columns, definition }: Endpoint, format: OutputFormat) {
  if (format.textRows && columns.some((column) => isJsonColumn(column, definition.json))) {
    return { form: 'text-rows' as const, format: textRows.format, settings: format.textRows }
  }
  return { form: format.form, format: format.engineFormat, settings: format.settings }
}
