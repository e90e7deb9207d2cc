import type { EmbeddedEngine } from '../../src/core/engine/embedded-engine.ts'
import { engineCodeOf } from '../../src/core/engine/engine-errors.ts'
import { readJsonRows } from '../../src/core/engine/json-rows.ts'
import { callerSqlSettings, isolationSettings } from '../../src/core/sql/isolation.ts'
import { checkPatterns, hasBoundedArguments } from '../../src/core/sql/patterns.ts'
import { parseSelect } from '../../src/core/sql/tree.ts'
import { becomesTrue } from '../load/load-target.ts'
import { patienceMs } from '../support/patience.ts'
import {
  aggregateArguments,
  aggregateParameters,
  frames,
  type KindName,
  kinds,
  ordinaryShapes,
} from './function-arguments.ts'

export interface EngineFunction {
  name: string
  aggregate: boolean
}

export type TrialResult = { kind: 'stops' | 'no arguments' } | { kind: 'ignores limit'; sql: string }

export interface FunctionTrialsOptions {
  /** Size of the largest argument, in elements or bytes; aggregates get ten times as many rows. */
  maxSize: number
  deadlineMs: number
  say: (line: string) => void
}

/** The engine's codes for a wrong number of arguments. */
const wrongCount = new Set([34, 35, 42])

/** These, and that for a wrong type. */
const wrongArguments = new Set([...wrongCount, 43])

/** The engine's code for an aggregate function that takes no parameters. */
const noParameters = 133

/** Number of working argument lists that are tried with large sizes. */
const maxShapes = 2
const maxAggregateForms = 4

/** Small enough for any function, and large enough for statistics. */
const trialSize = 20

/** A statement with small arguments only reaches it if the machine is busy. */
const trialDeadlineMs = 10_000

/** A function that checks the limit stops within a tenth of this. */
const lateAfterMs = 500

/** Enough time to start on the first rows of a billion. */
const rowsDeadlineMs = 100

/** Many text functions accept less than 64 KiB. */
const usualLimit = 60_000

interface Form {
  sql: (size: number) => string
  /** Has more rows than fit into any time limit, so one size is enough. */
  endless?: boolean
}

/** Calls functions with growing arguments until they reach the deadline, and checks whether the engine survives. */
export class FunctionTrials {
  readonly #engine: EmbeddedEngine
  readonly #options: FunctionTrialsOptions
  statements = 0
  /** Statements that ended on their own, or between blocks of rows, but late. */
  late = 0

  constructor(engine: EmbeddedEngine, options: FunctionTrialsOptions) {
    this.#engine = engine
    this.#options = options
  }

  /** All functions of the engine without aliases. */
  async functions(): Promise<EngineFunction[]> {
    const sql = "SELECT name, is_aggregate FROM system.functions WHERE alias_to = '' ORDER BY lower(name)"
    const { body } = await this.#engine.query({ sql, format: 'JSONEachRow' }, { deadlineMs: 60_000 })
    return readJsonRows<{ name: string; is_aggregate: number }>(body).map((row) => ({
      name: row.name,
      aggregate: Number(row.is_aggregate) === 1,
    }))
  }

  async try({ name, aggregate }: EngineFunction): Promise<TrialResult> {
    const forms = aggregate ? await this.#aggregateForms(name) : await this.#ordinaryForms(name)
    if (forms.length === 0) return { kind: 'no arguments' }
    for (const { sql, endless } of forms) {
      for (const size of endless ? [this.#options.maxSize] : this.#sizes()) {
        const outcome = await this.#run(name, sql(size), endless ? rowsDeadlineMs : this.#options.deadlineMs)
        if (outcome === 'ended the engine') return { kind: 'ignores limit', sql: sql(size) }
        // A larger argument would only stop later.
        if (outcome !== 'finished' && outcome !== 'stopped late') break
      }
    }
    return { kind: 'stops' }
  }

  /** Small steps, so that most functions that ignore the limit end by themselves. */
  #sizes(): number[] {
    const sizes = [2_000, usualLimit, 1_000_000, 10_000_000]
    return sizes.filter((size) => size <= this.#options.maxSize)
  }

  /** As a constant, which is folded while the query is analyzed, and per row with large and small arguments mixed. */
  async #ordinaryForms(name: string): Promise<Form[]> {
    const shapes = await this.#ordinaryShapes(name)
    return shapes.flatMap((shape) => {
      const call = (argument: (kind: KindName, index: number) => string) =>
        `${name}(${shape.map(argument).join(', ')})`
      const overRows = (sql: string) => `SELECT count() FROM numbers(1000000000) WHERE NOT ignore(${sql})`
      const forms: Form[] = [
        { sql: (size) => `SELECT ignore(${call((kind) => kinds[kind].constant(size))})` },
        { sql: (size) => overRows(call((kind) => kinds[kind].perRow(size / 100))), endless: true },
      ]
      if (shape.length > 1) {
        const mixed = (kind: KindName, index: number, size: number) =>
          index === 0 ? kinds[kind].constant(size / 10) : kinds[kind].perRow(4)
        forms.push({
          sql: (size) => overRows(call((kind, index) => mixed(kind, index, size))),
          endless: true,
        })
      }
      return forms
    })
  }

