import { droppedLinesOf } from '../base/log.ts'
import { version } from '../base/package-file.ts'
import type { Tracing } from '../base/tracing.ts'
import { callsSource } from '../catalog/built-in-sources.ts'
import { type MetricSources, Metrics, RequestCounts, sourceStorage } from '../observability/metrics.ts'
import { RequestStatistics } from '../observability/request-statistics.ts'
import { traceExporters } from '../observability/trace-exporters.ts'
import type { EndpointParts } from './create-endpoints.ts'
import { appendTo, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type Observability = Awaited<ReturnType<typeof createObservability>>

const maxUnstoredEntries = 20_000

export async function createObservability(
  options: ServiceOptions,
  storage: Storage,
  { endpoints, cache, queue }: EndpointParts,
  /** Figures of parts that are created later. */
  later: Pick<MetricSources, 'intake' | 'liveStreams' | 'alerts'>,
) {
  const { settings, time, log } = options
  const { engine, sources } = storage
  const requests = new RequestCounts()
  const statistics = settings.statistics
    ? new RequestStatistics({
        store: appendTo(callsSource, storage),
        time,
        maxEntries: maxUnstoredEntries,
        log,
      })
    : undefined
  const metrics = new Metrics({
    ...later,
    version,
    requests,
    statistics,
    storage: sourceStorage(engine, time, sources),
    cache: () => cache.figures,
    queue: () => queue,
    engine: storage.engineStatus,
    freeDiskBytes: storage.freeBytes,
    droppedLogLines: () => droppedLinesOf(log),
    exists: {
      endpoint: (name) => endpoints.findByName(name) !== undefined,
      source: (name) => sources.find(name)?.name === name,
    },
  })
  endpoints.onChange(() => metrics.namesChanged())
  const tracing = await startTracing(options)
  return {
    statistics,
    metrics,
    requests,
    tracing,
    /** Stores the last records, so the engine must still be running. */
    settled: async () => statistics?.stop(),
    stop: async () => tracing?.stop(),
  }
}

/** Does not load OpenTelemetry's SDK unless traces are enabled. */
async function startTracing({ environment, log }: ServiceOptions): Promise<Tracing | undefined> {
  const exporters = traceExporters(environment)
  if (exporters.length === 0) return undefined
  const tracing = await import('../observability/otel-tracing.ts')
  return tracing.startTracing(exporters, log)
}
