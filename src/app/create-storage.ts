import { availableParallelism } from 'node:os'
import type { PlanLimits } from '../core/access/caller.ts'
import { Arrivals } from '../core/base/arrivals.ts'
import { freeBelow, freeInodesBelow } from '../core/base/files/data-directory.ts'
import { alertsSource } from '../core/catalog/built-in-sources.ts'
import { Catalog } from '../core/catalog/catalog.ts'
import { Items } from '../core/catalog/items.ts'
import { Sources } from '../core/catalog/sources.ts'
import { shippedBy } from '../core/definitions/definitions.ts'
import { endpoints as endpointForm, withTables } from '../core/endpoints/manage/endpoint-kind.ts'
import { Endpoints } from '../core/endpoints/manage/endpoints.ts'
import { serverEngine, topologyOf } from '../core/engine/cluster/cluster-engine.ts'
import { checkIsolation } from '../core/engine/cluster/isolation-check.ts'
import { checkUnused, EmbeddedEngine } from '../core/engine/embedded-engine.ts'
import { requireIsolation } from '../core/engine/server-engine.ts'
import { EntryStore } from '../core/intake/entry-store.ts'
import { IdempotencyKeys } from '../core/intake/idempotency.ts'
import { DiskGuard } from '../core/intake/intake-limits.ts'
import { Lines } from '../core/intake/lines.ts'
import { ProjectGate } from '../core/intake/project-gate.ts'
import { readDefaultRules, SourceRules } from '../core/intake/rules/source-rules.ts'
import { hiddenByAny } from '../core/sql/isolation.ts'
import { Backups } from '../features/backup/backups.ts'
import { readDashboard } from '../features/dashboards/dashboard.ts'
import { dashboards as dashboardForm } from '../features/dashboards/dashboard-kind.ts'
import { ErasureFile } from '../features/erasure/erasure-file.ts'
import { Erasures } from '../features/erasure/erasures.ts'
import { LiveTail } from '../features/live/live-tail.ts'
import { HiddenEntries } from '../features/plans/hidden-entries.ts'
import { defaultPlan, readPlan } from '../features/plans/plan.ts'
import { assignmentChange } from '../features/plans/plan-effects.ts'
import { plans as planForm } from '../features/plans/plan-kind.ts'
import { ProjectPlans } from '../features/plans/project-plans.ts'
import { ProjectReport } from '../features/plans/project-report.ts'
import { ProjectUsage } from '../features/plans/project-usage.ts'
import { Quotas } from '../features/plans/quotas.ts'
import { startRetentionSweep } from '../features/plans/retention-sweep.ts'
import { UsageJournal } from '../features/plans/usage-journal.ts'
import { sources as sourceForm } from '../features/sources/source-kind.ts'
import { SourceRetention } from '../features/sources/source-retention.ts'
import { RowReaders } from '../features/tables/row-readers.ts'
import { tables as tableForm } from '../features/tables/table-kind.ts'
import { Tables } from '../features/tables/tables.ts'
import type { ServiceOptions } from './service-options.ts'

export const maxPendingLogBytes = 256 * 2 ** 20
const backupStalledAfterMs = 300_000

/** Limits of a live tail: the latest entries of each source, and the entries not yet sent to one reader. */
const tailLimits = { maxRingBytes: 64 * 2 ** 20, maxPendingBytes: 512 * 2 ** 10 }

const rowReaderLimits = {
  maxWorkers: Math.min(2, availableParallelism()),
  maxHeapMiB: 1_024,
  maxStepMs: 300_000,
}

export type Storage = ReturnType<typeof createStorage>

