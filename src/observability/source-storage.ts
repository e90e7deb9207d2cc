import { LRUCache } from 'lru-cache'
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
const nothing = { parts: 0, rows: 0, bytes: 0 }

/** Reads how much each source has on disk; nothing while the engine is unavailable. */
export function sourceStorage(engine: Engine, time: Clock, sources: SourceNames) {
  const read = new LRUCache<'all', StoredSource[]>({
    max: 1,
    ttl: readEveryMs,
    ttlResolution: 0,
    perf: time,
    // A busy engine must not delay the metrics.
    allowStale: true,
    fetchMethod: async () => {
      const stored = await readStoredTables(engine, sources.topology, limits)
      return [...sources.names()].map((source) => ({ source, ...(stored.get(source) ?? nothing) }))
    },
  })
  return async (): Promise<StoredSource[]> =>
    engine.state().kind === 'ready' ? ((await read.fetch('all').catch(() => [])) ?? []) : []
}
