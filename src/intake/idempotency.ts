import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'

const keptMs = 24 * 3_600_000
const maxKeys = 200_000
const limits = { deadlineMs: 60_000 }

/** A result, and whether it is that of an earlier request with the same key. */
export interface Replayable<T> {
  result: T
  replayed: boolean
}

/** Results by idempotency key, for a day. Each is in the engine before it is returned, so it survives a crash. */
export class IdempotencyKeys {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #results = new Map<string, { at: number; result: unknown }>()
  readonly #running = new Map<string, Promise<unknown>>()
  /** Whether the engine has keys of the last day that are not in memory. */
  #incomplete = false

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine
    this.#clock = clock
  }

  async open(): Promise<void> {
    const rows = await this.#read<{ key: string; at: number; answer: string }>(
      'key, toUnixTimestamp64Milli(at) AS at, answer',
      'ORDER BY at DESC LIMIT {most:UInt32}',
      { most: maxKeys },
    )
    this.#incomplete = rows.length >= maxKeys
    for (const { key, at, answer } of rows.reverse()) {
      this.#results.set(key, { at, result: JSON.parse(answer) })
    }
  }

  /** Runs the work once for each key. The work gets a token under which the engine stores an insert once. */
  async once<T>(
    scope: readonly string[],
    key: string,
    work: (token: string) => Promise<T>,
  ): Promise<Replayable<T>> {
    const token = createHash('sha256')
      .update(JSON.stringify([scope, key]))
      .digest('hex')
    const earlier = this.#results.get(token)
    if (earlier && earlier.at > this.#clock.now() - keptMs) {
      return { result: earlier.result as T, replayed: true }
    }
    const running = this.#running.get(token) as Promise<Replayable<T>> | undefined
    if (running) return { result: (await running).result, replayed: true }
    const run = this.#run(token, work).finally(() => this.#running.delete(token))
    this.#running.set(token, run)
    return run
  }

  async #run<T>(token: string, work: (token: string) => Promise<T>): Promise<Replayable<T>> {
    const [stored] = this.#incomplete
      ? await this.#read<{ answer: string }>('answer', 'AND key = {key:String} LIMIT 1', { key: token })
      : []
    if (stored) return { result: JSON.parse(stored.answer) as T, replayed: true }
    const result = await work(token)
    const at = this.#clock.now()
    const row = { key: token, at: (at / 1000).toFixed(3), answer: JSON.stringify(result) }
    await this.#engine.insert({ table: '_idempotency', format: 'JSONEachRow' }, writeJsonRows([row]), limits)
    this.#results.delete(token)
    this.#results.set(token, { at, result })
    if (this.#results.size > maxKeys) {
      this.#results.delete(this.#results.keys().next().value as string)
      this.#incomplete = true
    }
    return { result, replayed: false }
  }

  #read<Row>(columns: string, rest: string, parameters: Record<string, string | number>): Promise<Row[]> {
    const statement = {
      sql: `SELECT ${columns} FROM _idempotency WHERE at > fromUnixTimestamp64Milli({since:Int64}) ${rest}`,
      parameters: { ...parameters, since: this.#clock.now() - keptMs },
      settings: { output_format_json_quote_64bit_integers: 0 },
    }
    return queryRows<Row>(this.#engine, statement, limits)
  }
}
