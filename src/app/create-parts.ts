import { availableParallelism } from 'node:os'
import { Access } from '../core/access/access.ts'
import { TokenAdmin } from '../core/access/token-admin.ts'
import type { Author } from '../core/base/author.ts'
import type { Tracing } from '../core/base/tracing.ts'
import { alertsSource, auditSource, callsSource } from '../core/catalog/built-in-sources.ts'
import { Items } from '../core/catalog/items.ts'
import { Definitions } from '../core/definitions/definitions.ts'
import { LogIntake } from '../core/intake/log-intake.ts'
import { readAlert } from '../features/alerts/alert.ts'
import { alerts as alertForm } from '../features/alerts/alert-kind.ts'
import { alertTests } from '../features/alerts/alert-tests.ts'
import { Evaluator } from '../features/alerts/evaluator.ts'
import { mailerOf } from '../features/alerts/mailer.ts'
import { webhookSecrets } from '../features/alerts/secrets.ts'
import { Audit } from '../features/audit/audit.ts'
import { Links } from '../features/dashboards/links.ts'
import { LogSearch } from '../features/logs/log-search.ts'
import { SavedSearches } from '../features/logs/saved-searches.ts'
import { Oidc, type OidcSettings } from '../features/people/oidc.ts'
import { People } from '../features/people/people.ts'
import { sourceInfo } from '../features/sources/source-info.ts'
import { sourceUsage } from '../features/sources/source-usage.ts'
import { Metrics, RequestCounts } from '../features/statistics/metrics.ts'
import { RequestStatistics } from '../features/statistics/request-statistics.ts'
import { traceExporters } from '../features/statistics/trace-exporters.ts'
import { kinds } from '../kinds.ts'
import { createEndpoints } from './create-endpoints.ts'
import { appendTo, maxPendingLogBytes, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

const maxUnstoredRequests = 20_000

export type Parts = Awaited<ReturnType<typeof createParts>>

/** All parts but the HTTP server, each after those that it needs. Nothing runs or is read yet. */
export async function createParts(options: ServiceOptions, storage: Storage, adminToken: string) {
  const { settings, time, log } = options
  const clock = time.wall
  const { engine, catalog, sources, tables, projects } = storage

  const statistics = settings.statistics
    ? new RequestStatistics({
        store: appendTo(callsSource, storage),
        time,
        maxEntries: maxUnstoredRequests,
        log,
      })
    : undefined
  const metrics = new Metrics({
    endpoint: (name) => storage.endpoints.named(name) !== undefined,
    source: (name) => sources.named(name)?.name === name,
  })
  const endpoints = createEndpoints(options, storage, metrics)

  const access = new Access(adminToken, clock, settings.authFailuresPerMinute, projects.limitsOf)
  const links = new Links({ catalog, access, clock, maxDays: settings.linkDays })
  const people = new People({ catalog, access, links, customerScopes: settings.oidcCustomerScopes })
  const tokens = new TokenAdmin({ access, holders: [(id) => people.find(id)], catalog, engine, clock, log })
  const audit = new Audit({
    catalog,
    engine,
    clock,
    log,
    after: time.after,
    dataDir: settings.dataDir,
    actorOf: (id) => tokens.actorOf(id),
    store: appendTo(auditSource, storage),
    retentionDays: () => sources.get(auditSource).retention_days,
  })
  // The issuer needs the other settings, which are checked together.
  const oidcSettings = { ...settings, oidcRoles: settings.oidcRoles ?? [] } as OidcSettings

  const alertParts = {
    alerts: new Items(catalog, alertForm, readAlert),
    engine,
    catalog,
    endpoints: storage.endpoints,
    calls: endpoints.calls,
    engineSlots: endpoints.queue.maxRunning,
    time,
    log,
    secrets: webhookSecrets(settings.dataDir, settings.alertKey),
    rules: { allowedHosts: settings.alertHosts ?? [] },
    mailer: mailerOf(settings.smtpUrl, settings.smtpFrom),
    publicUrl: settings.publicUrl,
    storeEvents: appendTo(alertsSource, storage),
    onEvaluated: metrics.evaluated.bind(metrics),
  }
  const evaluator = new Evaluator(alertParts)

  const kindParts = {
    ...storage,
    readable: endpoints.readable,
    warningsOf: endpoints.warningsOf,
    alertParts,
    evaluator,
    tableColumns: tables,
    plans: projects.definitions,
    projectPlans: projects.plans,
    endLinks: (dashboard: string, by: Author) => links.deleteOf(dashboard, by),
  }
  const definitions = new Definitions({
    catalog,
    clock,
    nameOf: (id) => tokens.actorOf(id).name || null,
    kinds: kinds.map((kind) => ({ ...kind, ...kind.open(kindParts) })),
  })

  const logParts = { ...storage, clock }
  const search = new LogSearch({
    ...logParts,
    maxMemoryBytes: Math.floor(settings.engineMemory / 2),
    inTurn: (turn, work) => endpoints.runner.inTurn(turn, work),
    threads: () => endpoints.runner.searchThreads,
  })
  const intake = new LogIntake({
    ...logParts,
    observer: metrics,
    maxBodyBytes: maxPendingLogBytes,
    maxReaders: Math.min(2, availableParallelism()),
  })
  return {
    ...storage,
    ...endpoints,
    statistics,
    metrics,
    requests: new RequestCounts(),
    tracing: await startTracing(options),
    access,
    links,
    people,
    tokens,
    audit,
    /** Undefined: people sign in with tokens only. */
    oidc:
      settings.oidcIssuer === undefined
        ? undefined
        : new Oidc({ settings: oidcSettings, secret: adminToken, clock, log }),
    evaluator,
    alerts: alertParts.alerts,
    alertTests: alertTests(alertParts, evaluator),
    definitions,
    search,
    intake,
    sourceInfo: sourceInfo(logParts),
    searches: new SavedSearches(catalog, sources),
    usage: sourceUsage({ ...logParts, reserveBytes: settings.diskReserve }),
  }
}

/** Does not load OpenTelemetry's SDK unless traces are enabled. */
async function startTracing({ environment, log }: ServiceOptions): Promise<Tracing | undefined> {
  const exporters = traceExporters(environment)
  if (exporters.length === 0) return undefined
  const tracing = await import('../features/statistics/otel-tracing.ts')
  return tracing.startTracing(exporters, log)
}
