import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { readJsonRows, writeJsonRows } from '../engine/json-rows.ts'

const keptMs = 24 * 3_600_000
const maxKeys = 200_000
const limits = { deadlineMs: 60_000 }

/**
 * Answers by key, for a day. They are in the engine before they are given, so that a sender who asks again
 * after a crash hears the same.
 */
export class IdempotencyKeys {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #answers = new Map<string, { at: number; answer: unknown }>()
  readonly #running = new Map<string, Promise<unknown>>()
  /** Whether there are keys of the last day that are not in memory. */
  #forgetful = false

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine
    this.#clock = clock
  }

  async open(): Promise<void> {
    const { body } = await this.#engine.query(
      {
        sql:
          `SELECT key, toUnixTimestamp64Milli(at) AS at, answer FROM ${database}._idempotency ` +
          'WHERE at > fromUnixTimestamp64Milli({since:Int64}) ORDER BY at DESC LIMIT {most:UInt32}',
        parameters: { since: this.#clock.now() - keptMs, most: maxKeys },
        format: 'JSONEachRow',
        settings: { output_format_json_quote_64bit_integers: 0 },
      },
      limits,
    )
    const rows = readJsonRows<{ key: string; at: number; answer: string }>(body)
    this.#forgetful = rows.length >= maxKeys
    for (const { key, at, answer } of rows.reverse()) {
      this.#answers.set(key, { at, answer: JSON.parse(answer) })
    }
  }

  /**
   * Runs the work once for a key; the work gets a token under which the engine stores things once. Where another request
   * did it, `onReplay` is told.
   */
  async once<T>(
    scope: readonly string[],
    key: string,
    work: (token: string) => Promise<T>,
    onReplay: () => void = () => {},
  ): Promise<T> {
    let worked = false
    const answer = await this.#once(scope, key, (token) => {
      worked = true
      return work(token)
    })
    if (!worked) onReplay()
    return answer
  }

  #once<T>(scope: readonly string[], key: string, work: (token: string) => Promise<T>): Promise<T> {
    const token = createHash('sha256')
      .update(JSON.stringify([scope, key]))
      .digest('hex')
    const known = this.#answers.get(token)
    if (known && known.at > this.#clock.now() - keptMs) return Promise.resolve(known.answer as T)
    const running = this.#running.get(token)
    if (running) return running as Promise<T>
    const run = this.#run(token, work).finally(() => this.#running.delete(token))
    this.#running.set(token, run)
    return run
  }

  async #lookUp<T>(key: string): Promise<T | undefined> {
    const { body } = await this.#engine.query(
      {
        sql: `SELECT answer FROM ${database}._idempotency WHERE key = {key:String} AND at > fromUnixTimestamp64Milli({since:Int64}) LIMIT 1`,
        parameters: { key, since: this.#clock.now() - keptMs },
        format: 'JSONEachRow',
      },
      limits,
    )
    const [row] = readJsonRows<{ answer: string }>(body)
    return row && (JSON.parse(row.answer) as T)
  }

  async #run<T>(token: string, work: (token: string) => Promise<T>): Promise<T> {
    // Keys that no longer fit into memory are still in the engine.
    const stored = this.#forgetful ? await this.#lookUp<T>(token) : undefined
    if (stored !== undefined) return stored
    const answer = await work(token)
    const at = this.#clock.now()
    const row = { key: token, at: (at / 1000).toFixed(3), answer: JSON.stringify(answer) }
    await this.#engine.insert(
      { table: `${database}._idempotency`, format: 'JSONEachRow' },
      writeJsonRows([row]),
      limits,
    )
    this.#answers.delete(token)
    this.#answers.set(token, { at, answer })
    if (this.#answers.size > maxKeys) {
      this.#answers.delete(this.#answers.keys().next().value as string)
      this.#forgetful = true
    }
    return answer
  }
}
