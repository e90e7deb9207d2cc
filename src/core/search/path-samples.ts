import { LRUCache } from 'lru-cache'
import { formatMicros } from '../../shared/timestamps.ts'
import type { Timers } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import { type HiddenRows, rowFilterSettings } from '../sql/isolation.ts'
import { sqlText } from '../sql/names.ts'
import type { SampledSources, SourceSample } from '../sql/warnings/path-warnings.ts'
import { newestSql, pathSettings, pathsIn } from './seen-paths.ts'

interface PathSamplesOptions {
  engine: Engine
  /** Rows that nobody may see anymore. */
  hidden: () => HiddenRows | undefined
  time: Timers
  withinMs: number
  maxSources: number
}

const sampledDays = 7
const sampledEntries = 2_000
/** Entries can have keys that differ each time. */
const maxPaths = 10_000
const maxSearched = 20
/** Someone who types SQL checks it again and again. */
const keptMs = 30_000

/** Reads what entries of the last days contain, cheaply and only now and then. Never fails. */
export function pathSamples({
  engine,
  hidden,
  time,
  withinMs,
  maxSources,
}: PathSamplesOptions): SampledSources {
  // Each source has a sample and a search.
  const kept = new LRUCache<string, Promise<unknown>>({
    max: 2 * maxSources,
    ttl: keptMs,
    ttlResolution: 0,
    perf: time,
  })

  /** Concurrent callers share one run; a failed one counts as unknown until the next attempt. */
  function keep<T>(key: string, read: () => Promise<T>): Promise<T | undefined> {
    const known = kept.get(key) as Promise<T | undefined> | undefined
    if (known) return known
    const reading = read().catch(() => undefined)
    kept.set(key, reading)
    return reading
  }

  function rows<Row>(
    source: string,
    sql: string,
    settings: Record<string, string | number> = {},
  ): Promise<Row[]> {
    const filter = rowFilterSettings(engine.database, [source], { hidden: hidden() })
    const since = formatMicros(BigInt(Math.trunc(time.wall.now())) * 1000n - BigInt(sampledDays) * dayMicros)
    return queryRows<Row>(
      engine,
      { sql, parameters: { since }, settings: { ...pathSettings, ...filter, max_threads: 1, ...settings } },
      { deadlineMs: withinMs },
    )
  }

  async function sample(source: string): Promise<SourceSample> {
    const newest = `(${newestSql(recent(source), sampledEntries)})`
    const [counts, paths] = await Promise.all([
      rows<{ entries: number }>(source, `SELECT count() AS entries FROM ${recent(source)}`),
      rows<{ path: string; types: string[] }>(
        source,
        `SELECT p.1 AS path, groupUniqArray(p.2) AS types FROM ${pathsIn(newest)} ` +
          `GROUP BY path LIMIT ${maxPaths}`,
      ),
    ])
    return {
      entries: counts[0]?.entries ?? 0,
      paths: new Map(paths.map(({ path, types }) => [path, types])),
    }
  }

  /** A path may be rare, so its absence from the newest entries is not enough. Stops searching after a while. */
  async function search(source: string, paths: readonly (readonly string[])[]): Promise<boolean[]> {
    const conditions = paths.slice(0, maxSearched).map((keys, index) => {
      // Searching the text for the keys is much faster than parsing it.
      const texts = keys.map((key) => `position(metadata, ${sqlText(JSON.stringify(key))}) > 0`)
      const has = `JSONHas(metadata, ${keys.map(sqlText).join(', ')})`
      return `max(${[...texts, has].join(' AND ')}) AS p${index}`
    })
    const [found = {}] = await rows<Record<string, number>>(
      source,
      `SELECT ${conditions.join(', ')} FROM ${recent(source)}`,
      { timeout_overflow_mode: 'break' },
    )
    return paths.map((_, index) => found[`p${index}`] !== 0)
  }

  return {
    sample: (source) => keep(source, () => sample(source)),
    present: (source, paths) => keep(JSON.stringify([source, paths]), () => search(source, paths)),
  }
}

const dayMicros = 86_400_000_000n

function recent(source: string): string {
  return `\`${source}\` WHERE timestamp > {since:DateTime64(6, 'UTC')}`
}
