import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/base/clock.ts'
import type { LabeledValues } from '../../core/base/meters.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { readStoredTables } from '../../core/engine/stored-tables.ts'
import type { Metrics, RequestCounts } from './metrics.ts'

interface Figures {
  version: string
  requests: RequestCounts
  /** Undefined if request statistics are off. */
  statistics: { readonly dropped: number } | undefined
  cache: {
    figures: Record<'bytes' | 'maxBytes' | 'entries' | 'refreshed' | 'refreshFailures' | 'evicted', number>
  }
  queue: { running: number; waiting: number }
  engine: () => { ready: boolean; restarts: number; nodes?: readonly { node: string; ready: boolean }[] }
  intake: { pendingBytes: number }
  rules: { figures(): Iterable<{ source: string; rule: string; entries: number }> }
  streams: { size: number }
  droppedLogLines: () => number
  storage: ReturnType<typeof sourceStorage>
  /** Undefined if the disk belongs to a ClickHouse server. */
  freeDiskBytes: () => number | undefined
}

/** The engine is queried at most this often, regardless of the number of scrapes. */
const readEveryMs = 10_000
const storageLimits = { deadlineMs: 10_000 }
const nothing = { parts: 0, rows: 0, bytes: 0 }

/** Reads how much each source has on disk; nothing while the engine is unavailable. */
export function sourceStorage(engine: Engine, time: Clock, sources: Pick<Sources, 'names' | 'topology'>) {
  const read = new LRUCache({
    max: 1,
    ttl: readEveryMs,
    ttlResolution: 0,
    perf: time,
    // A busy engine must not delay the metrics.
    allowStale: true,
    fetchMethod: async (_key: 'all') => {
      const stored = await readStoredTables(engine, sources.topology, storageLimits)
      return [...sources.names()].map((source) => ({ source, ...(stored.get(source) ?? nothing) }))
    },
  })
  return async () => (engine.state().ready ? ((await read.fetch('all').catch(() => [])) ?? []) : [])
}

/** Adds the metrics that are read from the parts of the service. */
export function addFigures(metrics: Metrics, figures: Figures): void {
  const { requests, statistics, cache, queue, engine, intake, streams, freeDiskBytes } = figures
  const { meters } = metrics
  const gauge = meters.gauge.bind(meters)
  const count = meters.count.bind(meters)
  const version = (): LabeledValues => [[figures.version, 1]]
  gauge('wellhead_info', 'Always 1; its label is the version of the service.', version, 'version')
  const finished = () => Object.entries(requests.byClass)
  count('wellhead_http_requests_total', 'Finished requests of all kinds.', finished, 'status')
  const unrecorded = 'Requests to endpoints that are missing from the statistics.'
  count('wellhead_calls_unrecorded_total', unrecorded, () => statistics?.dropped ?? 0)
  gauge('wellhead_cache_bytes', 'Memory used by cached results.', () => cache.figures.bytes)
  gauge('wellhead_cache_max_bytes', 'Maximum memory for cached results.', () => cache.figures.maxBytes)
  gauge('wellhead_cache_entries', 'Number of cached results.', () => cache.figures.entries)
  count('wellhead_cache_evictions_total', 'Results evicted for lack of memory.', () => cache.figures.evicted)
  const refreshes = (): LabeledValues => [
    ['refreshed', cache.figures.refreshed],
    ['failed', cache.figures.refreshFailures],
  ]
  count('wellhead_cache_refreshes_total', 'Background refreshes of cached results.', refreshes, 'result')
  gauge('wellhead_queue_running', 'Queries running now.', () => queue.running)
  gauge('wellhead_queue_waiting', 'Queries waiting for a slot.', () => queue.waiting)
  gauge('wellhead_engine_up', 'Whether the engine is ready.', () => Number(engine().ready))
  const nodes = () => (engine().nodes ?? []).map(({ node, ready }) => [node, Number(ready)] as const)
  gauge('wellhead_engine_node_up', 'Whether a ClickHouse node is ready.', nodes, 'node')
  count('wellhead_engine_restarts_total', 'Restarts of the engine.', () => engine().restarts)
  gauge('wellhead_live_streams', 'Open live streams.', () => streams.size)
  const droppedLines = 'Log lines dropped because nothing read the output.'
  count('wellhead_log_lines_dropped_total', droppedLines, figures.droppedLogLines)
  const pending = () => intake.pendingBytes
  gauge('wellhead_ingest_pending_bytes', 'Bytes of entries not yet on disk.', pending)
  const ruled = () =>
    [...figures.rules.figures()].map(
      ({ source, rule, entries }) => [{ source: metrics.sourceLabel(source), rule }, entries] as const,
    )
  const ruledEntries = 'Entries that a rule of their source dropped or changed.'
  count('wellhead_ingest_rule_entries_total', ruledEntries, ruled, 'source', 'rule')
  if (freeDiskBytes() !== undefined) {
    const free = 'Free space on the disk of the data directory.'
    gauge('wellhead_disk_free_bytes', free, () => freeDiskBytes() ?? 0)
  }
  const stored = (figure: 'parts' | 'rows' | 'bytes') => async () => {
    const tables = await figures.storage()
    return tables.map((table) => [metrics.sourceLabel(table.source), table[figure]] as const)
  }
  gauge('wellhead_source_parts', 'Data parts of a source.', stored('parts'), 'source')
  gauge('wellhead_source_entries', 'Entries of a source on disk.', stored('rows'), 'source')
  gauge('wellhead_source_bytes', 'Bytes of a source on disk.', stored('bytes'), 'source')
}
