import type { Clock } from '../base/clock.ts'
import type { Sources } from '../catalog/sources.ts'
import { readStoredTables } from '../catalog/stored-tables.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { readJsonRows } from '../engine/json-rows.ts'

export interface SourceUsageOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  /** Bytes that are free where the data lies; undefined where nobody here can know. */
  freeBytes: () => number | undefined
  reserveBytes: number
}

export interface Usage {
  disk: { free_bytes: number; reserve_bytes: number } | null
  sources: UsageOfSource[]
}

export interface UsageOfSource {
  name: string
  entries: number
  /** On disk, packed. */
  bytes: number
  /** Entries of each of the last minutes by their own time, the oldest minute first. */
  per_minute: number[]
}

const minutes = 60
const deadlineMs = 10_000

/** However many people look at it, the engine is asked once in so long. */
const keepMs = 2_000

/** So many sources are counted in one statement. */
const perStatement = 50

/** How much each source holds, and how much comes in. */
export class SourceUsage {
  readonly #options: SourceUsageOptions
  #known: { at: number; usage: Promise<Usage> } | undefined

  constructor(options: SourceUsageOptions) {
    this.#options = options
  }

  read(): Promise<Usage> {
    const at = this.#options.clock.now()
    if (!this.#known || Math.abs(at - this.#known.at) >= keepMs) {
      const usage = this.#read(at)
      const known = { at, usage }
      this.#known = known
      usage.catch(() => {
        if (this.#known === known) this.#known = undefined
      })
    }
    return this.#known.usage
  }

  async #read(nowMs: number): Promise<Usage> {
    const { sources, freeBytes, reserveBytes } = this.#options
    const names = sources.list().map(({ name }) => name)
    const groups = Array.from({ length: Math.ceil(names.length / perStatement) }, (_, index) =>
      names.slice(index * perStatement, (index + 1) * perStatement),
    )
    const [held, ...counted] = await Promise.all([
      readStoredTables(this.#options.engine, { deadlineMs }),
      ...groups.map((group) => this.#arrived(group, nowMs)),
    ])
    const arrived = new Map(counted.flatMap((group) => [...group]))
    const free = freeBytes()
    return {
      disk: free === undefined ? null : { free_bytes: free, reserve_bytes: reserveBytes },
      sources: names.map((name) => ({
        name,
        entries: held.get(name)?.rows ?? 0,
        bytes: held.get(name)?.bytes ?? 0,
        per_minute: arrived.get(name) ?? new Array<number>(minutes).fill(0),
      })),
    }
  }

  async #arrived(names: readonly string[], nowMs: number): Promise<Map<string, number[]>> {
    const first = Math.floor(nowMs / 60_000) - minutes + 1
    const parts = names.map(
      (name) =>
        `SELECT '${name}' AS source, intDiv(toUnixTimestamp(timestamp), 60) AS minute, count() AS n FROM ${database}.\`${name}\` ` +
        "WHERE timestamp >= toDateTime64({from:Int64}, 6, 'UTC') GROUP BY minute",
    )
    const rows = await this.#rows<{ source: string; minute: number; n: number }>(parts.join(' UNION ALL '), {
      from: first * 60,
    })
    const counts = new Map(names.map((name) => [name, new Array<number>(minutes).fill(0)]))
    for (const { source, minute, n } of rows) {
      const index = Number(minute) - first
      const of = counts.get(source)
      if (of && index >= 0 && index < minutes) of[index] = Number(n)
    }
    return counts
  }

  async #rows<T>(sql: string, parameters: Record<string, string | number>): Promise<T[]> {
    const { body } = await this.#options.engine.query(
      { sql, parameters, format: 'JSONEachRow' },
      { deadlineMs },
    )
    return readJsonRows<T>(body)
  }
}
