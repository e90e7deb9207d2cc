import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Access } from './core/access/access.ts'
import type { PlanLimits } from './core/access/caller.ts'
import { TokenAdmin } from './core/access/token-admin.ts'
import { Arrivals } from './core/base/arrivals.ts'
import type { Clock, Timers } from './core/base/clock.ts'
import { WellheadError } from './core/base/errors.ts'
import { freeBelow, freeInodesBelow } from './core/base/files/data-directory.ts'
import { dataFiles } from './core/base/files/data-files.ts'
import type { Log } from './core/base/log.ts'
import { Meters } from './core/base/meters.ts'
import { type SettingRows, type Settings, type SettingValues, settingsOf } from './core/base/settings.ts'
import { ResultCache } from './core/cache/result-cache.ts'
import { WarmKeysFile } from './core/cache/warm-keys-file.ts'
import { Catalog } from './core/catalog/catalog.ts'
import type { CatalogRecord, RecordKind } from './core/catalog/catalog-state.ts'
import { changedNames, Items } from './core/catalog/items.ts'
import type { OwnTable } from './core/catalog/own-tables.ts'
import type { NewSource } from './core/catalog/source.ts'
import { Sources } from './core/catalog/sources.ts'
import { Definitions } from './core/definitions/definitions.ts'
import { type Call, onBehalfOfAll, recipeOf, resultTag } from './core/endpoints/call/call.ts'
import { EndpointCalls } from './core/endpoints/call/endpoint-calls.ts'
import { EndpointRunner } from './core/endpoints/call/endpoint-runner.ts'
import { QueryQueue } from './core/endpoints/call/query-queue.ts'
import type { EndpointDefinition } from './core/endpoints/definition/definition.ts'
import { type EndpointDrafts, endpointDrafts } from './core/endpoints/manage/endpoint-drafts.ts'
import {
  brokenBy,
  endpoints as endpointKind,
  type TableColumns,
  withTables,
} from './core/endpoints/manage/endpoint-kind.ts'
import { endpointWarnings } from './core/endpoints/manage/endpoint-warnings.ts'
import { Endpoints } from './core/endpoints/manage/endpoints.ts'
import { serverEngine, topologyOf } from './core/engine/cluster/cluster-engine.ts'
import { checkIsolation } from './core/engine/cluster/isolation-check.ts'
import type { Topology } from './core/engine/cluster/topology.ts'
import { checkUnused, EmbeddedEngine } from './core/engine/embedded-engine.ts'
import { type ErasedEntries, type Hooks, readsErased } from './core/hooks.ts'
import { HotCalls } from './core/http/hot-lane/hot-calls.ts'
import { UnreadResponses } from './core/http/hot-lane/unread-responses.ts'
import type { Phase } from './core/http/phase.ts'
import { RequestRecorder } from './core/http/request-recorder.ts'
import type { ServiceTool } from './core/http/service-tool.ts'
import { SessionCookies } from './core/http/session-cookies.ts'
import { EventStreams } from './core/http/streams/event-streams.ts'
import { admitAll } from './core/intake/admission.ts'
import { EntryStore } from './core/intake/entry-store.ts'
import { IdempotencyKeys } from './core/intake/idempotency.ts'
import { DiskGuard } from './core/intake/intake-limits.ts'
import { Lines } from './core/intake/lines.ts'
import { LogIntake } from './core/intake/log-intake.ts'
import { ProjectGate } from './core/intake/project-gate.ts'
import { readDefaultRules, SourceRules } from './core/intake/rules/source-rules.ts'
import { pathSamples } from './core/search/path-samples.ts'
import { type HiddenRows, hiddenByAny } from './core/sql/isolation.ts'
import type { TableColumn } from './shared/column-types.ts'

export type ServiceEngine = ReturnType<typeof createEngine>

export interface ServiceOptions {
  settings: Settings
  time: Timers
  log: Log
  /** Decides on which day usage of projects counts. By default, the wall clock. */
  usageClock?: Clock
  /** Node executable of the engine process, unless the settings name one. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  /** The engine process, if it was launched while the service was loaded. */
  launched?: ChildProcess | undefined
  /** Endpoints created at the first start; by default those of the package. */
  shipped?: readonly EndpointDefinition[]
  /** Says which rows of one tenant another can see on a ClickHouse server. */
  checkIsolation?: typeof checkIsolation
}

