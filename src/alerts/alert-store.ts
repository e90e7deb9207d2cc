import type { Timers } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { type AlertState, stateShape } from './alert-state.ts'

interface AlertStoreOptions {
  engine: Engine
  time: Timers
  log: Log
  /** Whether replicas may lag behind each other. */
  replicated: () => boolean
  /** Whether this service may write. */
  mayWrite: () => boolean
}

/** Short enough that a service without its lease has stopped writing before another begins. */
export const writeWithinMs = 10_000
const retryAfterMs = 1_000

/** States of alerts in the engine. Changes that come together are one insert. */
export class AlertStore {
  readonly #options: AlertStoreOptions
  /** Undefined: the alert is gone. */
  #changed = new Map<string, AlertState | undefined>()
  #waiting: (() => void)[] = []
  #sequence = 0
  #writing: Promise<void> | undefined
  #failing = false
  #stopped = false

  constructor(options: AlertStoreOptions) {
    this.#options = options
  }

  /** All states, by the id of the alert. Later changes come after what is stored. */
  async load(): Promise<Map<string, AlertState>> {
    const rows = await this.#read("WHERE id != 'lease'")
    this.#sequence = Math.max(this.#sequence, ...rows.map(({ sequence }) => Number(sequence)))
    return new Map(
      rows.flatMap(({ id, body }) => {
        const reading = body === '' ? undefined : stateShape.safeParse(JSON.parse(body))
        return reading?.success ? [[id, reading.data] as const] : []
      }),
    )
  }

  /** The text that the service with the lease wrote last. */
  async readBeat(): Promise<string | undefined> {
    const [row] = await this.#read("WHERE id = 'lease'")
    return row?.body
  }

  async writeBeat(sequence: number, body: string): Promise<void> {
    await this.#insert([{ id: 'lease', sequence, body }])
  }

  /** Resolves when the state is on disk. While the engine is unavailable, it is tried again. */
  save(id: string, state: AlertState | undefined): Promise<void> {
    this.#changed.set(id, state)
    const saved = new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#writing ??= this.#write()
    return saved
  }

  /** Tries once more to store what is not stored. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#changed.size > 0) {
      const changed = this.#changed
      const waiting = this.#waiting
      this.#changed = new Map()
      this.#waiting = []
      try {
        if (!this.#options.mayWrite()) break
        const rows = [...changed].map(([id, state]) => ({
          id,
          sequence: ++this.#sequence,
          body: state === undefined ? '' : JSON.stringify(state),
        }))
        await this.#insert(rows)
        this.#failing = false
        for (const resolve of waiting) resolve()
      } catch (error) {
        if (!this.#failing)
          this.#options.log.warn({ err: error }, 'states of alerts could not be stored; retrying')
        this.#failing = true
        this.#changed = new Map([...changed, ...this.#changed])
        this.#waiting.unshift(...waiting)
        if (this.#stopped) break
        await new Promise<void>((resolve) => this.#options.time.after(retryAfterMs, resolve))
      }
    }
    this.#writing = undefined
  }

  #insert(rows: { id: string; sequence: number; body: string }[]): Promise<void> {
    const target = { table: '_alerts', columns: ['id', 'sequence', 'body'], format: 'JSONEachRow' } as const
    return this.#options.engine.insert(target, writeJsonRows(rows), { deadlineMs: writeWithinMs })
  }

  #read(condition: string) {
    const sql = `SELECT id, max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body FROM _alerts ${condition} GROUP BY id`
    const settings = this.#options.replicated() ? { select_sequential_consistency: 1 } : {}
    type Stored = { id: string; sequence: string; body: string }
    return queryRows<Stored>(this.#options.engine, { sql, settings }, { deadlineMs: 30_000 })
  }
}
