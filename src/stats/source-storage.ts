import type { Clock } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { engineDatabase } from '../engine/engine.ts'
import { readJsonRows } from '../engine/json-rows.ts'

export interface StoredSource {
  source: string
  parts: number
  rows: number
  bytes: number
}

/** Asked no more often than this, however often somebody looks. */
const askEveryMs = 10_000
const limits = { deadlineMs: 10_000 }

/** How much each source has on disk. While the engine is away nothing is told. */
export class SourceStorage {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #sources: () => ReadonlySet<string>
  #askedAtMs = Number.NEGATIVE_INFINITY
  #known: StoredSource[] | undefined
  #asking: Promise<void> | undefined

  constructor(engine: Engine, clock: Clock, sources: () => ReadonlySet<string>) {
    this.#engine = engine
    this.#clock = clock
    this.#sources = sources
  }

  async read(): Promise<StoredSource[]> {
    if (this.#engine.state().kind !== 'ready') return []
    const now = this.#clock.now()
    if (Math.abs(now - this.#askedAtMs) >= askEveryMs && this.#asking === undefined) {
      this.#askedAtMs = now
      this.#asking = this.#ask()
        .then((stored) => {
          this.#known = stored
        })
        .catch(() => {
          this.#known = undefined
        })
        .finally(() => {
          this.#asking = undefined
        })
    }
    // Whoever asks again gets what is known: a busy engine must not make the metrics late.
    if (this.#known === undefined) await this.#asking
    return this.#known ?? []
  }

  /** On a cluster this is the part of the server that answers; its other servers have metrics of their own. */
  async #ask(): Promise<StoredSource[]> {
    const { body } = await this.#engine.query(
      {
        sql:
          "SELECT replaceRegexpOne(table, '_local$', '') AS source, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes " +
          'FROM system.parts WHERE active AND database = {database:String} GROUP BY source',
        parameters: { database: engineDatabase },
        format: 'JSONEachRow',
      },
      limits,
    )
    const stored = new Map(
      readJsonRows<Record<keyof StoredSource, string>>(body).map((row) => [row.source, row]),
    )
    return [...this.#sources()].map((source) => ({
      source,
      parts: Number(stored.get(source)?.parts ?? 0),
      rows: Number(stored.get(source)?.rows ?? 0),
      bytes: Number(stored.get(source)?.bytes ?? 0),
    }))
  }
}
