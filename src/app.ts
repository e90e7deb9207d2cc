import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Access } from './access/access.ts'
import { type AdminToken, loadAdminToken } from './access/admin-token.ts'
import { FailedAttempts } from './access/failed-attempts.ts'
import { TokenAdmin } from './access/token-admin.ts'
import { Backups } from './backup/backups.ts'
import { type Clock, systemTime, type Timers } from './base/clock.ts'
import { freeBelow, prepareDataDirectory } from './base/data-directory.ts'
import { WellheadError } from './base/errors.ts'
import type { Log } from './base/log.ts'
import type { Settings } from './base/settings.ts'
import { HotKeysFile } from './cache/hot-keys-file.ts'
import { ResultCache } from './cache/result-cache.ts'
import { Arrivals } from './catalog/arrivals.ts'
import { Catalog } from './catalog/catalog.ts'
import { Sources } from './catalog/sources.ts'
import { EndpointCalls } from './endpoints/call/endpoint-calls.ts'
import { EndpointRunner } from './endpoints/call/endpoint-runner.ts'
import { QueryQueue } from './endpoints/call/query-queue.ts'
import { Sandboxes } from './endpoints/call/sandboxes.ts'
import type { EndpointDefinition } from './endpoints/definition/definition.ts'
import { readDefinitions } from './endpoints/definition/definition-file.ts'
import { Deployments } from './endpoints/manage/deployments.ts'
import { EndpointAdmin } from './endpoints/manage/endpoint-admin.ts'
import { EndpointDrafts } from './endpoints/manage/endpoint-drafts.ts'
import { Endpoints } from './endpoints/manage/endpoints.ts'
import { EmbeddedEngine } from './engine/embedded-engine.ts'
import type { Engine } from './engine/engine.ts'
import { RemoteEngine } from './engine/remote-engine.ts'
import { readConsoleFiles } from './http/routes/console.ts'
import type { EngineStatus } from './http/routes/status.ts'
import { createServer } from './http/server.ts'
import { EventStreams } from './http/streams/event-streams.ts'
import { DiskGuard } from './intake/disk-guard.ts'
import { IdempotencyKeys } from './intake/idempotency.ts'
import { LogIntake } from './intake/log-intake.ts'
import { LiveResults } from './live/live-results.ts'
import { LiveTail } from './live/live-tail.ts'
import type { CallStatistics } from './observability/call-statistics.ts'
import { type Observing, startObserving } from './observability/observing.ts'
import { LogSearch } from './sources/log-search.ts'
import { SourceAdmin } from './sources/source-admin.ts'
import { SourceUsage } from './sources/source-usage.ts'

export interface ServiceOptions {
  settings: Settings
  clock: Clock
  /** The time that cached results age by; made from the clock where none is given. */
  time?: Timers
  log: Log
  /** Node executable of the engine process where the settings name none. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  /** Endpoints that are put in at the first start; those of the package where nothing is said. */
  shipped?: readonly EndpointDefinition[]
}

export interface Service {
  http: FastifyInstance
  engine: Engine
  adminToken: AdminToken
  /** Undefined where calls are not written down. */
  statistics: CallStatistics | undefined
  /** Address that it listens on, as a base of URLs. */
  url: string
  /** Takes nothing new, finishes what runs, closes the engine. */
  stop(): Promise<void>
}

/** Requests that are not answered so long after the word to stop are cut. */
const finishWithinMs = 30_000

/** Logs that wait to be stored take at most this much memory. */
const maxPendingLogBytes = 256 * 2 ** 20

const beginningOfTime = -(2n ** 62n)

/** Callers who want a new result and ask within so long of each other share one. */
const gatherFreshCallsMs = 2

/** Client addresses whose failed authentications are counted at once. */
const maxFailingAddresses = 10_000

/** So many texts of callers, checked, are remembered. */
const maxKnownSandboxes = 1000

/** Bounds of what is sent by itself: the newest entries of sources that are read, what is on its way to a reader, results. */
const live = { ringBytes: 64 * 2 ** 20, readerBytes: 512 * 2 ** 10, resultBytes: 64 * 2 ** 20 }

/** A backup whose reader takes nothing for so long is given up. */
const backupStalledAfterMs = 300_000

