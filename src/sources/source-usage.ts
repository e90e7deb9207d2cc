import type { Clock } from '../base/clock.ts'
import type { Sources } from '../catalog/sources.ts'
import { readStoredTables } from '../catalog/stored-tables.ts'
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
  /** Entries of each source over time, oldest first. Sources without entries in a bucket are left out of it. */
  entries: { bucket_seconds: number; buckets: { timestamp: number; counts: Record<string, number> }[] }
}

interface UsageOfSource {
  name: string
  entries: number
  /** Compressed size on disk. */
  bytes: number
  /** Entries of each of the last 60 minutes by timestamp, oldest minute first. */
  per_minute: number[]
}

/** How far back entries are counted, and for how long all requests share one count. */
export const usageIntervals = {
  '1hr': { buckets: 60, bucketSeconds: 60, keepMs: 2_000 },
  '1day': { buckets: 96, bucketSeconds: 900, keepMs: 10_000 },
  '7day': { buckets: 84, bucketSeconds: 7200, keepMs: 30_000 },
} as const

export type UsageInterval = keyof typeof usageIntervals

const deadlineMs = 10_000

/** Maximum number of sources that one statement counts. */
const perStatement = 50

interface Counts {
  /** Number of the first bucket since 1970. */
  first: number
  /** By source, oldest bucket first. */
  bySource: Map<string, number[]>
}

/** The size of each source, and how many entries it receives. */
export class SourceUsage {
  readonly #options: SourceUsageOptions
  readonly #kept = new Map<string, { at: number; value: Promise<unknown> }>()

  constructor(options: SourceUsageOptions) {
    this.#options = options
  }

  async read(interval: UsageInterval): Promise<Usage> {
    const { engine, sources, freeBytes, reserveBytes } = this.#options
    const [stored, lastHour, counts] = await Promise.all([
      this.#keep('stored', usageIntervals['1hr'].keepMs, () =>
        readStoredTables(engine, sources.topology, { deadlineMs }),
      ),
      this.#counts('1hr'),
      this.#counts(interval),
    ])
    const free = freeBytes()
    return {
      disk: free === undefined ? null : { free_bytes: free, reserve_bytes: reserveBytes },
      sources: sources.list().map(({ name }) => ({
        name,
        entries: stored.get(name)?.rows ?? 0,
        bytes: stored.get(name)?.bytes ?? 0,
        per_minute: lastHour.bySource.get(name) ?? new Array<number>(usageIntervals['1hr'].buckets).fill(0),
      })),
      entries: entriesOf(counts, interval),
    }
  }

  /** All requests within this time share one result. */
  #keep<T>(key: string, keepMs: number, work: () => Promise<T>): Promise<T> {
    const at = this.#options.clock.now()
    const latest = this.#kept.get(key)
    if (latest && Math.abs(at - latest.at) < keepMs) return latest.value as Promise<T>
    const value = work()
    const kept = { at, value }
    this.#kept.set(key, kept)
    value.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key)
    })
    return value
  }

  #counts(interval: UsageInterval): Promise<Counts> {
    return this.#keep(interval, usageIntervals[interval].keepMs, () => this.#count(interval))
  }

  async #count(interval: UsageInterval): Promise<Counts> {
    const { engine, sources, clock } = this.#options
    const { buckets, bucketSeconds } = usageIntervals[interval]
    const first = Math.floor(clock.now() / (bucketSeconds * 1000)) - buckets + 1
    const names = sources.list().map(({ name }) => name)
    const groups = Array.from({ length: Math.ceil(names.length / perStatement) }, (_, index) =>
      names.slice(index * perStatement, (index + 1) * perStatement),
    )
    const rows = await Promise.all(
      groups.map((group) => {
        const parts = group.map(
          (name) =>
            `SELECT '${name}' AS source, intDiv(toUnixTimestamp(timestamp), ${bucketSeconds}) AS bucket, count() AS n ` +
            `FROM \`${name}\` WHERE timestamp >= toDateTime64({from:Int64}, 6, 'UTC') GROUP BY bucket`,
        )
        const statement = { sql: parts.join(' UNION ALL '), parameters: { from: first * bucketSeconds } }
        return queryRows<{ source: string; bucket: number; n: number }>(engine, statement, { deadlineMs })
      }),
    )
    const bySource = new Map(names.map((name) => [name, new Array<number>(buckets).fill(0)]))
    for (const { source, bucket, n } of rows.flat()) {
      const index = Number(bucket) - first
      const counts = bySource.get(source)
      if (counts && index >= 0 && index < buckets) counts[index] = Number(n)
    }
    return { first, bySource }
  }
}

function entriesOf({ first, bySource }: Counts, interval: UsageInterval): Usage['entries'] {
  const { buckets, bucketSeconds } = usageIntervals[interval]
  return {
    bucket_seconds: bucketSeconds,
    buckets: Array.from({ length: buckets }, (_, index) => {
      const counts = [...bySource].map(([source, all]) => [source, all[index] ?? 0] as const)
      return {
        timestamp: (first + index) * bucketSeconds * 1e6,
        counts: Object.fromEntries(counts.filter(([, count]) => count > 0)),
      }
    }),
  }
}
