import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { loadAdminToken } from './access/admin-token.ts'
import { alertKind } from './alerts/alert-kind.ts'
import { alertTests } from './alerts/alert-tests.ts'
import { Evaluator } from './alerts/evaluator.ts'
import { webhookSecrets } from './alerts/secrets.ts'
import { createDefinitions } from './app/create-definitions.ts'
import { createEndpoints, type EndpointParts } from './app/create-endpoints.ts'
import { createHttp, type Phase } from './app/create-http.ts'
import { createObservability } from './app/create-observability.ts'
import { appendTo, createStorage, type Storage } from './app/create-storage.ts'
import type { ServiceOptions } from './app/service-options.ts'
import { prepareDataDirectory } from './base/files/data-directory.ts'
import { packageFile } from './base/package-file.ts'
import { alertsSource } from './catalog/built-in-sources.ts'
import { readDashboard } from './dashboards/dashboard.ts'
import { SavedItems } from './definitions/saved-items.ts'
import { readDefinitions } from './endpoints/definition/definition-file.ts'
import type { Metrics } from './observability/metrics.ts'

export type Service = Awaited<ReturnType<typeof startService>>

/** When the service stops, requests still running after this time are cut off. */
const finishWithinMs = 30_000

/** Connections that may wait to be accepted, for many clients that connect at once. */
const backlog = 4096

export async function startService(options: ServiceOptions) {
  const { settings } = options
  prepareDataDirectory(settings.dataDir)
  const adminToken = loadAdminToken(settings.dataDir, settings.adminToken)
  let phase: Phase = 'starting'

  const storage = createStorage(options, (source, isReplaced) => {
    if (isReplaced) parts.dropReaders(source)
    observability.metrics.namesChanged()
  })
  // The engine opens while the other parts are created.
  const opening = storage.engine.start()
  opening.catch(() => {})
  const parts = createEndpoints(options, storage, (purpose, ms) => observability.metrics.ran(purpose, ms))
  const observability = await createObservability(options, storage, parts, {
    intake: () => http.intake,
    liveStreams: () => http.streams.size,
    alerts: () => alerts.figures(),
  })
  const alerts = createAlerts(options, storage, parts, observability.metrics)
  const dashboards = new SavedItems(storage.catalog, 'dashboard', readDashboard)
  const definitions = createDefinitions(
    options,
    storage,
    parts,
    alerts.kind,
    { saved: dashboards, removed: (id, by) => http.links.deleteOf(id, by) },
    (id) => http.actorOf(id).name || null,
  )
  const manage = { definitions, dashboards, alertTests: alerts.tests }
  const http = createHttp(options, storage, parts, manage, observability, {
    adminToken: adminToken.token,
    phase: () => phase,
  })
  const { engine, backups, catalog, sources } = storage
  const logflare = await createLogflare(options, storage, parts, http)
  const { server, tokens, streams, intake, audit } = http

  /** Closed from the end, after a failed start as well: each part needs those before it. */
  const closers = [
    () => observability.stop(),
    () => engine.close(),
    () => tokens.stop(),
    () => catalog.stop(),
    () => observability.settled(),
    () => backups.stop(),
    () => intake.stop(),
    () => alerts.stop(),
    () => parts.cache.stop(),
    () => parts.warmKeys.stop(),
    () => closeServer(server),
    () => streams.stop(),
  ]
  const close = async () => {
    for (const closer of closers.toReversed()) {
      try {
        await closer()
      } catch (error) {
        options.log.error({ err: error }, 'closing a part failed')
      }
    }
  }

  try {
    // The port comes first, so that a busy one is reported.
    // For `localhost` the framework would open a second server, without the limits of the first.
    const host = settings.host === 'localhost' ? '127.0.0.1' : settings.host
    await server.listen({ host, port: settings.port, backlog })
    const shipped = options.shipped ?? readDefinitions(packageFile('shipped/endpoints'))
    await opening
    await backups.open()
    await catalog.open()
    await sources.open()
    const seeded = definitions.seed('endpoints', shipped, (endpoint, reason) =>
      options.log.warn({ endpoint, reason }, 'a shipped endpoint is skipped'),
    )
    await Promise.all([tokens.open(), seeded, logflare?.open()])
    await audit.open()
    adminToken.keep()
    phase = 'open'
    alerts.start()
  } catch (error) {
    await close()
    throw error
  }
  void prewarm(parts)

  let stopped: Promise<void> | undefined
  return {
    http: server,
    engine,
    adminToken,
    /** Undefined if requests are not recorded. */
    statistics: observability.statistics,
    url: urlOf(server),
    /** Accepts no further requests, finishes the running ones, and closes the engine. */
    stop() {
      phase = 'stopping'
      stopped ??= close()
      return stopped
    },
  }
}

/** Loaded only if it is switched on, so that nothing else pays for it. */
async function createLogflare(
  { environment }: ServiceOptions,
  { engine, sources }: ReturnType<typeof createStorage>,
  { calls, runner }: ReturnType<typeof createEndpoints>,
  { server, access }: ReturnType<typeof createHttp>,
) {
  const token = environment.LOGFLARE_PRIVATE_ACCESS_TOKEN
  if (!token) return undefined
  const { createGateway } = await import('./logflare/gateway.ts')
  const tokens = { private: token, public: environment.LOGFLARE_PUBLIC_ACCESS_TOKEN }
  return createGateway({ server, access, tokens, engine, sources, calls, runner })
}

/** Computes the results that were used before a restart, while requests are served already. */
async function prewarm({ warmKeys, calls }: ReturnType<typeof createEndpoints>): Promise<void> {
  await calls.prewarm(await warmKeys.load())
  // Until now the file held more keys than the cache.
  warmKeys.start()
}

async function closeServer(server: FastifyInstance): Promise<void> {
  const deadline = setTimeout(() => server.server.closeAllConnections(), finishWithinMs)
  await server.close()
  clearTimeout(deadline)
}

function urlOf(server: FastifyInstance): string {
  const { address, port, family } = server.server.address() as AddressInfo
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address
  return `http://${family === 'IPv6' && host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Alerts on endpoints, their evaluation and their notifications. */
export function createAlerts(
  { settings, time, log }: ServiceOptions,
  storage: Storage,
  { endpoints, calls, queue }: EndpointParts,
  metrics: Metrics,
) {
  const { engine, catalog } = storage
  const parts = {
    ...{ engine, catalog, endpoints, calls, engineSlots: queue.maxRunning, time, log },
    secrets: webhookSecrets(settings.dataDir, settings.alertKey),
    rules: { allowedHosts: settings.alertHosts ?? [] },
    storeEvents: appendTo(alertsSource, storage),
    onEvaluated: metrics.evaluated.bind(metrics),
  }
  const evaluator = new Evaluator(parts)
  return {
    kind: alertKind(parts, evaluator),
    tests: alertTests(parts, evaluator),
    figures: () => ({ states: evaluator.counts(), deliveries: evaluator.deliveries.counts }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
