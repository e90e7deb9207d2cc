import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { WellheadError } from '../base/errors.ts'
import { ResultCache } from '../cache/result-cache.ts'
import { WarmKeysFile } from '../cache/warm-keys-file.ts'
import { EndpointCalls, sourcesOf } from '../endpoints/call/endpoint-calls.ts'
import { EndpointRunner } from '../endpoints/call/endpoint-runner.ts'
import { QueryQueue } from '../endpoints/call/query-queue.ts'
import { resultTag } from '../endpoints/definition/endpoint.ts'
import { endpointWarnings } from '../endpoints/manage/endpoint-warnings.ts'
import { Endpoints } from '../endpoints/manage/endpoints.ts'
import { LiveResults } from '../live/live-results.ts'
import { pathSamples } from '../sources/path-samples.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** Requests for a new result that arrive within this time share one run. */
const gatherFreshCallsMs = 2

/** Limits of reading entries for warnings. */
const samples = { withinMs: 1_000, maxSources: 100 }

const maxLiveResultBytes = 64 * 2 ** 20

/** Limits of the file of warm keys, which a restart computes ahead of requests. */
const warmKeys = { everyMs: 10_000, maxKeys: 2_000, maxBytes: 4 * 2 ** 20 }

export type EndpointParts = ReturnType<typeof createEndpoints>

export function createEndpoints(
  { settings, log, time }: ServiceOptions,
  { engine, catalog, sources, arrivals, shared }: Storage,
  onRun: (purpose: string, ms: number) => void,
) {
  const clock = time.wall
  const sampled = pathSamples({
    engine,
    time,
    ...samples,
    withinMs: samples.withinMs * settings.engineTimeoutFactor,
  })
  const readable = () => ({ ...sources.readable(), sampled })
  const endpoints = new Endpoints(catalog, () => sources.readable())
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
    onRun,
  })
  const cache = new ResultCache({
    time,
    maxBytes: settings.cacheMemory,
    // At least two, so that one broken endpoint does not block the refreshes of all others.
    maxRefreshes: Math.max(2, availableParallelism() >> 1),
    busy: () => queue.waiting > 0,
    gatherMs: gatherFreshCallsMs,
    onStored: (key) => results.stored(key),
    onFailure: ({ group, error, times }) =>
      log.warn({ endpoint: group, code: codeOf(error), times }, 'a cached result could not be refreshed'),
  })
  // Another service may insert into a shared server, so arrivals say nothing about it.
  const arrivalsOfAll = shared ? undefined : arrivals
  const results = new LiveResults({
    time,
    arrivals: arrivalsOfAll,
    latest: (...call) => calls.latest(...call),
    maxBytes: maxLiveResultBytes,
    onFailure: ({ endpoint, error }) =>
      log.warn({ endpoint, code: codeOf(error) }, 'a live result could not be refreshed'),
  })
  const calls = new EndpointCalls({ engine, runner, cache, endpoints, clock, arrivals: arrivalsOfAll })
  const warningsOf = endpointWarnings(readable, sampled, (error) =>
    log.warn({ err: error }, 'warnings of an endpoint could not be determined'),
  )
  endpoints.onChange((id, before, after) => {
    const isSameResult = before && after && resultTag(before) === resultTag(after)
    if (!isSameResult) cache.drop(id)
  })
  // Always: a follower may no longer have access to a renamed or unpublished endpoint.
  endpoints.onChange((id) => results.drop(({ definition }) => definition.id === id))
  return {
    endpoints,
    /** Nobody gets entries of a deleted source from a cached result, also not as those of a new source of its name. */
    dropReaders: (source: string) => {
      cache.dropReaders(source)
      results.drop((endpoint) => sourcesOf(endpoint).has(source))
    },
    readable,
    warningsOf,
    queue,
    runner,
    cache,
    results,
    calls,
    warmKeys: new WarmKeysFile({
      path: join(settings.dataDir, 'warm-keys.json'),
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
