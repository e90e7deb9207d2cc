import { droppedLinesOf } from '../base/log.ts'
import type { MetricSources } from '../observability/metrics.ts'
import { type Observability, startObservability } from '../observability/observability.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** Figures of parts that are created later. */
interface LaterFigures {
  intake: () => { pendingBytes: number }
  liveStreams: () => number
  alerts: MetricSources['alerts']
}

/** Statistics, metrics, slow requests and traces. */
export async function createObservability(
  { settings, time, log, environment }: ServiceOptions,
  { engine, engineStatus, sources, disk, arrivals, tail, freeBytes }: Storage,
  { endpoints, cache, queue }: EndpointParts,
  later: LaterFigures,
): Promise<Observability> {
  const observability = await startObservability({
    recording: settings.statistics,
    engine,
    sources,
    disk,
    arrivals,
    tail,
    time,
    log,
    environment,
    figures: {
      ...later,
      cache: () => cache.figures,
      queue: () => queue,
      engine: engineStatus,
      freeDiskBytes: freeBytes,
      droppedLogLines: () => droppedLinesOf(log),
      exists: {
        endpoint: (name) => endpoints.findByName(name) !== undefined,
        source: (name) => sources.find(name)?.name === name,
      },
    },
  })
  endpoints.onChange(() => observability.metrics.namesChanged())
  return observability
}
