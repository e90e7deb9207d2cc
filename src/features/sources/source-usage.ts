import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/base/clock.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { readStoredTables } from '../../core/engine/stored-tables.ts'
import { type HiddenRows, rowFilterSettings } from '../../core/sql/isolation.ts'

interface SourceUsageOptions {
  engine: Engine
  sources: Sources
  clock: Clock
  /** Rows that nobody may see anymore. */
  hidden: () => HiddenRows | undefined
  /** Free bytes on the disk that holds the data; undefined if unknown. */
  freeBytes: () => number | undefined
  reserveBytes: number
}

export type SourceUsage = ReturnType<typeof sourceUsage>
export type Usage = Awaited<ReturnType<SourceUsage>>

/** How far back entries are counted, and for how long all requests share one count. */
export const usageIntervals = {
  '1hr': { buckets: 60, bucketSeconds: 60, keepMs: 2_000 },
  '1day': { buckets: 96, bucketSeconds: 900, keepMs: 10_000 },
  '7day': { buckets: 84, bucketSeconds: 7200, keepMs: 30_000 },
} as const

export type UsageInterval = keyof typeof usageIntervals

const deadlineMs = 10_000

const perStatement = 50

interface Counts {
  /** Number of the first bucket since 1970. */
  first: number
  /** By source, oldest bucket first. */
  bySource: Map<string, number[]>
}

/** Returns a function that reads the size of each source and its new entries. */
export function sourceUsage(options: SourceUsageOptions) {
  const { engine, sources, clock, hidden, freeBytes, reserveBytes } = options
  // All requests within this time share one result.
  const shared = { max: 10, ttlResolution: 0, perf: clock }
  const counted = new LRUCache<UsageInterval, Counts>({
    ...shared,
    fetchMethod: (interval) => count(interval),
  })
  const stored = new LRUCache<'all', Awaited<ReturnType<typeof readStoredTables>>>({
    ...shared,
    ttl: usageIntervals['1hr'].keepMs,
    fetchMethod: () => readStoredTables(engine, sources.topology, { deadlineMs }),
  })
  const counts = (interval: UsageInterval) =>
    counted.forceFetch(interval, { ttl: usageIntervals[interval].keepMs })

  async function count(interval: UsageInterval): Promise<Counts> {
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
        const settings = rowFilterSettings(engine.database, group, { hidden: hidden() })
        const parameters = { from: first * bucketSeconds }
        const statement = { sql: parts.join(' UNION ALL '), parameters, settings }
        return queryRows<{ source: string; bucket: number; n: number }>(engine, statement, { deadlineMs })
      }),
    )
    const bySource = new Map(names.map((name) => [name, new Array<number>(buckets).fill(0)]))
    for (const { source, bucket, n } of rows.flat()) {
      const index = Number(bucket) - first
      const found = bySource.get(source)
      if (found && index >= 0 && index < buckets) found[index] = Number(n)
    }
    return { first, bySource }
  }

  return async (interval: UsageInterval) => {
    const hour = usageIntervals['1hr']
    const [tables, lastHour, entries] = await Promise.all([
      stored.forceFetch('all'),
      counts('1hr'),
      counts(interval),
    ])
    const free = freeBytes()
    return {
      disk: free === undefined ? null : { free_bytes: free, reserve_bytes: reserveBytes },
      sources: sources.list().map(({ name }) => ({
        name,
        entries: tables.get(name)?.rows ?? 0,
        bytes: tables.get(name)?.bytes ?? 0,
        /** By timestamp, oldest minute first. */
        per_minute: lastHour.bySource.get(name) ?? new Array<number>(hour.buckets).fill(0),
      })),
      /** Oldest first. Sources without entries in a bucket are left out of it. */
      entries: entriesOf(entries, interval),
    }
  }
}

function entriesOf({ first, bySource }: Counts, interval: UsageInterval) {
  const { buckets, bucketSeconds } = usageIntervals[interval]
  return {
    bucket_seconds: bucketSeconds as number,
    buckets: Array.from({ length: buckets }, (_, index) => {
      const counts = [...bySource].map(([source, all]) => [source, all[index] ?? 0] as const)
      return {
        timestamp: (first + index) * bucketSeconds * 1e6,
        counts: Object.fromEntries(counts.filter(([, count]) => count > 0)),
      }
    }),
  }
}