/** Makes every part and gives each what it needs. Reading this is reading the architecture. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { settings, log, clock } = options
  prepareDataDirectory(settings.dataDir)
  const shipped =
    options.shipped ?? readDefinitions(fileURLToPath(new URL('../shipped/endpoints', import.meta.url)))
  const adminToken = loadAdminToken(settings.dataDir, settings.adminToken)
  const time = options.time ?? systemTime(clock)
  const engine = createEngine(options, time)
  const shared = settings.clickhouseUrl !== undefined
  const arrivals = new Arrivals()
  const catalog = new Catalog({
    engine,
    clock,
    log,
    topology: { cluster: settings.clickhouseCluster },
    shared,
  })
  const failedAttempts = new FailedAttempts({
    perMinute: settings.authFailuresPerMinute,
    maxAddresses: maxFailingAddresses,
  })
  const access = new Access(adminToken.token, clock, failedAttempts)
  const tokens = new TokenAdmin({ access, catalog, engine, clock, log })
  // A source that is made or deleted changes everything that was read from it.
  const sources = new Sources(catalog, clock, (name) => {
    arrivals.note(name, beginningOfTime)
    if (!sources.find(name)) tail.close(name)
    observing.metrics.namesChanged()
  })
  const tail = new LiveTail({ time, maxRingBytes: live.ringBytes, maxPendingBytes: live.readerBytes })
  const keys = new IdempotencyKeys(engine, clock)
  const disk = new DiskGuard({
    freeBytes: () => freeBytes(settings),
    reserveBytes: settings.diskReserve,
    clock,
  })
  const observing: Observing = await startObserving({
    recording: settings.statistics,
    engine,
    sources,
    disk,
    arrivals,
    tail,
    clock,
    after: systemTime(clock).after,
    log,
    environment: options.environment,
    figures: {
      cache: () => ({ ...cache.figures, maxBytes: settings.cacheMemory }),
      queue: () => queue,
      engine: () => statusOf(engine),
      intake: () => intake,
      liveStreams: () => streams.size,
      freeDiskBytes: () => freeBytes(settings),
      exists: {
        endpoint: (name) => endpoints.findByName(name) !== undefined,
        source: (name) => sources.find(name)?.name === name,
      },
    },
  })
  const intake: LogIntake = new LogIntake({
    engine,
    sources,
    keys,
    disk,
    observer: observing.metrics,
    clock,
    arrivals,
    tail,
    maxPendingBytes: maxPendingLogBytes,
    maxReaders: Math.min(2, availableParallelism()),
  })
  const endpoints: Endpoints = new Endpoints(catalog, () => sources.readable())
  const endpointAdmin = new EndpointAdmin({
    engine,
    catalog,
    endpoints,
    sources: () => sources.readable(),
    clock,
    log,
  })
  const queue: QueryQueue = new QueryQueue({
    maxRunning: availableParallelism() * 2,
    maxWaitingPerCaller: 1000,
    maxWaiting: 5000,
    maxWaitMs: 2_000 * settings.enginePatience,
    maxBackgroundWaitMs: 10_000 * settings.enginePatience,
    time: systemTime(clock),
  })
  const runner = new EndpointRunner({
    engine,
    queue,
    clock,
    maxMemoryBytes: Math.floor(settings.engineMemory / 2),
    maxThreads: Math.max(1, availableParallelism() >> 1),
    sources: () => sources.names(),
    onRun: (purpose, ms) => observing.metrics.ran(purpose, ms),
  })
  const cache: ResultCache = new ResultCache({
    time,
    maxBytes: settings.cacheMemory,
    // At least two: one that is broken must not keep the others from being renewed.
    maxRefreshes: Math.max(2, availableParallelism() >> 1),
    busy: () => queue.waiting > 0,
    gatherMs: gatherFreshCallsMs,
    onStored: (key) => results.stored(key),
    onFailure: ({ group, error, times }) =>
      log.warn(
        // The engine's own words would hold values of the call.
        { endpoint: group, code: error instanceof WellheadError ? error.code : 'internal', times },
        'a cached result could not be renewed',
      ),
  })
  endpoints.onChange((id) => cache.drop(id))
  endpoints.onChange(() => observing.metrics.namesChanged())
  const calls = new EndpointCalls({
    runner,
    cache,
    endpoints,
    sandboxes: new Sandboxes(engine, maxKnownSandboxes),
    clock,
    arrivals: shared ? undefined : arrivals,
  })
  const results = new LiveResults({
    time,
    arrivals: shared ? undefined : arrivals,
    maxBytes: live.resultBytes,
    onFailure: ({ endpoint, error }) =>
      log.warn(
        { endpoint, code: error instanceof WellheadError ? error.code : 'internal' },
        'a followed result could not be had',
      ),
  })
  endpoints.onChange((id) => results.drop(id))
  const streams: EventStreams = new EventStreams({
    access,
    time,
    maxStreams: settings.liveStreams,
  })
  const hotKeys = new HotKeysFile({
    path: join(settings.dataDir, 'hot-keys.json'),
    time,
    everyMs: 10_000,
    maxKeys: 2_000,
    maxBytes: 4 * 2 ** 20,
    read: (limit) => cache.hotKeys(limit),
    onFailure: (error) => log.warn({ err: error }, 'which results were hot could not be kept'),
  })
  const backups = new Backups({
    engine,
    catalog,
    clock,
    log,
    dataDir: shared ? undefined : settings.dataDir,
    stalledAfterMs: backupStalledAfterMs,
  })
  let stopping = false
  let open = false
  const http = createServer({
    log,
    access,
    engineStatus: () => statusOf(engine),
    stopping: () => stopping,
    open: () => open,
    maxStreams: settings.liveStreams,
    corsOrigins: settings.corsOrigins,
    intake,
    sources: new SourceAdmin({
      engine,
      sources,
      readersOf: (source, column) => endpoints.readersOf(source, column),
    }),
    tail,
    streams,
    queries: { endpoints, calls, results },
    endpoints: endpointAdmin,
    deployments: new Deployments({ engine, catalog, endpoints, sources: () => sources.readable(), clock }),
    drafts: new EndpointDrafts({ engine, runner, sources: () => sources.readable() }),
    search: new LogSearch({ engine, sources, clock, maxMemoryBytes: Math.floor(settings.engineMemory / 2) }),
    usage: new SourceUsage({
      engine,
      sources,
      clock,
      freeBytes: () => freeBytes(settings),
      reserveBytes: settings.diskReserve,
    }),
    console: readConsoleFiles(fileURLToPath(new URL('../dist/console', import.meta.url))),
    tokens,
    backups,
    observability: { ...observing, openMetrics: settings.metrics === 'open' },
  })
  try {
    // The port is taken first: a busy one is told before an engine is started for nothing. The backlog is for callers who
    // come all at once.
    await http.listen({ host: oneAddress(settings.host), port: settings.port, backlog: 4096 })
    await engine.start()
    await backups.open()
    await catalog.open()
    await sources.open()
    await Promise.all([keys.open(), tokens.open(), endpointAdmin.seed(shipped)])
    adminToken.keep()
    open = true
    // What was hot is warmed while others are served already.
    void hotKeys.load().then(async (hot) => {
      await calls.prewarm(hot)
      // Not before: until then the file has more than the cache.
      hotKeys.start()
    })
  } catch (error) {
    await http.close()
    await catalog.stop()
    await engine.close()
    await observing.stop()
    throw error
  }
  let stopped: Promise<void> | undefined
  const stop = async () => {
    stopping = true
    streams.stop()
    const impatient = setTimeout(() => http.server.closeAllConnections(), finishWithinMs)
    await http.close()
    clearTimeout(impatient)
    await hotKeys.stop()
    await cache.stop()
    await intake.stop()
    await backups.stop()
    await observing.settled()
    await catalog.stop()
    await tokens.stop()
    await engine.close()
    await observing.stop()
  }
  return {
    http,
    engine,
    adminToken,
    statistics: observing.statistics,
    url: urlOf(http),
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

function createEngine(
  { settings, log, node, environment }: ServiceOptions,
  time: Timers,
): Engine & { start(): Promise<void> } {
  if (settings.clickhouseUrl !== undefined) {
    return new RemoteEngine({
      url: settings.clickhouseUrl,
      user: settings.clickhouseUser,
      password: settings.clickhousePassword,
      cluster: settings.clickhouseCluster,
      log,
    })
  }
  return new EmbeddedEngine({
    dataDir: settings.dataDir,
    memoryBytes: settings.engineMemory,
    patience: settings.enginePatience,
    node: settings.engineNode ?? node,
    environment,
    // A clock that is set back must not make a query refused for longer.
    clock: time,
    log,
  })
}

/** The disk of a ClickHouse server is its own affair. */
function freeBytes(settings: Settings): number | undefined {
  return settings.clickhouseUrl === undefined ? freeBelow(settings.dataDir) : undefined
}

function statusOf(engine: Engine): EngineStatus {
  const state = engine.state()
  return state.kind === 'ready'
    ? { ready: true, version: state.engineVersion, restarts: state.restarts }
    : { ready: false, reason: state.reason, restarts: state.restarts }
}

function urlOf(http: FastifyInstance): string {
  const { address, port, family } = http.server.address() as AddressInfo
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address
  return `http://${family === 'IPv6' && host.includes(':') ? `[${host}]` : host}:${port}`
}

/** For this name the framework would open a second server, without the bounds of the first. */
function oneAddress(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host
}