/** What every feature gets: the state of a service. Functions, errors and types are imported from `core` as usual. */
export interface Core {
  readonly options: ServiceOptions
  readonly settings: Settings
  /** Settings that a feature declares. */
  settingsOf<Rows extends SettingRows>(rows: Rows): SettingValues<Rows>
  readonly time: Timers
  readonly log: Log
  readonly meters: Meters
  readonly hooks: Hooks
  /** An earlier feature of the list, as it was opened. */
  feature<Opened>(feature: { readonly name: string; open?(core: Core): Promise<Opened> }): Opened
  /** Names of the features of this service. */
  readonly features: readonly string[]
  /** Tools for agents that features add. */
  tools(): readonly ServiceTool[]
  phase(): Phase

  readonly engine: ServiceEngine
  readonly topology: () => Topology
  /** Whether other services use the same ClickHouse server. */
  readonly shared: boolean
  /** Free bytes on the disk of the data directory. Undefined if the data is on a ClickHouse server. */
  readonly freeBytes: () => number | undefined
  /** Secret from which features derive their own. */
  readonly adminSecret: string

  readonly catalog: Catalog
  readonly definitions: Definitions
  /** Keeps the current definitions of a kind in memory. */
  items<Item extends { id: string; name?: string }>(
    kind: RecordKind,
    read: (record: CatalogRecord) => Item,
  ): Items<Item>
  readonly sources: Sources
  readonly rules: SourceRules
  /** Rows that nobody may see anymore. */
  readonly hidden: () => HiddenRows | undefined
  /** Drops what was computed from a source or table whose rows are others now. */
  rowsReplaced(name: string): void
  /** Drops what was computed from entries. */
  forget(erased: ErasedEntries): Promise<void>

  readonly endpoints: Endpoints
  readonly calls: EndpointCalls
  readonly cache: ResultCache<Call>
  readonly queue: QueryQueue
  readonly runner: EndpointRunner
  readonly drafts: EndpointDrafts
  /** Sources, tables and endpoints, for compiling SQL. */
  readonly readable: () => ReturnType<typeof readableOf>
  /** Names of endpoints that would fail or return other columns if a table had these columns. */
  readonly tableUsers: (table: string, columns: readonly TableColumn[]) => Promise<string[]>

  readonly access: Access
  readonly tokens: TokenAdmin

  readonly arrivals: Arrivals
  readonly disk: DiskGuard
  readonly gate: ProjectGate
  readonly keys: IdempotencyKeys
  readonly store: EntryStore
  readonly intake: LogIntake
  /** Returns a function that stores entries of the service itself, each once for its token. */
  appendTo(source: string): (lines: Buffer, token: string) => Promise<void>

  readonly streams: EventStreams
  readonly cookies: SessionCookies
  readonly recorder: RequestRecorder
  readonly unread: UnreadResponses
  readonly hot: HotCalls
  readonly warmKeys: WarmKeysFile
}

interface ServiceParts extends Pick<Core, 'adminSecret' | 'phase' | 'feature' | 'features' | 'tools'> {
  builtInSources: readonly NewSource[]
  /** Tables of core and of all features. */
  tables: readonly OwnTable[]
}

/** Requests for a new result that arrive within this time share one run. */
const gatherFreshCallsMs = 2

/** Limits of reading entries for warnings. */
const samples = { withinMs: 1_000, maxSources: 100 }

/** Limits of the file of warm keys, which a restart computes ahead of requests. */
const warmKeyLimits = { everyMs: 10_000, maxKeys: 2_000, maxBytes: 4 * 2 ** 20 }

const maxPendingLogBytes = 256 * 2 ** 20
const maxUnreadBytes = 256 * 2 ** 20

