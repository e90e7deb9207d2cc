import type { Timers } from '../../core/base/clock.ts'
import { deletionTime, steadyClock } from '../../core/base/delayed-deletion.ts'
import type { Log } from '../../core/base/log.ts'
import { repeat } from '../../core/base/repeat.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import type { VersionNumber } from '../../core/catalog/catalog-log.ts'
import type { ItemChange } from '../../core/catalog/items.ts'
import type { Source } from '../../core/catalog/source.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryText } from '../../core/engine/json-rows.ts'
import { type HiddenRows, olderSql } from '../../core/sql/isolation.ts'
import { sqlName } from '../../core/sql/names.ts'
import { sources as form } from './source-kind.ts'

interface SourceRetentionOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'info' | 'warn'>
  catalog: Pick<Catalog, 'log' | 'hold'>
  sources: Sources
  /** How long entries stay on the disk after a change has hidden them. */
  deleteAfterMs: number
}

/** A retention that a source had until some time. */
interface FormerRetention {
  days: number
  untilMs: number
}

interface Shortening {
  days: number
  /** The longer ones that the source had before. */
  former: readonly FormerRetention[]
  /** When the engine may delete all entries that the current retention hides. */
  dueMs: number
}

const checkEveryMs = 300_000
const limits = { deadlineMs: 120_000 }

/**
 * Hides entries that a shorter retention of a source no longer covers, until they have left the disk. The engine keeps them
 * until the first midnight after the delay, so that a longer retention shows them again.
 */
export class SourceRetention {
  readonly #options: SourceRetentionOptions
  readonly #shortened = new Map<string, Shortening>()
  #sweep: ReturnType<typeof repeat> | undefined

  constructor(options: SourceRetentionOptions) {
    this.#options = options
  }

  /** Undefined while no source has such entries. */
  get hidden(): HiddenRows | undefined {
    if (this.#shortened.size === 0) return undefined
    const nowMs = this.#options.time.wall.now()
    return (table) => {
      const shortening = this.#shortened.get(table)
      return shortening && hiddenSql(shortening, nowMs)
    }
  }

  /** Hides entries before the first request, as before the restart. */
  async open(): Promise<void> {
    const { sources, time, log } = this.#options
    const [former, stored] = await Promise.all([this.#formerRetentions(), sources.storedRetentions()])
    for (const { name, id, retention_days: days } of sources.list()) {
      const shortening = this.#shorteningOf(days, former.get(id)?.retentions ?? [])
      if (!shortening) continue
      const isStored = (stored.get(name) ?? days) > days || (await this.#countHidden(name, shortening)) > 0
      if (isStored) this.#shortened.set(name, shortening)
    }
    const isSteady = steadyClock(checkEveryMs)
    this.#sweep = repeat({
      time,
      everyMs: checkEveryMs,
      atOnce: true,
      work: async (isStopped) => {
        const nowMs = time.wall.now()
        if (!isSteady(nowMs)) return
        for (const name of [...this.#shortened.keys()]) if (!isStopped()) await this.#delete(name, nowMs)
      },
      onFailure: (error) =>
        log.warn({ err: error }, 'removing entries beyond the retention of sources failed; retrying'),
    })
  }

  async stop(): Promise<void> {
    await this.#sweep?.stop()
  }

  changed(changes: readonly ItemChange<Source>[]): void {
    for (const { before, after, item } of changes) {
      const former = before && after ? [...(this.#shortened.get(item.name)?.former ?? [])] : []
      if (before && after) {
        former.push({ days: before.retention_days, untilMs: Date.parse(after.updated_at) })
      }
      const isChanged = before?.retention_days !== after?.retention_days
      if (before && after && !isChanged) continue
      const shortening = after && this.#shorteningOf(after.retention_days, former)
      if (shortening) this.#shortened.set(item.name, shortening)
      else this.#shortened.delete(item.name)
    }
  }

  #shorteningOf(days: number, former: readonly FormerRetention[]): Shortening | undefined {
    const longer = former.filter((each) => each.days > days)
    if (longer.length === 0) return undefined
    const lastMs = Math.max(...longer.map(({ untilMs }) => untilMs))
    return { days, former: longer, dueMs: deletionTime(lastMs, this.#options.deleteAfterMs) }
  }

  /** Makes the engine delete what is due. The source stays in the list until the last of its hidden entries is gone. */
  async #delete(name: string, nowMs: number): Promise<void> {
    const { catalog, sources, log, deleteAfterMs } = this.#options
    // No change of the source comes between reading its versions and shortening the retention of its table.
    const isShort = await catalog.hold(async () => {
      const source = sources.named(name)
      const shortening = this.#shortened.get(name)
      if (!source || !shortening) return false
      const known = (await this.#formerRetentions()).get(source.id)
      // Another service has changed it.
      if (known?.version !== source.version) return false
      const isProtected = ({ untilMs }: FormerRetention) => deletionTime(untilMs, deleteAfterMs) > nowMs
      const protectedDays = known.retentions.filter(isProtected).map(({ days }) => days)
      const days = Math.max(source.retention_days, ...protectedDays)
      const stored = (await sources.storedRetentions()).get(name) ?? 0
      if (stored > days) {
        await sources.storeRetention(name, days)
        log.info({ source: name, days }, 'removing entries beyond the retention of a source')
      }
      return stored > 0 && days === source.retention_days
    })
    const shortening = this.#shortened.get(name)
    if (!isShort || !shortening || shortening.dueMs > nowMs) return
    const isGone = (await this.#countHidden(name, shortening)) === 0
    if (isGone && this.#shortened.get(name) === shortening) this.#shortened.delete(name)
  }

  async #countHidden(name: string, shortening: Shortening): Promise<number> {
    const { engine, time } = this.#options
    const sql = `SELECT count() FROM ${sqlName(name)} WHERE ${hiddenSql(shortening, time.wall.now())}`
    return Number(await queryText(engine, { sql }, limits))
  }

  /** By the id of a source: the retentions of its older versions, and the newest version. */
  async #formerRetentions(): Promise<Map<string, { version: number; retentions: FormerRetention[] }>> {
    const versions = await this.#options.catalog.log.numbers(form.name, 'retention_days')
    const bySource = new Map<string, { version: number; retentions: FormerRetention[] }>()
    let previous: VersionNumber | undefined
    for (const current of versions) {
      const { id, version, changedMs } = current
      const retentions = bySource.get(id)?.retentions ?? []
      if (previous?.id === id) retentions.push({ days: previous.number ?? unknownDays, untilMs: changedMs })
      // Older versions are gone.
      else if (version > 1) retentions.push({ days: unknownDays, untilMs: changedMs })
      bySource.set(id, { version, retentions })
      previous = current
    }
    return bySource
  }
}

/** A retention that may have been of any length. */
const unknownDays = Number.POSITIVE_INFINITY

/** What is hidden when it may be deleted stays hidden, but no more: the engine ages the other entries. */
function hiddenSql({ days, dueMs }: Shortening, nowMs: number): string {
  return olderSql(days, Math.min(nowMs, dueMs))
}