/** The engine, and what is stored there. */
export function createStorage(options: ServiceOptions) {
  const { settings, log, time } = options
  const clock = time.wall
  const engine = createEngine(options)
  /** Whether other services use the same ClickHouse server. */
  const shared = settings.clickhouseUrl !== undefined
  const topology = () => topologyOf(engine)
  const freeBytes = () => (shared ? undefined : freeBelow(settings.dataDir))
  const freeInodes = () => (shared ? undefined : freeInodesBelow(settings.dataDir))
  const catalog = new Catalog({ engine, clock, log, shared, topology })
  const backups = new Backups({
    engine,
    catalog,
    clock,
    log,
    stalledAfterMs: backupStalledAfterMs,
    dataDir: shared ? undefined : settings.dataDir,
  })
  const arrivals = new Arrivals()
  const tail = new LiveTail({ time, ...tailLimits })
  const sources = new Sources(catalog, sourceForm, clock)
  const disk = new DiskGuard({ freeBytes, freeInodes, reserveBytes: settings.diskReserve, clock })
  const tables = new Tables({
    catalog,
    engine,
    kind: tableForm,
    checkDisk: () => disk.check(),
    erasedProjects: () => erasures.erasedProjects(),
    readers: new RowReaders(rowReaderLimits),
  })

  const planDefinitions = new Items(catalog, planForm, readPlan)
  const findPlan = (name: string) => planDefinitions.named(name)?.definition
  const plans = new ProjectPlans({ engine, time, log, shared, find: findPlan })
  const planOf = plans.of.bind(plans)
  const usage = new ProjectUsage({
    ...{ engine, log, shared, planOf },
    time: options.usageClock ? { ...time, wall: options.usageClock } : time,
    journal: new UsageJournal(settings.dataDir),
  })
  const gate = new ProjectGate()
  const erasures = new Erasures({
    engine,
    time,
    log,
    topology,
    shared,
    sourceOf: (name) => sources.get(name, () => true).name,
    sources: () => sources.list(),
    file: new ErasureFile(settings.dataDir),
    holdEntries: (projectNames) => gate.hold(projectNames),
    eraseTables: (project) => tables.eraseProject(project, shippedBy),
  })
  const { deleteAfter: deleteAfterMs } = settings
  const sourceRetention = new SourceRetention({ engine, time, log, catalog, sources, deleteAfterMs })
  /** Rows that nobody may see anymore. */
  const hidden = () => hiddenByAny(erasures.hidden, sourceRetention.hidden)
  const hiddenEntries = new HiddenEntries({ engine, clock, hidden, deleteAfterMs })
  let sweep: ReturnType<typeof startRetentionSweep> | undefined

  const quotas = new Quotas({ usage, planOf })
  const store = new EntryStore({
    engine,
    arrivals,
    tail,
    disk,
    admit: (...lines) => quotas.admit(...lines),
    pending: quotas.pending,
    maxPendingBytes: maxPendingLogBytes,
    // An embedded engine restarts soon. A shard that is away must not delay the entries of others.
    attempts: shared ? 2 : 30,
  })
  const known = onceFor((_revision: number, of: typeof tables.readable) => withTables(sources.readable(), of))
  /** Sources and tables, for compiling SQL. Another object whenever one of them has changed. */
  const sourcesAndTables = () => known(sources.revision, tables.readable)
  return {
    engine,
    engineStatus: () => engine.state(),
    requireIsolation: () => requireIsolation(engine),
    shared,
    freeBytes,
    catalog,
    arrivals,
    tail,
    sources,
    rules: new SourceRules(readDefaultRules(settings.defaultRules)),
    tables,
    sourceRetention,
    hidden,
    hiddenEntries,
    sourcesAndTables,
    endpoints: new Endpoints(catalog, endpointForm, sourcesAndTables),
    dashboards: new Items(catalog, dashboardForm, readDashboard),
    /** What belongs to projects as a whole. */
    projects: {
      definitions: planDefinitions,
      plans,
      usage,
      report: new ProjectReport({ engine, clock, usage }),
      erasures,
      /** What a tenant would no longer see with another plan; undefined: nothing less. */
      assignmentChange: (project: string, plan: string) =>
        assignmentChange({ hiddenEntries, sources, plans }, project, plan),
      async open() {
        usage.storeReports(appendTo(alertsSource, { store }))
        await usage.open()
        await plans.open()
        await erasures.open()
        sweep = startRetentionSweep({
          engine,
          time,
          log,
          topology,
          plans: () => catalog.log.history(planForm.name),
          sources: () => sources.list(),
          deleteAfterMs,
        })
      },
      async stop() {
        await plans.stop()
        await sweep?.stop()
        await erasures.stop()
      },
      /** What the plan of a project means for its tokens. */
      limitsOf(project: string): PlanLimits {
        const { name, retention_days, requests_per_minute } = planOf(project)
        const { planParameter } = settings
        return {
          retentionDays: retention_days ?? undefined,
          requestsPerMinute: requests_per_minute ?? undefined,
          parameters: planParameter === undefined || name === defaultPlan ? {} : { [planParameter]: name },
        }
      },
    },
    store,
    keys: new IdempotencyKeys(engine, clock, erasures),
    gate,
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
export function appendTo(source: string, { store }: { store: EntryStore }) {
  return (lines: Buffer, token: string) => store.append(source, Lines.of(lines), token)
}
