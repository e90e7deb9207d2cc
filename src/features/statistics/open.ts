import type { FastifyInstance } from 'fastify'
import { droppedLinesOf } from '../../core/base/log.ts'
import { version } from '../../core/base/package-file.ts'
import type { Tracing } from '../../core/base/tracing.ts'
import type { Core, ServiceOptions } from '../../core.ts'
import { addFigures, sourceStorage } from './figures.ts'
import { Metrics, RequestCounts } from './metrics.ts'
import { requestReports } from './report/request-report.ts'
import { addRequestRoutes } from './request-routes.ts'
import { RequestStatistics } from './request-statistics.ts'
import { statisticsSettings } from './settings.ts'
import { callsSource } from './source.ts'
import { addStatusRoutes } from './status-routes.ts'
import { traceExporters } from './trace-exporters.ts'

const maxUnstoredRequests = 20_000

export type OpenStatistics = Awaited<ReturnType<typeof openStatistics>>

export async function openStatistics(core: Core) {
  const { engine, time, log, sources, endpoints, calls, definitions, tokens, meters, hooks } = core
  const { statistics: isRecording, metrics: metricsAccess } = core.settingsOf(statisticsSettings)
  const { cache, queue, intake, rules, streams, freeBytes } = core
  /** Undefined if requests are not recorded. */
  const records = isRecording
    ? new RequestStatistics({
        store: core.appendTo(callsSource.name),
        time,
        maxEntries: maxUnstoredRequests,
        log,
      })
    : undefined
  const reports = isRecording ? requestReports(calls, time.wall) : undefined
  const requests = new RequestCounts()
  const metrics = new Metrics(meters, {
    endpoint: (name) => endpoints.named(name) !== undefined,
    source: (name) => sources.named(name)?.name === name,
  })
  addFigures(metrics, {
    ...{ version, requests, cache, queue, intake, rules, streams },
    statistics: records,
    engine: () => engine.state(),
    droppedLogLines: () => droppedLinesOf(log),
    storage: sourceStorage(engine, time, sources),
    freeDiskBytes: freeBytes,
  })
  hooks.requestFinished.push((status) => requests.add(status))
  if (records) hooks.callRecorded.push((record) => records.add(record))
  hooks.callRecorded.push((record) => metrics.called(record))
  hooks.queryRan.push((purpose, ms) => metrics.ran(purpose, ms))
  hooks.intake.push(metrics)
  hooks.flushEntries.push(async () => records?.flush())
  hooks.rowsReplaced.push(() => metrics.namesChanged())
  sources.follow(() => metrics.namesChanged())
  endpoints.follow(() => metrics.namesChanged())
  const tracing = await startTracing(core.options)
  hooks.tracing = tracing
  return {
    records,
    routes(server: FastifyInstance) {
      addRequestRoutes(server, { reports, definitions, endpoints, tokens })
      addStatusRoutes(server, {
        engineStatus: () => engine.state(),
        phase: core.phase,
        metrics,
        openMetrics: metricsAccess === 'open',
      })
    },
    async stop() {
      // Stores the last records, so the engine must still be running.
      await records?.stop()
      await tracing?.stop()
    },
  }
}

/** Does not load OpenTelemetry's SDK unless traces are enabled. */
async function startTracing({ environment, log }: ServiceOptions): Promise<Tracing | undefined> {
  const exporters = traceExporters(environment)
  if (exporters.length === 0) return undefined
  const tracing = await import('./otel-tracing.ts')
  return tracing.startTracing(exporters, log)
}
