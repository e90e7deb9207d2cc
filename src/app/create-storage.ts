import { Backups } from '../backup/backups.ts'
import { freeBelow } from '../base/files/data-directory.ts'
import { Arrivals } from '../catalog/arrivals.ts'
import { Catalog } from '../catalog/catalog.ts'
import { checkIsolation } from '../catalog/isolation-check.ts'
import { Sources } from '../catalog/sources.ts'
import { serverEngine, topologyOf } from '../cluster/cluster-engine.ts'
import { checkUnused, EmbeddedEngine } from '../engine/embedded-engine.ts'
import { EntryStore } from '../intake/entry-store.ts'
import { IdempotencyKeys } from '../intake/idempotency.ts'
import { DiskGuard } from '../intake/intake-limits.ts'
import { Lines } from '../intake/lines.ts'
import { LiveTail } from '../live/live-tail.ts'
import type { ServiceOptions } from './service-options.ts'

const beginningOfTime = -(2n ** 62n)
export const maxPendingLogBytes = 256 * 2 ** 20
const backupStalledAfterMs = 300_000

/** Limits of a live tail: the latest entries of each source, and the entries not yet sent to one reader. */
const tailLimits = { maxRingBytes: 64 * 2 ** 20, maxPendingBytes: 512 * 2 ** 10 }

export type Storage = ReturnType<typeof createStorage>

export function createStorage(
  options: ServiceOptions,
  onSourceChange: (name: string, isReplaced: boolean) => void,
) {
  const { settings, log, time } = options
  const clock = time.wall
  const engine = createEngine(options)
  /** Whether other services use the same ClickHouse server. */
  const shared = settings.clickhouseUrl !== undefined
  const freeBytes = () => (shared ? undefined : freeBelow(settings.dataDir))
  const catalog = new Catalog({ engine, clock, log, topology: () => topologyOf(engine), shared })
  const arrivals = new Arrivals()
  const tail = new LiveTail({ time, ...tailLimits })
  const sources = new Sources(catalog, clock, (name, isReplaced) => {
    // Results that read a source change when it is created, changed or deleted.
    arrivals.note(name, beginningOfTime)
    if (!sources.find(name)) tail.close(name)
    onSourceChange(name, isReplaced)
  })
  const disk = new DiskGuard({ freeBytes, reserveBytes: settings.diskReserve, clock })
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
    store: new EntryStore({
      ...{ engine, arrivals, tail, disk, maxPendingBytes: maxPendingLogBytes },
      // An embedded engine restarts soon. A shard that is away must not delay the entries of others.
      attempts: shared ? 2 : 30,
    }),
    keys: new IdempotencyKeys(engine, clock),
    disk,
    backups: new Backups({
      engine,
      catalog,
      clock,
      log,
      dataDir: shared ? undefined : settings.dataDir,
      stalledAfterMs: backupStalledAfterMs,
    }),
  }
}

function createEngine({ settings, log, node, environment, launched, time }: ServiceOptions) {
  if (settings.clickhouseUrl !== undefined) {
    return serverEngine(settings, settings.clickhouseUrl, {
      checkIsolation: (node) => checkIsolation(node, settings.clickhouseCluster),
      log,
    })
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

/** Stores entries that the service writes itself. */
export function appendTo(source: string, { store }: Pick<Storage, 'store'>) {
  return (lines: Buffer, token: string, earliestMs: number) =>
    store.append(source, Lines.of(lines), token, earliestMs)
}
