import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { builtInSourcesOf } from './built-in-sources.ts'
import { loadAdminToken } from './core/access/admin-token.ts'
import { listErrors } from './core/base/errors.ts'
import { prepareDataDirectory } from './core/base/files/data-directory.ts'
import type { Log } from './core/base/log.ts'
import { OperatorError } from './core/base/operator-error.ts'
import { packageFile } from './core/base/package-file.ts'
import { refuseNewerData, writeDataVersion } from './core/catalog/data-version.ts'
import { readDefinitions } from './core/endpoints/definition/definition-file.ts'
import { requireIsolation } from './core/engine/server-engine.ts'
import { tagsOf } from './core/http/openapi/tags.ts'
import type { Phase } from './core/http/phase.ts'
import { addTokenRoutes } from './core/http/routes/access/tokens.ts'
import { addWhoamiRoutes } from './core/http/routes/access/whoami.ts'
import { addDeploymentRoutes } from './core/http/routes/deployments.ts'
import { addDraftRoutes } from './core/http/routes/drafts.ts'
import { addEndpointRoutes } from './core/http/routes/endpoints.ts'
import { addKindRoutes } from './core/http/routes/kind-routes.ts'
import { addLogRoutes } from './core/http/routes/logs/logs.ts'
import { addOtlpRoutes } from './core/http/routes/logs/otlp.ts'
import { addQueryRoutes } from './core/http/routes/query.ts'
import { createServer } from './core/http/server.ts'
import { type Core, createCore, followChanges, type ServiceOptions } from './core.ts'
import type { Feature, OpenFeature } from './feature.ts'
import { features as allFeatures } from './features.ts'
import { ownTablesOf } from './own-tables.ts'

export type Service = Awaited<ReturnType<typeof startService>>

/** When the service stops, requests still running after this time are cut off. */
const finishWithinMs = 30_000

/** Connections that may wait to be accepted, for many clients that connect at once. */
const backlog = 4096

/** Starts a service. Data of features that are not in the list stays as it is. */
export async function startService(
  options: ServiceOptions,
  { features = allFeatures }: { features?: readonly Feature[] } = {},
) {
  const { settings, log } = options
  prepareDataDirectory(settings.dataDir)
  if (settings.clickhouseUrl === undefined) refuseNewerData(settings.dataDir)
  const adminToken = loadAdminToken(settings.dataDir, settings.adminToken)
  let phase: Phase = 'starting'

  const { core, opened, server, opening } = await openService(options, adminToken.token, () => phase, {
    startsEngine: true,
    features,
  })
  const { engine, catalog, sources, tokens, shared } = core
  const each = async (step: 'prepare' | 'load' | 'start') => {
    for (const [name, feature] of opened) await named(name, () => feature[step]?.())
  }

  /** Closed from the end, after a failed start as well: each part needs those before it. */
  const closers = [
    () => engine.close(),
    () => tokens.stop(),
    () => catalog.stop(),
    ...[...opened.values()].map((feature) => () => feature.stop?.()),
    () => core.intake.stop(),
    () => core.cache.stop(),
    () => core.warmKeys.stop(),
    () => closeServer(server),
    () => core.streams.stop(),
  ]
  const close = () => closeInReverse(closers, log)

  try {
    // The port comes first, so that a busy one is reported.
    // For `localhost` the framework would open a second server, without the limits of the first.
    const host = settings.host === 'localhost' ? '127.0.0.1' : settings.host
    await server.listen({ host, port: settings.port, backlog })
    const shipped = options.shipped ?? readDefinitions(packageFile('shipped/endpoints'))
    await opening
    await each('prepare')
    await catalog.open(core.hooks.keepDefinitions)
    if (!shared) writeDataVersion(settings.dataDir)
    await sources.open()
    await each('load')
    const seeded = core.definitions.seed('endpoints', shipped, (endpoint, reason) =>
      log.warn({ endpoint, reason }, 'a shipped endpoint is skipped'),
    )
    await Promise.all([tokens.open(), seeded])
    await each('start')
    adminToken.keep()
    phase = 'open'
  } catch (error) {
    await close()
    throw error
  }
  void prewarm(core)

  let stopped: Promise<void> | undefined
  return {
    http: server,
    engine,
    adminToken,
    core,
    url: urlOf(server),
    /** Accepts no further requests, finishes the running ones, and closes the engine. */
    stop() {
      phase = 'stopping'
      stopped ??= close()
      return stopped
    },
  }
}

