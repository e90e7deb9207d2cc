import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { followChanges } from './app/after-changes.ts'
import { createHttp, type Http } from './app/create-http.ts'
import { createParts, type Parts } from './app/create-parts.ts'
import { createStorage } from './app/create-storage.ts'
import type { ServiceOptions } from './app/service-options.ts'
import { loadAdminToken } from './core/access/admin-token.ts'
import { prepareDataDirectory } from './core/base/files/data-directory.ts'
import { droppedLinesOf } from './core/base/log.ts'
import { packageFile, version } from './core/base/package-file.ts'
import { refuseNewerData, writeDataVersion } from './core/catalog/data-version.ts'
import { readDefinitions } from './core/endpoints/definition/definition-file.ts'
import type { Phase } from './core/http/phase.ts'
import { addFigures, sourceStorage } from './features/statistics/figures.ts'
import { gatewayTokens } from './features/supabase/rewrite-url.ts'

export type Service = Awaited<ReturnType<typeof startService>>

/** When the service stops, requests still running after this time are cut off. */
const finishWithinMs = 30_000

/** Connections that may wait to be accepted, for many clients that connect at once. */
const backlog = 4096

export async function startService(options: ServiceOptions) {
  const { settings } = options
  prepareDataDirectory(settings.dataDir)
  if (settings.clickhouseUrl === undefined) refuseNewerData(settings.dataDir)
  const adminToken = loadAdminToken(settings.dataDir, settings.adminToken)
  let phase: Phase = 'starting'

  const storage = createStorage(options)
  const { engine, backups, catalog, sources, projects } = storage
  // The engine opens while the other parts are created.
  const opening = engine.start()
  opening.catch(() => {})
  const parts = await createParts(options, storage, adminToken.token)
  const { evaluator, statistics, tokens, audit, cache, warmKeys } = parts
  const http = createHttp(options, parts, () => phase)
  followChanges(parts, http)
  readFigures(options, parts, http)
  const logflare = await createLogflare(options, parts, http.server)

  /** Closed from the end, after a failed start as well: each part needs those before it. */
  const closers = [
    () => parts.tracing?.stop(),
    () => engine.close(),
    () => tokens.stop(),
    () => catalog.stop(),
    () => storage.sourceRetention.stop(),
    () => projects.usage.stop(),
    // Stores the last records, so the engine must still be running.
    () => statistics?.stop(),
    () => projects.stop(),
    () => backups.stop(),
    () => parts.intake.stop(),
    () => evaluator.stop(),
    () => cache.stop(),
    () => warmKeys.stop(),
    () => audit.stop(),
    () => closeServer(http.server),
    () => http.streams.stop(),
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
    await http.server.listen({ host, port: settings.port, backlog })
    const shipped = options.shipped ?? readDefinitions(packageFile('shipped/endpoints'))
    await opening
    await backups.open()
    await catalog.open(storage.shared ? undefined : (schema) => backups.keepDefinitions(schema))
    if (!storage.shared) writeDataVersion(settings.dataDir)
    await sources.open()
    await storage.sourceRetention.open()
    await storage.tables.open()
    await projects.open()
    const seeded = parts.definitions.seed('endpoints', shipped, (endpoint, reason) =>
      options.log.warn({ endpoint, reason }, 'a shipped endpoint is skipped'),
    )
    await Promise.all([tokens.open(), seeded, logflare?.open()])
    await audit.open()
    adminToken.keep()
    phase = 'open'
    evaluator.start()
  } catch (error) {
    await close()
    throw error
  }
  void prewarm(parts)

  let stopped: Promise<void> | undefined
  return {
    http: http.server,
    engine,
    adminToken,
    /** Undefined if requests are not recorded. */
    statistics,
    url: urlOf(http.server),
    /** Accepts no further requests, finishes the running ones, and closes the engine. */
    stop() {
      phase = 'stopping'
      stopped ??= close()
      return stopped
    },
  }
}

/** Metrics that are read from the parts of the service. */
function readFigures({ time, log }: ServiceOptions, parts: Parts, { streams }: Http): void {
  const { metrics, evaluator } = parts
  addFigures(metrics, {
    ...parts,
    version,
    streams,
    engine: parts.engineStatus,
    alerts: () => ({ states: evaluator.counts(), deliveries: evaluator.deliveries.counts }),
    projects: parts.projects.usage,
    droppedLogLines: () => droppedLinesOf(log),
    storage: sourceStorage(parts.engine, time, parts.sources),
    freeDiskBytes: parts.freeBytes,
  })
}

/** Loaded only if it is switched on, so that nothing else pays for it. */
async function createLogflare({ environment }: ServiceOptions, parts: Parts, server: FastifyInstance) {
  const tokens = gatewayTokens(environment)
  if (!tokens) return undefined
  const { createGateway } = await import('./features/supabase/gateway.ts')
  const { access, engine, sources, calls, runner } = parts
  return createGateway({ server, access, tokens, engine, sources, calls, runner })
}

/** Computes the results that were used before a restart, while requests are served already. */
async function prewarm({ warmKeys, calls }: Parts): Promise<void> {
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
