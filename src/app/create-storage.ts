import { Backups } from '../backup/backups.ts'
import { Arrivals } from '../base/arrivals.ts'
import { freeBelow } from '../base/files/data-directory.ts'
import { Catalog } from '../catalog/catalog.ts'
import { Items } from '../catalog/items.ts'
import { Sources } from '../catalog/sources.ts'
import { readDashboard } from '../dashboards/dashboard.ts'
import { dashboards as dashboardForm } from '../dashboards/dashboard-kind.ts'
import { endpoints as endpointForm, withTables } from '../endpoints/manage/endpoint-kind.ts'
import { Endpoints } from '../endpoints/manage/endpoints.ts'
import { serverEngine, topologyOf } from '../engine/cluster/cluster-engine.ts'
import { checkIsolation } from '../engine/cluster/isolation-check.ts'
import { checkUnused, EmbeddedEngine } from '../engine/embedded-engine.ts'
import { EntryStore } from '../intake/entry-store.ts'
import { IdempotencyKeys } from '../intake/idempotency.ts'
import { DiskGuard } from '../intake/intake-limits.ts'
import { Lines } from '../intake/lines.ts'
import { LiveTail } from '../live/live-tail.ts'
import { readDefaultRules, SourceRules } from '../rules/source-rules.ts'
import { sources as sourceForm } from '../sources/source-kind.ts'
import { tables as tableForm } from '../tables/table-kind.ts'
import { Tables } from '../tables/tables.ts'
import { createProjects } from './create-projects.ts'
import type { ServiceOptions } from './service-options.ts'

export const maxPendingLogBytes = 256 * 2 ** 20
const backupStalledAfterMs = 300_000

/** Limits of a live tail: the latest entries of each source, and the entries not yet sent to one reader. */
const tailLimits = { maxRingBytes: 64 * 2 ** 20, maxPendingBytes: 512 * 2 ** 10 }

export type Storage = ReturnType<typeof createStorage>

/** The engine, and what is stored there. */
export function createStorage(options: ServiceOptions) {
  const { settings, log, time } = options
  const clock = time.wall
  const engine = createEngine(options)
  /** Whether other services use the same ClickHouse server. */
  const shared = settings.clickhouseUrl !== undefined
  const freeBytes = () => (shared ? undefined : freeBelow(settings.dataDir))
  const catalog = new Catalog({ engine, clock, log, shared, topology: () => topologyOf(engine) })
  const backups = new Backups({
    ...{ engine, catalog, clock, log, stalledAfterMs: backupStalledAfterMs },
    dataDir: shared ? undefined : settings.dataDir,
  })
  const arrivals = new Arrivals()
  const tail = new LiveTail({ time, ...tailLimits })
  const sources = new Sources(catalog, sourceForm, clock)
  const disk = new DiskGuard({ freeBytes, reserveBytes: settings.diskReserve, clock })
  const tables = new Tables({ catalog, engine, kind: tableForm, checkDisk: () => disk.check() })
  const projects = createProjects(options, { engine, catalog, sources, tables, shared })
  const store = new EntryStore({
    engine,
    arrivals,
    tail,
    disk,
    quotas: projects.quotas,
    maxPendingBytes: maxPendingLogBytes,
    // An embedded engine restarts soon. A shard that is away must not delay the entries of others.
    attempts: shared ? 2 : 30,
  })
  const known = onceFor((all: ReturnType<typeof sources.readable>, of: typeof tables.readable) =>
    withTables(all, of),
  )
  /** Sources and tables, for compiling SQL. Another object whenever one of them has changed. */
  const readable = () => known(sources.readable(), tables.readable)
  return {
    engine,
    engineStatus: () => engine.state(),
    leak: () => engine.state().leak,
    shared,
    freeBytes,
    catalog,
    arrivals,
    tail,
    sources,
    rules: new SourceRules(readDefaultRules(settings.defaultRules)),
    tables,
    readable,
    endpoints: new Endpoints(catalog, endpointForm, readable),
    dashboards: new Items(catalog, dashboardForm, readDashboard),
    projects,
    store,
    keys: new IdempotencyKeys(engine, clock, (project) => projects.erasures.lastOf(project)),
    disk,
    backups,
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

/** The last result again while both arguments stay the same. */
function onceFor<One, Other, Made>(make: (one: One, other: Other) => Made) {
  let last: { one: One; other: Other; made: Made } | undefined
  return (one: One, other: Other) => {
    if (last?.one !== one || last.other !== other) last = { one, other, made: make(one, other) }
    return last.made
  }
}

/** Stores entries that the service writes itself. */
export function appendTo(source: string, { store }: Pick<Storage, 'store'>) {
  return (lines: Buffer, token: string) => store.append(source, Lines.of(lines), token)
}
