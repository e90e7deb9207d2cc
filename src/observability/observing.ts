import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Tracing } from '../base/tracing.ts'
import { version } from '../base/version.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import type { Sources } from '../catalog/sources.ts'
import type { Engine } from '../engine/engine.ts'
import { CallStatistics } from './call-statistics.ts'
import { storeCalls } from './call-store.ts'
import { type MetricSources, Metrics } from './metrics.ts'
import { unspokenProtocol, wantedExporters } from './otel-wanted.ts'
import { RequestCounts } from './request-counts.ts'
import { SlowCalls } from './slow-calls.ts'
import { SourceStorage } from './source-storage.ts'

export interface ObservingOptions {
  /** Whether calls are written down. */
  recording: boolean
  engine: Engine
  sources: Sources
  disk: { check(): void }
  arrivals: Arrivals
  tail: { publish(source: string, lines: readonly Buffer[]): void }
  clock: Clock
  after: (ms: number, run: () => void) => () => void
  log: Log
  environment: Readonly<Record<string, string | undefined>>
  /** State of other parts, as it is when somebody asks. */
  figures: Pick<
    MetricSources,
    'cache' | 'queue' | 'engine' | 'intake' | 'liveStreams' | 'freeDiskBytes' | 'exists'
  >
}

/** Whatever watches the service. */
export interface Observing {
  statistics: CallStatistics | undefined
  metrics: Metrics
  slowCalls: SlowCalls
  requests: RequestCounts
  tracing: Tracing | undefined
  /** Stores what is still to be stored. The engine has to be there yet. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** So many calls wait to be looked at, and so many entries of them to be stored, at most. */
const maxUnreadCalls = 2 ** 15
const maxUnstoredCalls = 20_000

/** Slow calls of so many endpoints are kept. */
const maxSlowEndpoints = 1000

export async function startObserving(options: ObservingOptions): Promise<Observing> {
  const { recording, engine, sources, clock, after, log, figures } = options
  const requests = new RequestCounts()
  const statistics = recording
    ? new CallStatistics({
        store: storeCalls(options),
        clock,
        monotonicMs: () => performance.now(),
        after,
        maxCalls: maxUnreadCalls,
        maxEntries: maxUnstoredCalls,
        log,
      })
    : undefined
  const storage = new SourceStorage(engine, clock, () => sources.names())
  const metrics = new Metrics({ ...figures, version, requests, statistics, storage: () => storage.read() })
  const slowCalls = new SlowCalls({
    clock,
    busy: () => figures.queue().waiting > 0,
    maxEndpoints: maxSlowEndpoints,
  })
  statistics?.onCalls((page) => metrics.takeCalls(page))
  statistics?.onCalls((page, toWallMs) => slowCalls.take(page, toWallMs))
  const tracing = await startWantedTracing(options)
  return {
    statistics,
    metrics,
    slowCalls,
    requests,
    tracing,
    settled: async () => {
      await slowCalls.settled()
      await statistics?.stop()
    },
    stop: async () => tracing?.stop(),
  }
}

/** OpenTelemetry's SDK is not loaded where nobody asks for it. */
async function startWantedTracing({ environment, log }: ObservingOptions): Promise<Tracing | undefined> {
  const exporters = wantedExporters(environment)
  if (exporters.length === 0) return undefined
  const protocol = unspokenProtocol(environment)
  if (protocol !== undefined) {
    log.warn({ protocol }, 'traces are sent as http/protobuf; no other protocol is known')
  }
  const { startTracing } = await import('./otel-tracing.ts')
  return startTracing(exporters, log)
}
