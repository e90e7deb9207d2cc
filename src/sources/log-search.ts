import type { Clock } from '../base/clock.ts'
import { readShape } from '../base/validation.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine, Statement } from '../engine/engine.ts'
import { outwardJson, queryRows, textRows } from '../engine/json-rows.ts'
import { conditionsOf, entryRow, rangeOf, textAt } from './entry-sql.ts'
import { type EntryFilter, histogramShape, searchShape, valuesShape } from './search-shape.ts'

interface LogSearchOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  maxMemoryBytes: number
}

export interface Histogram {
  bucket_seconds: number
  /** In order, without empty ones. */
  buckets: { timestamp: number; count: number }[]
}

interface ValueCount {
  value: string
  count: number
}

const deadlineMs = 30_000

/** Readable lengths of buckets, in seconds. */
const niceSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
]

/** Searches the entries of a source, counts them over time, and counts their values. */
export class LogSearch {
  readonly #options: LogSearchOptions

  constructor(options: LogSearchOptions) {
    this.#options = options
  }

  /** Newest first, as JSON written by the engine. */
  async entries(name: string, search: unknown, signal: AbortSignal): Promise<Buffer> {
    const { limit, before, ...filter } = readShape(searchShape, search)
    const { sql, parameters } = conditionsOf(filter, this.#nowMicros())
    const after = before
      ? " AND (timestamp, id) < (fromUnixTimestamp64Micro({last:Int64}, 'UTC'), {last_id:String})"
      : ''
    const statement = this.#statement(
      `SELECT ${entryRow} FROM ${this.#table(name)} WHERE ${sql}${after} ` +
        'ORDER BY timestamp DESC, id DESC LIMIT {limit:UInt32}',
      { ...parameters, limit, ...(before && { last: before.timestamp, last_id: before.id }) },
    )
    const settings = { ...statement.settings, ...textRows.array }
    const { engine } = this.#options
    const { body } = await engine.query(
      { ...statement, format: textRows.format, settings },
      { deadlineMs, signal },
    )
    return body
  }

  async histogram(name: string, search: unknown, signal: AbortSignal): Promise<Histogram> {
    const { buckets, ...filter } = readShape(histogramShape, search)
    const now = this.#nowMicros()
    const step = stepOf(filter, now, buckets)
    const { sql, parameters } = conditionsOf(filter, now)
    const statement = this.#statement(
      'SELECT intDiv(toUnixTimestamp(timestamp), {step:UInt32}) * {step:UInt32} * 1000000 AS bucket, count() AS n ' +
        `FROM ${this.#table(name)} WHERE ${sql} GROUP BY bucket ORDER BY bucket LIMIT 2000`,
      { ...parameters, step },
    )
    const rows = await this.#rows<{ bucket: number; n: number }>(statement, signal)
    return { bucket_seconds: step, buckets: rows.map(({ bucket, n }) => ({ timestamp: bucket, count: n })) }
  }

  /** The most frequent values at a path. */
  async values(name: string, search: unknown, signal: AbortSignal): Promise<ValueCount[]> {
    const { path, limit, ...filter } = readShape(valuesShape, search)
    const { sql, parameters } = conditionsOf(filter, this.#nowMicros())
    const statement = this.#statement(
      `SELECT assumeNotNull(substringUTF8(v, 1, 500)) AS value, count() AS n FROM (SELECT ${textAt(path)} AS v ` +
        `FROM ${this.#table(name)} WHERE ${sql}) WHERE v IS NOT NULL GROUP BY value ORDER BY n DESC, value LIMIT {limit:UInt32}`,
      { ...parameters, limit },
    )
    const rows = await this.#rows<{ value: string; n: number }>(statement, signal)
    return rows.map(({ value, n }) => ({ value, count: n }))
  }

  #statement(sql: string, parameters: Record<string, string | number>) {
    const settings = { ...outwardJson, max_memory_usage: this.#options.maxMemoryBytes }
    return { sql, parameters, settings }
  }

  #rows<Row>(statement: Omit<Statement, 'format'>, signal: AbortSignal): Promise<Row[]> {
    return queryRows<Row>(this.#options.engine, statement, { deadlineMs, signal })
  }

  #table(name: string): string {
    return `${database}.\`${this.#options.sources.get(name, () => true).name}\``
  }

  #nowMicros(): bigint {
    return BigInt(this.#options.clock.now()) * 1000n
  }
}

/** The shortest readable step that needs no more than this number of buckets. */
function stepOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint, buckets: number): number {
  const { from, to = nowMicros } = rangeOf(filter, nowMicros)
  const seconds = Math.max(1, Number(to - from) / 1_000_000)
  const days = Math.ceil(seconds / buckets / 86_400)
  return niceSteps.find((step) => seconds / step <= buckets) ?? days * 86_400
}
