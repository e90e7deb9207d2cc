import type { Tracing } from '../base/tracing.ts'
import { callsSource } from '../catalog/built-in-sources.ts'
import { Metrics, RequestCounts } from '../observability/metrics.ts'
import { RequestStatistics } from '../observability/request-statistics.ts'
import { traceExporters } from '../observability/trace-exporters.ts'
import { appendTo, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type Observability = Awaited<ReturnType<typeof createObservability>>

const maxUnstoredEntries = 20_000

/** What is counted and recorded of requests. */
export async function createObservability(options: ServiceOptions, storage: Storage) {
  const { settings, time, log } = options
  const { endpoints, sources } = storage
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
    endpoint: (name) => endpoints.named(name) !== undefined,
    source: (name) => sources.named(name)?.name === name,
  })
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
