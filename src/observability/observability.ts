import type { Timers } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { version } from '../base/package-file.ts'
import type { Tracing } from '../base/tracing.ts'
import { callsSource } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import { CallStatistics } from './call-statistics.ts'
import { type EntryStoreOptions, storeEntries } from './entry-store.ts'
import { type MetricSources, Metrics, RequestCounts } from './metrics.ts'
import { SlowCalls } from './slow-calls.ts'
import { sourceStorage } from './source-storage.ts'
import { traceExporters, unsupportedProtocol } from './trace-exporters.ts'

interface ObservabilityOptions extends EntryStoreOptions {
  /** Whether requests to endpoints are recorded. */
  recording: boolean
  sources: Sources
  time: Timers
  log: Log
  environment: Readonly<Record<string, string | undefined>>
  /** Current figures of other parts. */
  figures: Omit<MetricSources, 'version' | 'requests' | 'statistics' | 'storage'>
}

export type Observability = Awaited<ReturnType<typeof startObservability>>

const maxUnreadRecords = 2 ** 15
const maxUnstoredEntries = 20_000
const maxSlowEndpoints = 1000

export async function startObservability(options: ObservabilityOptions) {
  const { recording, engine, sources, time, log, figures } = options
  const requests = new RequestCounts()
  const statistics = recording
    ? new CallStatistics({
        store: storeEntries(callsSource, options),
        time,
        monotonicMs: () => performance.now(),
        maxRecords: maxUnreadRecords,
        maxEntries: maxUnstoredEntries,
        log,
      })
    : undefined
  const storage = sourceStorage(engine, time, sources)
  const metrics = new Metrics({ ...figures, version, requests, statistics, storage })
  const slowCalls = new SlowCalls({
    clock: time.wall,
    busy: () => figures.queue().waiting > 0,
    maxEndpoints: maxSlowEndpoints,
  })
  statistics?.onCalls((records) => metrics.takeCalls(records))
  statistics?.onCalls((records, toWallMs) => slowCalls.take(records, toWallMs))
  const tracing = await startTracing(options)
  return {
    /** Undefined if requests are not recorded. */
    statistics,
    metrics,
    slowCalls,
    requests,
    tracing,
    /** Stores the last records, so the engine must still be running. */
    settled: async () => {
      await slowCalls.settled()
      await statistics?.stop()
    },
    stop: async () => tracing?.stop(),
  }
}

/** Does not load OpenTelemetry's SDK unless traces are enabled. */
async function startTracing({ environment, log }: ObservabilityOptions): Promise<Tracing | undefined> {
  const exporters = traceExporters(environment)
  if (exporters.length === 0) return undefined
  const protocol = unsupportedProtocol(environment)
  if (protocol !== undefined) {
    log.warn({ protocol }, 'traces are sent as http/protobuf; this protocol is not supported')
  }
  const tracing = await import('./otel-tracing.ts')
  return tracing.startTracing(exporters, log)
}