/** Creates the core of a service. Nothing runs or is read yet. */
export function createCore(
  options: ServiceOptions,
  { adminSecret, builtInSources, tables, ...service }: ServiceParts,
): Core {
  const { settings, log, time } = options
  const clock = time.wall
  const hooks = noHooks()
  const meters = new Meters()
  const engine = createEngine(options)
  const shared = settings.clickhouseUrl !== undefined
  const topology = () => topologyOf(engine)
  const freeBytes = () => (shared ? undefined : freeBelow(settings.dataDir))

  const catalog = new Catalog({ engine, clock, log, shared, topology, tables })
  const sources = new Sources(catalog, clock, builtInSources)
  const hidden = () => hiddenByAny(...hooks.hiddenRows.map((condition) => condition()))
  const readTables = () => hooks.tables.readable
  const compiled = onceFor((_revision: number, tables: TableColumns['readable']) =>
    withTables(sources.readable(), tables),
  )
  const endpoints = new Endpoints(catalog, endpointKind, () => compiled(sources.revision, readTables()))
  const sampled = pathSamples({
    engine,
    hidden,
    time,
    ...samples,
    withinMs: samples.withinMs * settings.engineTimeoutFactor,
  })
  const readable = () => readableOf(compiled(sources.revision, readTables()), sampled, endpoints)
  const limitsOf = (project: string) =>
    Object.assign({}, ...hooks.projectLimits.map((limits) => limits(project))) as PlanLimits
  const access = new Access(adminSecret, clock, settings.authFailuresPerMinute, limitsOf)

  const arrivals = new Arrivals()
  const freeInodes = () => (shared ? undefined : freeInodesBelow(settings.dataDir))
  const disk = new DiskGuard({ freeBytes, freeInodes, reserveBytes: settings.diskReserve, clock })
  const gate = new ProjectGate()
  const store = new EntryStore({
    engine,
    arrivals,
    tail: {
      publish: (source, lines) => {
        for (const stored of hooks.linesStored) stored(source, lines)
      },
    },
    disk,
    admit: (...lines) => hooks.admit(...lines),
    pending: {
      begin: (...insert) => hooks.pending?.begin(...insert),
      end: (...insert) => hooks.pending?.end(...insert),
    },
    maxPendingBytes: maxPendingLogBytes,
    // An embedded engine restarts soon. A shard that is away must not delay the entries of others.
    attempts: shared ? 2 : 30,
  })
  const keys = new IdempotencyKeys(engine, clock, {
    lastOf: (project) => hooks.erasedKeys?.lastOf(project),
    hiddenKeys: () => hooks.erasedKeys?.hiddenKeys(),
  })
  const rules = new SourceRules(readDefaultRules(settings.defaultRules))
  const intake = new LogIntake({
    ...{ store, sources, rules, keys, gate, disk, clock },
    observer: {
      stored: (report) => {
        for (const observer of hooks.intake) observer.stored(report)
      },
      refused: (code) => {
        for (const observer of hooks.intake) observer.refused(code)
      },
    },
    maxBodyBytes: maxPendingLogBytes,
    maxReaders: Math.min(2, availableParallelism()),
  })

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
    hidden,
    tables: readTables,
    onRun: (purpose, ms) => {
      for (const ran of hooks.queryRan) ran(purpose, ms)
    },
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
  const calls = new EndpointCalls({
    engine,
    runner,
    cache,
    endpoints,
    // Another service may insert into a shared server, so arrivals say nothing about it.
    arrivals: shared ? undefined : arrivals,
    retentionOf: (project) => (project === undefined ? undefined : limitsOf(project).retentionDays),
  })
  const warningsOf = endpointWarnings(readable, sampled, (error) =>
    log.warn({ err: error }, 'warnings of an endpoint could not be determined'),
  )

  const tokens = new TokenAdmin({ access, holders: hooks.holders, catalog, engine, clock, log })
  const definitions = new Definitions({
    catalog,
    clock,
    nameOf: (id) => tokens.actorOf(id).name || null,
  })
  definitions.add({
    ...endpointKind,
    ...endpointKind.open({
      ...{ engine, catalog, topology, endpoints, sources, readable, warningsOf },
      tableColumns: {
        get readable() {
          return hooks.tables.readable
        },
        columnsOf: (table) => hooks.tables.columnsOf(table),
      },
    }),
  })

  const streams = new EventStreams({ access, time, maxStreams: settings.liveStreams })
  const cookies = new SessionCookies({
    access,
    publicUrl: settings.publicUrl,
    sessionHours: settings.sessionHours,
  })
  const recorder = new RequestRecorder({
    log,
    hooks,
    endpoints,
    finished: hooks.requestFinished,
    recorded: hooks.callRecorded,
  })
  const unread = new UnreadResponses({
    maxBytes: maxUnreadBytes,
    onAborted: (readers, bytes) =>
      log.warn({ readers, bytes }, 'dropped a response that the client did not read'),
  })
  const corsOrigins = settings.corsOrigins ?? []
  const hot = new HotCalls({ access, cookies, calls, recorder, unread, corsOrigins, phase: service.phase })
  const warmKeys = new WarmKeysFile({
    path: join(settings.dataDir, dataFiles.warmKeys),
    time,
    ...warmKeyLimits,
    read: (limit) => cache.warmKeys(limit),
    onFailure: (error) => log.warn({ err: error }, 'the file of warm keys could not be read or written'),
  })
  return {
    ...{ options, settings, time, log, meters, hooks },
    settingsOf: (rows) => settingsOf(settings, rows),
    ...service,
    ...{ engine, topology, shared, freeBytes, adminSecret },
    ...{ catalog, definitions, sources, rules, hidden },
    items: (kind, read) => new Items(catalog, kind, read),
    rowsReplaced(name) {
      // Results that read a source change when it is created, changed or deleted.
      arrivals.note(name)
      // Nobody gets entries of a deleted source from a cached result, also not as those of a new source of its name.
      cache.dropReaders(name)
      for (const replaced of hooks.rowsReplaced) replaced(name)
    },
    async forget(erased) {
      cache.dropCalls(readsErased(erased))
      if (erased.everything) keys.forget(erased.project)
      for (const { forget } of hooks.erasure) await forget?.(erased)
      await warmKeys.save()
    },
    ...{ endpoints, calls, cache, queue, runner, readable },
    drafts: endpointDrafts({ engine, runner, sources: readable, clock, warningsOf }),
    tableUsers: (table, columns) => brokenBy({ engine, catalog, readable }, endpoints, table, columns),
    ...{ access, tokens, arrivals, disk, gate, keys, store, intake },
    appendTo: (source) => (lines, token) => store.append(source, Lines.of(lines), token),
    ...{ streams, cookies, recorder, unread, hot, warmKeys },
  }
}

