import { Metrics } from '../../src/observability/metrics.ts'
import { RequestCounts } from '../../src/observability/request-counts.ts'

/** Metrics of an idle service. */
export function idleMetrics(exists: (name: string) => boolean = () => true): Metrics {
  return new Metrics({
    version: '1.2.3',
    requests: new RequestCounts(),
    statistics: { read: () => {}, dropped: 4 },
    cache: () => ({ bytes: 1, maxBytes: 2, entries: 3, refreshed: 4, refreshFailures: 5, evicted: 6 }),
    queue: () => ({ running: 1, waiting: 2 }),
    engine: () => ({ ready: false, restarts: 7 }),
    intake: () => ({ pendingBytes: 8 }),
    liveStreams: () => 2,
    storage: async () => [{ source: 'edge_logs', parts: 1, rows: 2, bytes: 3 }],
    freeDiskBytes: () => 9,
    exists: { endpoint: exists, source: exists },
  })
}
