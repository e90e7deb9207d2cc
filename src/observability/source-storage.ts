import type { Clock } from '../base/clock.ts'
import { readStoredTables, type StoredTable } from '../catalog/stored-tables.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'

export interface StoredSource extends StoredTable {
  source: string
}

interface SourceNames {
  names(): ReadonlySet<string>
  readonly topology: Topology
}

/** The engine is queried at most this often, regardless of the number of scrapes. */
const readEveryMs = 10_000
const limits = { deadlineMs: 10_000 }

/** How much each source has on disk; empty while the engine is unavailable. */
export class SourceStorage {
  readonly #engine: Engine
  readonly #time: Clock
  readonly #sources: SourceNames
  #readAtMs = Number.NEGATIVE_INFINITY
  #stored: StoredSource[] | undefined
  #reading: Promise<void> | undefined

  constructor(engine: Engine, time: Clock, sources: SourceNames) {
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
      const stored = await readStoredTables(this.#engine, this.#sources.topology, limits)
      this.#stored = [...this.#sources.names()].map((source) => ({
        source,
        ...(stored.get(source) ?? nothing),
      }))
    } catch {
      this.#stored = undefined
    }
  }
}
