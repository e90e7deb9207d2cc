import { availableParallelism } from 'node:os'
import { Access } from '../access/access.ts'
import { type Actor, Audit } from '../access/audit.ts'
import { Links } from '../access/links.ts'
import { Oidc, type OidcSettings } from '../access/oidc.ts'
import { People } from '../access/people.ts'
import { TokenAdmin } from '../access/token-admin.ts'
import type { AlertTests } from '../alerts/alert-tests.ts'
import { packageFile } from '../base/package-file.ts'
import type { Dashboards } from '../dashboards/dashboard-kind.ts'
import { type Definitions, shippedBy } from '../definitions/definitions.ts'
import { EndpointDrafts } from '../endpoints/manage/endpoint-drafts.ts'
import { Replays } from '../endpoints/manage/replays.ts'
import { requestReports } from '../endpoints/report/request-report.ts'
import { readConsoleFiles } from '../http/routes/console.ts'
import { createServer } from '../http/server.ts'
import { SessionCookies } from '../http/session-cookies.ts'
import { EventStreams } from '../http/streams/event-streams.ts'
import { LogIntake } from '../intake/log-intake.ts'
import { LogSearch } from '../sources/log-search.ts'
import { SavedSearches } from '../sources/saved-searches.ts'
import { SourceInfo } from '../sources/source-info.ts'
import { sourceUsage } from '../sources/source-usage.ts'
import { auditSource } from '../sql/audit-source.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Observability } from './create-observability.ts'
import { appendTo, maxPendingLogBytes, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type Phase = 'starting' | 'open' | 'stopping'

const replayWithinMs = 60_000

export function createHttp(
  { settings, time, log, environment }: ServiceOptions,
  storage: Storage,
  { endpoints, readable, runner, cache, calls, results, warningsOf }: EndpointParts,
  {
    definitions,
    dashboards,
    alertTests,
  }: { definitions: Definitions; dashboards: Dashboards; alertTests: AlertTests },
  observability: Observability,
  { adminToken, phase }: { adminToken: string; phase: () => Phase },
) {
  const { engine, catalog, sources, store, keys, disk, tail, freeBytes } = storage
  const clock = time.wall
  const access = new Access(adminToken, clock, settings.authFailuresPerMinute)
  const tokens = new TokenAdmin({
    ...{ access, catalog, engine, clock, log },
    nameOf: (id) => actorOf(id).name || null,
  })
  const links = new Links(catalog, access, clock)
  const people = new People(catalog, access)
  // The issuer needs the other settings, which are checked together.
  const oidc =
    settings.oidcIssuer === undefined
      ? undefined
      : new Oidc({
          settings: { ...settings, oidcRoles: settings.oidcRoles ?? [] } as OidcSettings,
          secret: adminToken,
          clock,
          log,
        })
  const actorOf = (id: string): Actor => {
    const person = people.find(id)
    if (person) return { type: 'person', id, name: person.name }
    if (id === shippedBy) return { type: 'service', id, name: 'Wellhead' }
    return { type: 'token', id, name: tokens.nameOf(id) ?? '' }
  }
  const audit = new Audit({
    ...{ catalog, engine, clock, log, actorOf, dataDir: settings.dataDir },
    store: appendTo(auditSource, storage),
    retentionDays: () => sources.get(auditSource).retention_days,
  })
  const streams = new EventStreams({ access, time, maxStreams: settings.liveStreams })
  const intake = new LogIntake({
    ...{ store, sources, keys, disk, clock },
    observer: observability.metrics,
    maxBodyBytes: maxPendingLogBytes,
    maxReaders: Math.min(2, availableParallelism()),
  })
  const cookies = new SessionCookies({ access, ...settings })
  const server = createServer({
    log,
    access,
    cookies,
    people,
    oidc,
    audit,
    engineStatus: storage.engineStatus,
    leak: storage.leak,
    stopping: () => phase() === 'stopping',
    open: () => phase() !== 'starting',
    maxStreams: settings.liveStreams,
    publicUrl: settings.publicUrl,
    corsOrigins: settings.corsOrigins ?? [],
    brandName: settings.brandName,
    embedOrigins: settings.embedOrigins,
    logflare: Boolean(environment.LOGFLARE_PRIVATE_ACCESS_TOKEN),
    mcpWrite: settings.mcpWrite,
    intake,
    definitions,
    links,
    alertTests,
    sources: new SourceInfo({ engine, sources }),
    tail,
    streams,
    ...{ endpoints, calls, results, dashboards },
    replays: new Replays({
      engine,
      runner,
      cache,
      endpoints,
      sources: readable,
      time,
      withinMs: replayWithinMs * settings.engineTimeoutFactor,
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
    usage: sourceUsage({ engine, sources, clock, freeBytes, reserveBytes: settings.diskReserve }),
    reports: settings.statistics ? requestReports(calls, clock) : undefined,
    console: readConsoleFiles(packageFile('dist/console'), {
      ...settings,
      signsPeopleIn: oidc !== undefined,
    }),
    tokens,
    backups: storage.backups,
    ...observability,
    openMetrics: settings.metrics === 'open',
  })
  return { server, access, audit, actorOf, tokens, streams, intake, links }
}
