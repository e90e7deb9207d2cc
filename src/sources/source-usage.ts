import type { Clock } from '../base/clock.ts'
import type { Sources } from '../catalog/sources.ts'
import { readStoredTables } from '../catalog/stored-tables.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'

interface SourceUsageOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  /** Free bytes on the disk that holds the data; undefined if unknown. */
  freeBytes: () => number | undefined
  reserveBytes: number
}

export interface Usage {
  disk: { free_bytes: number; reserve_bytes: number } | null
  sources: UsageOfSource[]
}

interface UsageOfSource {
  name: string
  entries: number
  /** Compressed size on disk. */
  bytes: number
  /** Entries of each of the last 60 minutes by timestamp, oldest minute first. */
  per_minute: number[]
}

const minutes = 60
const deadlineMs = 10_000

/** All requests within this time share one result. */
const keepMs = 2_000

/** Maximum number of sources that one statement counts. */
const perStatement = 50

/** The size of each source, and how many entries it receives. */
export class SourceUsage {
  readonly #options: SourceUsageOptions
  #latest: { at: number; usage: Promise<Usage> } | undefined

  constructor(options: SourceUsageOptions) {
    this.#options = options
  }

  read(): Promise<Usage> {
    const at = this.#options.clock.now()
    if (!this.#latest || Math.abs(at - this.#latest.at) >= keepMs) {
      const usage = this.#read(at)
      const latest = { at, usage }
      this.#latest = latest
      usage.catch(() => {
        if (this.#latest === latest) this.#latest = undefined
      })
    }
    return this.#latest.usage
  }

  async #read(nowMs: number): Promise<Usage> {
    const { sources, freeBytes, reserveBytes } = this.#options
    const names = sources.list().map(({ name }) => name)
    const groups = Array.from({ length: Math.ceil(names.length / perStatement) }, (_, index) =>
      names.slice(index * perStatement, (index + 1) * perStatement),
    )
    const [stored, ...counts] = await Promise.all([
      readStoredTables(this.#options.engine, { deadlineMs }),
      ...groups.map((group) => this.#perMinute(group, nowMs)),
    ])
    const perMinute = new Map(counts.flatMap((group) => [...group]))
    const free = freeBytes()
    return {
      disk: free === undefined ? null : { free_bytes: free, reserve_bytes: reserveBytes },
      sources: names.map((name) => ({
        name,
        entries: stored.get(name)?.rows ?? 0,
        bytes: stored.get(name)?.bytes ?? 0,
        per_minute: perMinute.get(name) ?? new Array<number>(minutes).fill(0),
      })),
    }
  }

  async #perMinute(names: readonly string[], nowMs: number): Promise<Map<string, number[]>> {
    const first = Math.floor(nowMs / 60_000) - minutes + 1
    const parts = names.map(
      (name) =>
        `SELECT '${name}' AS source, intDiv(toUnixTimestamp(timestamp), 60) AS minute, count() AS n FROM ${database}.\`${name}\` ` +
        "WHERE timestamp >= toDateTime64({from:Int64}, 6, 'UTC') GROUP BY minute",
    )
    const statement = { sql: parts.join(' UNION ALL '), parameters: { from: first * 60 } }
    const rows = await queryRows<{ source: string; minute: number; n: number }>(
      this.#options.engine,
      statement,
      { deadlineMs },
    )
    const counts = new Map(names.map((name) => [name, new Array<number>(minutes).fill(0)]))
    for (const { source, minute, n } of rows) {
      const index = Number(minute) - first
      const perMinute = counts.get(source)
      if (perMinute && index >= 0 && index < minutes) perMinute[index] = Number(n)
    }
    return counts
  }
}