  async #ordinaryShapes(name: string): Promise<KindName[][]> {
    const found: KindName[][] = []
    const wrong = new Set<number>()
    for (const shape of ordinaryShapes) {
      if (found.length >= maxShapes) break
      if (wrong.has(shape.length)) continue
      const call = `SELECT ignore(${name}(${shape.map((kind) => kinds[kind].constant(trialSize)).join(', ')}))`
      const outcome = await this.#run(name, call, trialDeadlineMs)
      if (outcome === 'finished') found.push(shape)
      else if (typeof outcome === 'number' && wrongCount.has(outcome)) wrong.add(shape.length)
    }
    return found
  }

  async #aggregateForms(name: string): Promise<Form[]> {
    const found: Form[] = []
    for (const parameters of aggregateParameters) {
      let working = 0
      for (const given of aggregateArguments) {
        const call = `${name}${parameters && `(${parameters})`}(${given})`
        const form = (rows: number, over = '') => `SELECT ignore(${call}${over}) FROM numbers(${rows})`
        const plain = await this.#run(name, form(trialSize), trialDeadlineMs)
        if (parameters !== '' && plain === noParameters) return found
        if (plain === 'finished') found.push({ sql: (size) => form(size * 10) })
        // A window does not change which arguments a function takes, but some functions work only there.
        const over = working > 0 || (typeof plain === 'number' && wrongArguments.has(plain)) ? [] : frames
        let works = plain === 'finished'
        for (const frame of over) {
          const window = ` OVER (${frame})`
          const outcome = await this.#run(name, form(trialSize, window), trialDeadlineMs)
          if (outcome !== 'finished') break
          works = true
          found.push({ sql: (size) => form(size * 10, window) })
        }
        if (works && ++working === 2) break
      }
      if (found.length >= maxAggregateForms) break
    }
    return found
  }

  /** Outcome of a statement; a number is its error code. */
  async #run(
    name: string,
    sql: string,
    deadlineMs: number,
  ): Promise<'finished' | 'stopped' | 'stopped late' | 'refused' | 'ended the engine' | number> {
    if (hasBoundedArguments(name) && !(await this.#isAllowed(sql))) return 'refused'
    this.statements++
    const { restarts } = this.#engine.state()
    const since = performance.now()
    const settings = { ...isolationSettings, ...callerSqlSettings, max_memory_usage: 2 ** 30, max_threads: 1 }
    const outcome = await this.#engine.query({ sql, format: 'Null', settings }, { deadlineMs }).then(
      () => 'finished' as const,
      (error) => engineCodeOf(error) ?? ('stopped' as const),
    )
    const lateMs = Math.round(performance.now() - since - deadlineMs)
    const survives = this.#engine.state().ready && this.#engine.state().restarts === restarts
    const isLate = lateMs > lateAfterMs
    if (isLate)
      this.#options.say(`${survives ? 'late' : 'the engine ended'}, ${lateMs} ms after the limit: ${sql}`)
    if (survives && isLate) this.late++
    if (survives) return outcome === 'stopped' && isLate ? 'stopped late' : outcome
    await becomesTrue(() => this.#engine.state().ready, patienceMs)
    return 'ended the engine'
  }

  /** Whether a sandbox takes the patterns of a statement. */
  async #isAllowed(sql: string): Promise<boolean> {
    const nodes = await parseSelect(this.#engine, { sql }).catch(() => [])
    try {
      checkPatterns(nodes)
      return true
    } catch {
      return false
    }
  }
}
