import { spawnSync } from 'node:child_process'
import { Meters } from '../../src/core/base/meters.ts'
import { addAlertMeters } from '../../src/features/alerts/meters.ts'
import { addProjectMeters } from '../../src/features/plans/meters.ts'
import { addFigures } from '../../src/features/statistics/figures.ts'
import { Metrics, RequestCounts } from '../../src/features/statistics/metrics.ts'

/** Metrics of an idle service. */
export function idleMetrics(exists: (name: string) => boolean = () => true): Metrics {
  const meters = new Meters()
  const metrics = new Metrics(meters, { endpoint: exists, source: exists })
  addFigures(metrics, {
    version: '1.2.3',
    requests: new RequestCounts(),
    statistics: { dropped: 4 },
    cache: {
      figures: { bytes: 1, maxBytes: 2, entries: 3, refreshed: 4, refreshFailures: 5, evicted: 6 },
    },
    queue: { running: 1, waiting: 2 },
    engine: () => ({ ready: false, restarts: 7, nodes: [{ node: 'ch-1:8123', ready: true }] }),
    intake: { pendingBytes: 8 },
    rules: { figures: () => [{ source: 'edge_logs', rule: '1', entries: 2 }] },
    droppedLogLines: () => 0,
    streams: { size: 2 },
    storage: async () => [{ source: 'edge_logs', parts: 1, rows: 2, bytes: 3 }],
    freeDiskBytes: () => 9,
  })
  addProjectMeters(meters, { top: () => [{ project: 'demo', entries: 3, bytes: 4, requests: 5 }] as never })
  addAlertMeters(meters, () => ({
    counts: () => ({ ok: 1, pending: 0, firing: 2, failing: 0 }),
    deliveries: { counts: { delivered: 3, failed: 2, abandoned: 1 } },
  }))
  return metrics
}

/** Problems that promtool finds; empty if there are none. Undefined if promtool is not installed. */
export function promtoolProblems(metrics: string): string | undefined {
  const { PROMTOOL: promtool } = process.env
  if (!promtool) return undefined
  const { stdout, stderr, status } = spawnSync(promtool, ['check', 'metrics'], {
    input: metrics,
    encoding: 'utf8',
  })
  return status === 0 ? stderr : `${stdout}${stderr}` || `promtool ended with ${status}`
}
