import type { Clock } from '../base/clock.ts'
import { readStoredTables, type StoredTable } from '../catalog/stored-tables.ts'
import type { Engine } from '../engine/engine.ts'

export interface StoredSource extends StoredTable {
  source: string
}

/** Asked no more often than this, however often somebody looks. */
const askEveryMs = 10_000
const limits = { deadlineMs: 10_000 }

/**
 * How much each source has on disk. While the engine is away nothing is told. The other servers of a cluster have
 * metrics of their own.
 */
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

  async #ask(): Promise<StoredSource[]> {
    const stored = await readStoredTables(this.#engine, limits)
    const nothing = { parts: 0, rows: 0, bytes: 0 }
    return [...this.#sources()].map((source) => ({ source, ...(stored.get(source) ?? nothing) }))
  }
}
