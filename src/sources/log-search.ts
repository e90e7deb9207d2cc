import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { readShape } from '../base/validation.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { outwardJson, readJsonRows, textRows } from '../engine/json-rows.ts'
import { conditionsOf, rangeOf, textAt } from './entry-conditions.ts'
import { entryRow } from './entry-row.ts'
import { type EntryFilter, histogramShape, searchShape, valuesShape } from './search-shape.ts'

export interface LogSearchOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  maxMemoryBytes: number
}

export interface Histogram {
  bucket_seconds: number
  /** Only those that have entries, in order. */
  buckets: { timestamp: number; count: number }[]
}

export interface SeenValue {
  value: string
  count: number
}

const deadlineMs = 30_000

/** Lengths of buckets that people can read, in seconds. */
const niceSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
]

/** Finds entries of a source: which, how many when, and with which values. */
export class LogSearch {
  readonly #options: LogSearchOptions

  constructor(options: LogSearchOptions) {
    this.#options = options
  }

  /** Newest first, as the JSON that the engine wrote. */
  async entries(name: string, given: unknown, signal: AbortSignal): Promise<Buffer> {
    const { limit, before, ...filter } = readShape(searchShape, given)
    const { sql, parameters } = conditionsOf(filter, this.#nowMicros())
    const behind = before
      ? " AND (timestamp, id) < (fromUnixTimestamp64Micro({last:Int64}, 'UTC'), {last_id:String})"
      : ''
    return this.#query(
      `SELECT ${entryRow} FROM ${this.#table(name)} WHERE ${sql}${behind} ` +
        'ORDER BY timestamp DESC, id DESC LIMIT {limit:UInt32}',
      { ...parameters, limit, ...(before && { last: before.timestamp, last_id: before.id }) },
      signal,
      { format: textRows.format, settings: textRows.array },
    )
  }

  async histogram(name: string, given: unknown, signal: AbortSignal): Promise<Histogram> {
    const { buckets, ...filter } = readShape(histogramShape, given)
    const now = this.#nowMicros()
    const step = stepOf(filter, now, buckets)
    const { sql, parameters } = conditionsOf(filter, now)
    const rows = await this.#query(
      'SELECT intDiv(toUnixTimestamp(timestamp), {step:UInt32}) * {step:UInt32} * 1000000 AS bucket, count() AS n ' +
        `FROM ${this.#table(name)} WHERE ${sql} GROUP BY bucket ORDER BY bucket LIMIT 2000`,
      { ...parameters, step },
      signal,
    )
    return {
      bucket_seconds: step,
      buckets: readJsonRows<{ bucket: number; n: number }>(rows).map(({ bucket, n }) => ({
        timestamp: Number(bucket),
        count: Number(n),
      })),
    }
  }

  /** The most frequent values at a path. */
  async values(name: string, given: unknown, signal: AbortSignal): Promise<SeenValue[]> {
    const { path, limit, ...filter } = readShape(valuesShape, given)
    const { sql, parameters } = conditionsOf(filter, this.#nowMicros())
    const rows = await this.#query(
      `SELECT assumeNotNull(substringUTF8(v, 1, 500)) AS value, count() AS n FROM (SELECT ${textAt(path)} AS v ` +
        `FROM ${this.#table(name)} WHERE ${sql}) WHERE v IS NOT NULL GROUP BY value ORDER BY n DESC, value LIMIT {limit:UInt32}`,
      { ...parameters, limit },
      signal,
    )
    return readJsonRows<{ value: string; n: number }>(rows).map(({ value, n }) => ({
      value,
      count: Number(n),
    }))
  }

  async #query(
    sql: string,
    parameters: Record<string, string | number>,
    signal: AbortSignal,
    output: { format: string; settings?: Record<string, string> } = { format: 'JSONEachRow' },
  ): Promise<Buffer> {
    const { engine, maxMemoryBytes } = this.#options
    const { body } = await engine.query(
      {
        sql,
        parameters,
        format: output.format,
        settings: { ...outwardJson, max_memory_usage: maxMemoryBytes, ...output.settings },
      },
      { deadlineMs, signal },
    )
    return body
  }

  #table(name: string): string {
    return `${database}.\`${this.#options.sources.get(name).name}\``
  }

  #nowMicros(): bigint {
    return BigInt(this.#options.clock.now()) * 1000n
  }
}

/** The shortest readable step that needs no more buckets than asked. */
function stepOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint, buckets: number): number {
  const { from, to = nowMicros } = rangeOf(filter, nowMicros)
  const seconds = Math.max(1, Number(to - from) / 1_000_000)
  const days = Math.ceil(seconds / buckets / 86_400)
  return niceSteps.find((step) => seconds / step <= buckets) ?? days * 86_400
}

export type SearchRequest = z.input<typeof searchShape>