/** Follows changes of sources and endpoints. Features follow them first, so that hidden rows are hidden before results are computed. */
export function followChanges(core: Core): void {
  const { sources, endpoints, arrivals, cache, streams, hot } = core
  sources.follow((changes) => {
    for (const { before, after, item } of changes) {
      const isReplaced = !before || !after || before.retention_days !== after.retention_days
      if (isReplaced) core.rowsReplaced(item.name)
      else arrivals.note(item.name)
    }
    // Tenants no longer follow a source that is not published anymore.
    streams.check()
  })
  sources.followDrops((name) => core.rowsReplaced(name))
  endpoints.follow((changes) => {
    for (const { id } of endpoints.readersOf(changedNames(changes))) cache.drop(id)
    for (const { id, before, after } of changes) {
      const isSameResult = before && after && resultTag(before) === resultTag(after)
      if (!isSameResult) cache.drop(id)
    }
    hot.clear()
  })
}

function noHooks(): Hooks {
  return {
    hiddenRows: [],
    tables: { readable: new Map(), columnsOf: () => [] },
    rowsReplaced: [],
    linesStored: [],
    flushEntries: [],
    flushCounts: [],
    erasure: [],
    erasedProjects: [],
    erasedKeys: undefined,
    projectLimits: [],
    admit: admitAll,
    storeNotices: undefined,
    pending: undefined,
    holders: [],
    grants: [],
    followCall: undefined,
    signOutPerson: undefined,
    signsPeopleIn: false,
    callerDetails: [],
    sessionsEnded: [],
    keepDefinitions: undefined,
    tracing: undefined,
    rewriteUrl: undefined,
    requestFinished: [],
    callRecorded: [],
    queryRan: [],
    intake: [],
  }
}

function createEngine(options: ServiceOptions) {
  const { settings, log, node, environment, launched, time } = options
  if (settings.clickhouseUrl !== undefined) {
    return serverEngine(settings, settings.clickhouseUrl, { checkIsolation, ...options, log })
  }
  checkUnused(settings.dataDir)
  return new EmbeddedEngine({
    dataDir: settings.dataDir,
    memoryBytes: settings.engineMemory,
    patience: settings.engineTimeoutFactor,
    node: settings.engineNode ?? node,
    environment,
    launched,
    clock: time,
    log,
  })
}

function readableOf(
  sourcesAndTables: ReturnType<Sources['readable']>,
  sampled: ReturnType<typeof pathSamples>,
  endpoints: Endpoints,
) {
  return { ...sourcesAndTables, sampled, endpoints: endpoints.readable }
}

/** The last result again while both arguments stay the same. */
function onceFor<One, Other, Made>(make: (one: One, other: Other) => Made) {
  let last: { one: One; other: Other; made: Made } | undefined
  return (one: One, other: Other) => {
    if (last?.one !== one || last.other !== other) last = { one, other, made: make(one, other) }
    return last.made
  }
}

/** The engine's own message would hold parameter values. */
function codeOf(error: unknown): string {
  return error instanceof WellheadError ? error.code : 'internal'
}
