import type { Clock } from '../base/clock.ts'
import { readStoredTables, type StoredTable } from '../catalog/stored-tables.ts'
import type { Engine } from '../engine/engine.ts'

export interface StoredSource extends StoredTable {
  source: string
}

/** The engine is queried at most this often, regardless of the number of scrapes. */
const readEveryMs = 10_000
const limits = { deadlineMs: 10_000 }

/**
 * How much each source has on disk; empty while the engine is unavailable. The other servers of a cluster have metrics of
 * their own.
 */
export class SourceStorage {
  readonly #engine: Engine
  readonly #time: Clock
  readonly #sources: () => ReadonlySet<string>
  #readAtMs = Number.NEGATIVE_INFINITY
  #stored: StoredSource[] | undefined
  #reading: Promise<void> | undefined

  constructor(engine: Engine, time: Clock, sources: () => ReadonlySet<string>) {
    this.#engine = engine
    this.#time = time
    this.#sources = sources
  }

  async read(): Promise<StoredSource[]> {
    if (this.#engine.state().kind !== 'ready') return []
    const now = this.#time.now()
    if (now - this.#readAtMs >= readEveryMs && this.#reading === undefined) {
      this.#readAtMs = now
      this.#reading = this.#query().finally(() => {
        this.#reading = undefined
      })
    }
    // Later readers get the previous figures: a busy engine must not delay the metrics.
    if (this.#stored === undefined) await this.#reading
    return this.#stored ?? []
  }

  async #query(): Promise<void> {
    const nothing = { parts: 0, rows: 0, bytes: 0 }
    try {
      const stored = await readStoredTables(this.#engine, limits)
      this.#stored = [...this.#sources()].map((source) => ({ source, ...(stored.get(source) ?? nothing) }))
    } catch {
      this.#stored = undefined
    }
  }
}
