import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { WellheadError } from '../core/base/errors.ts'
import { dataFiles } from '../core/base/files/data-files.ts'
import { ResultCache } from '../core/cache/result-cache.ts'
import { WarmKeysFile } from '../core/cache/warm-keys-file.ts'
import { type Call, onBehalfOfAll, recipeOf } from '../core/endpoints/call/call.ts'
import { EndpointCalls } from '../core/endpoints/call/endpoint-calls.ts'
import { EndpointRunner } from '../core/endpoints/call/endpoint-runner.ts'
import { QueryQueue } from '../core/endpoints/call/query-queue.ts'
import { endpointDrafts } from '../core/endpoints/manage/endpoint-drafts.ts'
import { brokenBy } from '../core/endpoints/manage/endpoint-kind.ts'
import { endpointWarnings } from '../core/endpoints/manage/endpoint-warnings.ts'
import { LiveResults } from '../features/live/live-results.ts'
import { Replays } from '../features/replay/replays.ts'
import { pathSamples } from '../features/sources/path-samples.ts'
import type { Metrics } from '../features/statistics/metrics.ts'
import { requestReports } from '../features/statistics/report/request-report.ts'
import type { TableColumn } from '../shared/column-types.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** Requests for a new result that arrive within this time share one run. */
const gatherFreshCallsMs = 2

/** Limits of reading entries for warnings. */
const samples = { withinMs: 1_000, maxSources: 100 }

const maxLiveResultBytes = 64 * 2 ** 20

/** Limits of the file of warm keys, which a restart computes ahead of requests. */
const warmKeys = { everyMs: 10_000, maxKeys: 2_000, maxBytes: 4 * 2 ** 20 }

const replayWithinMs = 60_000

/** What runs endpoints and keeps their results. */
export function createEndpoints({ settings, log, time }: ServiceOptions, storage: Storage, metrics: Metrics) {
  const { engine, catalog, sources, tables, endpoints, arrivals, shared, projects } = storage
  const clock = time.wall
  const retentionOf = projects.plans.retentionOf.bind(projects.plans)
  const sampled = pathSamples({
    engine,
    hidden: storage.hidden,
    time,
    ...samples,
    withinMs: samples.withinMs * settings.engineTimeoutFactor,
  })
  const readable = () => ({ ...storage.sourcesAndTables(), sampled, endpoints: endpoints.readable })
  const queue = new QueryQueue({
    maxRunning: availableParallelism() * 2,
    maxWaitingPerCaller: 1000,
    maxWaiting: 5000,
    maxWaitMs: 2_000 * settings.engineTimeoutFactor,
    maxBackgroundWaitMs: 10_000 * settings.engineTimeoutFactor,
    time,
  })
  const runner = new EndpointRunner({
    engine,
    queue,
    clock,
    maxMemoryBytes: Math.floor(settings.engineMemory / 2),
    maxThreads: Math.max(1, availableParallelism() >> 1),
    sources: () => sources.names(),
    hidden: storage.hidden,
    tables: () => tables.readable,
    onRun: (purpose, ms) => metrics.ran(purpose, ms),
  })
  const cache = new ResultCache<Call>({
    time,
    compute: (call, purpose, signal) =>
      runner.run(purpose === 'refresh' ? onBehalfOfAll(call, 'refresh', signal) : { ...call, signal }),
    recipeOf,
    maxBytes: settings.cacheMemory,
    // At least two, so that one broken endpoint does not block the refreshes of all others.
    maxRefreshes: Math.max(2, availableParallelism() >> 1),
    busy: () => queue.waiting > 0,
    gatherMs: gatherFreshCallsMs,
    onFailure: ({ group, error, times }) =>
      log.warn({ endpoint: group, code: codeOf(error), times }, 'a cached result could not be refreshed'),
  })
  // Another service may insert into a shared server, so arrivals say nothing about it.
  const arrivalsOfAll = shared ? undefined : arrivals
  const calls = new EndpointCalls({
    engine,
    runner,
    cache,
    endpoints,
    arrivals: arrivalsOfAll,
    retentionOf,
  })
  const results = new LiveResults({
    time,
    arrivals: arrivalsOfAll,
    latest: (...call) => calls.latest(...call),
    cache,
    maxBytes: maxLiveResultBytes,
    onFailure: ({ endpoint, error }) =>
      log.warn({ endpoint, code: codeOf(error) }, 'a live result could not be refreshed'),
  })
  const warningsOf = endpointWarnings(readable, sampled, (error) =>
    log.warn({ err: error }, 'warnings of an endpoint could not be determined'),
  )
  return {
    readable,
    warningsOf,
    tableUsers: (table: string, columns: readonly TableColumn[]) =>
      brokenBy({ engine, catalog, readable }, endpoints, table, columns),
    drafts: endpointDrafts({ engine, runner, sources: readable, clock, warningsOf }),
    replays: new Replays({
      engine,
      runner,
      cache,
      sources: readable,
      retentionOf,
      time,
      withinMs: replayWithinMs * settings.engineTimeoutFactor,
    }),
    /** Undefined if requests are not recorded. */
    reports: settings.statistics ? requestReports(calls, clock) : undefined,
    queue,
    runner,
    cache,
    results,
    calls,
    warmKeys: new WarmKeysFile({
      path: join(settings.dataDir, dataFiles.warmKeys),
      time,
      ...warmKeys,
      read: (limit) => cache.warmKeys(limit),
      onFailure: (error) => log.warn({ err: error }, 'the file of warm keys could not be read or written'),
    }),
  }
}

/** The engine's own message would hold parameter values. */
function codeOf(error: unknown): string {
  return error instanceof WellheadError ? error.code : 'internal'
}
