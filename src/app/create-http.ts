import { availableParallelism } from 'node:os'
import { Access } from '../access/access.ts'
import { TokenAdmin } from '../access/token-admin.ts'
import type { AlertAdmin } from '../alerts/alert-admin.ts'
import { packageFile } from '../base/package-file.ts'
import { Deployments } from '../endpoints/manage/deployments.ts'
import { EndpointDrafts } from '../endpoints/manage/endpoint-drafts.ts'
import { Replays } from '../endpoints/manage/replays.ts'
import { requestReports } from '../endpoints/report/request-report.ts'
import { readConsoleFiles } from '../http/routes/console.ts'
import { createServer } from '../http/server.ts'
import { EventStreams } from '../http/streams/event-streams.ts'
import { LogIntake } from '../intake/log-intake.ts'
import { LogSearch } from '../sources/log-search.ts'
import { SavedSearches } from '../sources/saved-searches.ts'
import { SourceAdmin } from '../sources/source-admin.ts'
import { SourceUsage } from '../sources/source-usage.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Observability } from './create-observability.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type Phase = 'starting' | 'open' | 'stopping'

const maxPendingLogBytes = 256 * 2 ** 20
const replayWithinMs = 60_000

export function createHttp(
  { settings, time, log, environment }: ServiceOptions,
  storage: Storage,
  { endpoints, readable, admin, runner, cache, calls, results, warningsOf }: EndpointParts,
  alerts: AlertAdmin,
  observability: Observability,
  { adminToken, phase }: { adminToken: string; phase: () => Phase },
) {
  const { engine, catalog, sources, keys, disk, arrivals, tail, freeBytes } = storage
  const clock = time.wall
  const access = new Access(adminToken, clock, settings.authFailuresPerMinute)
  const tokens = new TokenAdmin({ access, catalog, engine, clock, log })
  const streams = new EventStreams({ access, time, maxStreams: settings.liveStreams })
  const intake = new LogIntake({
    engine,
    sources,
    keys,
    disk,
    observer: observability.metrics,
    clock,
    arrivals,
    tail,
    maxPendingBytes: maxPendingLogBytes,
    // An embedded engine restarts soon. A shard that is away must not delay the entries of others.
    attempts: settings.clickhouseUrl === undefined ? 30 : 2,
    maxReaders: Math.min(2, availableParallelism()),
  })
  const server = createServer({
    log,
    access,
    engineStatus: storage.engineStatus,
    leak: storage.leak,
    stopping: () => phase() === 'stopping',
    open: () => phase() !== 'starting',
    maxStreams: settings.liveStreams,
    corsOrigins: settings.corsOrigins,
    embedOrigins: settings.embedOrigins,
    logflare: Boolean(environment.LOGFLARE_PRIVATE_ACCESS_TOKEN),
    mcpWrite: settings.mcpWrite,
    intake,
    sources: new SourceAdmin({
      engine,
      sources,
      readersOf: (source, column) => endpoints.readersOf(source, column),
    }),
    tail,
    streams,
    queries: { endpoints, calls, results },
    endpoints: admin,
    deployments: new Deployments({ engine, catalog, endpoints, sources: readable, warningsOf, clock }),
    replays: new Replays({
      engine,
      runner,
      cache,
      endpoints,
      sources: readable,
      time,
      withinMs: replayWithinMs * settings.enginePatience,
    }),
    drafts: new EndpointDrafts({ engine, runner, sources: readable, clock, warningsOf }),
    search: new LogSearch({
      engine,
      sources,
      clock,
      maxMemoryBytes: Math.floor(settings.engineMemory / 2),
      inTurn: (turn, work) => runner.inTurn(turn, work),
    }),
    searches: new SavedSearches(catalog, sources),
    alerts,
    usage: new SourceUsage({ engine, sources, clock, freeBytes, reserveBytes: settings.diskReserve }),
    reports: settings.statistics ? requestReports(calls, clock) : undefined,
    console: readConsoleFiles(packageFile('dist/console'), settings),
    tokens,
    backups: storage.backups,
    observability: { ...observability, openMetrics: settings.metrics === 'open' },
  })
  return { server, access, tokens, streams, intake }
}