/** Opens all features, and adds all routes. Nothing is read or stored yet. */
export async function openService(
  options: ServiceOptions,
  adminSecret: string,
  phase: () => Phase,
  {
    startsEngine = false,
    features = allFeatures,
  }: { startsEngine?: boolean; features?: readonly Feature[] } = {},
) {
  const opened = new Map<string, OpenFeature>()
  const core = createCore(options, {
    adminSecret,
    phase,
    features: features.map(({ name }) => name),
    builtInSources: builtInSourcesOf(features),
    tables: await ownTablesOf(features),
    feature<Opened>({ name }: { name: string }): Opened {
      const feature = opened.get(name)
      if (!feature) throw new Error(`The feature ${name} is not open. It must stand earlier in the list.`)
      return feature as Opened
    },
    tools: () => [...opened.values()].flatMap(({ tools = [] }) => tools),
  })
  // The engine starts while the features open.
  const opening = startsEngine ? core.engine.start() : Promise.resolve()
  opening.catch(() => {})
  try {
    for (const { name, open } of features) {
      if (!open) continue
      await named(name, async () => {
        const feature = await open(core)
        opened.set(name, feature)
        for (const kind of feature.kinds ?? []) core.definitions.add(kind)
      })
    }
    followChanges(core)
    const server = createServerOf(core, features)
    for (const [name, feature] of opened) await named(name, () => feature.routes?.(server))
    return { core, opened, server, opening }
  } catch (error) {
    const stops = [...opened.values()].map((feature) => () => feature.stop?.())
    await closeInReverse(startsEngine ? [() => core.engine.close(), ...stops] : stops, options.log)
    throw error
  }
}

function createServerOf(core: Core, features: readonly Feature[]): FastifyInstance {
  const { settings, engine, log, access, cookies, recorder, unread, hot, phase, hooks } = core
  const { definitions, endpoints, calls, drafts, intake, tokens } = core
  const server = createServer({
    ...{ log, access, cookies, recorder, unread, hot, phase },
    requireIsolation: () => requireIsolation(engine),
    corsOrigins: settings.corsOrigins ?? [],
    maxStreams: settings.liveStreams,
    rewriteUrl: hooks.rewriteUrl,
  })
  const apiTags = features.flatMap((feature) => feature.apiTags ?? [])
  server.tags.push(...tagsOf(definitions.kinds, apiTags))
  server.errorCodes.push(...listErrors(features.flatMap(({ errors = [] }) => errors)))
  addQueryRoutes(server, { endpoints, calls, hot, hooks })
  addKindRoutes(server, { definitions, kinds: definitions.kinds })
  addLogRoutes(server, { intake })
  addOtlpRoutes(server, { intake })
  addEndpointRoutes(server, { definitions, endpoints, calls })
  addDeploymentRoutes(server, { definitions, kinds: definitions.kinds })
  addTokenRoutes(server, { tokens })
  addWhoamiRoutes(server, { endpoints, tokens, callerDetails: hooks.callerDetails })
  addDraftRoutes(server, { drafts })
  return server
}

/** Errors of a feature name it, unless they are for operators. */
async function named<T>(feature: string, step: () => Promise<T> | T): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw inFeature(feature, error)
  }
}

function inFeature(feature: string, error: unknown): unknown {
  const isExplained =
    error instanceof OperatorError || (error as NodeJS.ErrnoException | undefined)?.syscall !== undefined
  if (error instanceof Error && !isExplained) error.message = `${feature}: ${error.message}`
  return error
}

/** Each part needs those before it. One that cannot be closed does not stop the others. */
async function closeInReverse(closers: readonly (() => unknown)[], log: Log): Promise<void> {
  for (const closer of closers.toReversed()) {
    try {
      await closer()
    } catch (error) {
      log.error({ err: error }, 'closing a part failed')
    }
  }
}

/** Computes the results that were used before a restart, while requests are served already. */
async function prewarm({ warmKeys, calls }: Core): Promise<void> {
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
