import type { Timers } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { isWrittenByService, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryText } from '../engine/json-rows.ts'
import { isRemoving, removeRows } from '../engine/removed-rows.ts'
import { sqlText } from '../sql/names.ts'
import { defaultPlan, type Plan } from './plan.ts'

interface RetentionSweepOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'info' | 'warn'>
  topology: () => Topology
  plans: () => readonly Plan[]
  sources: () => readonly { name: string; retention_days: number }[]
}

const checkEveryMs = 300_000
const dayMs = 86_400_000
const limits = { deadlineMs: 120_000 }

/**
 * After each midnight (UTC), removes entries that their plan has hidden for up to a day: whole days, so that the parts of a day
 * are written again once for each retention.
 */
export class RetentionSweep {
  readonly #options: RetentionSweepOptions
  #sweptDay = ''
  #cancel: (() => void) | undefined
  #working: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: RetentionSweepOptions) {
    this.#options = options
  }

  start(): void {
    this.#working = this.#sweepOnce()
    this.#later()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#working
  }

  #later(): void {
    if (this.#stopped) return
    this.#cancel = this.#options.time.after(checkEveryMs, () => {
      this.#working = this.#sweepOnce()
      this.#later()
    })
  }

  async #sweepOnce(): Promise<void> {
    const { time, log } = this.#options
    const today = new Date(time.wall.now()).toISOString().slice(0, 10)
    if (today === this.#sweptDay) return
    try {
      if (await this.sweep()) this.#sweptDay = today
    } catch (error) {
      log.warn({ err: error }, 'removing entries beyond the retention of plans failed; retrying')
    }
  }

  /** Returns whether nothing is left to do. A source whose rows are being removed has its turn later. */
  async sweep(): Promise<boolean> {
    const { engine, topology, sources, log } = this.#options
    let isDone = true
    for (const { name, retention_days } of sources()) {
      const condition = this.#expiredSql(retention_days)
      const isOfService = isWrittenByService(name) && name !== quarantineSource
      if (condition === undefined || isOfService) continue
      if (await isRemoving(engine, topology(), name)) {
        isDone = false
        continue
      }
      const sql = `SELECT count() FROM \`${name}\` WHERE ${condition}`
      const rows = Number(await queryText(engine, { sql }, limits))
      if (rows === 0) continue
      await removeRows(engine, topology(), name, condition)
      log.info({ source: name, entries: rows }, 'removing entries beyond the retention of plans')
    }
    return isDone
  }

  /** Undefined if no plan is shorter than the source. */
  #expiredSql(sourceDays: number): string | undefined {
    const { plans, time, topology } = this.#options
    const { database } = topology()
    const midnightMs = Math.floor(time.wall.now() / dayMs) * dayMs
    const all = plans()
    const terms = all.flatMap(({ name, retention_days: days }) => {
      if (days === null || days >= sourceDays) return []
      const before = `timestamp < toDateTime64('${isoDay(midnightMs - days * dayMs)} 00:00:00', 6, 'UTC')`
      return `(${before} AND ${projectsOf(name, all, database)})`
    })
    return terms.length === 0 ? undefined : `project != '' AND (${terms.join(' OR ')})`
  }
}

/** Projects without a plan, or with one that does not exist, have the default plan. */
function projectsOf(plan: string, all: readonly Plan[], database: string): string {
  const assigned = `(SELECT project, argMax(p.plan, p.at) AS plan FROM ${database}._projects AS p GROUP BY project)`
  if (plan !== defaultPlan)
    return `project IN (SELECT project FROM ${assigned} WHERE plan = ${sqlText(plan)})`
  const others = all.filter(({ name }) => name !== defaultPlan).map(({ name }) => sqlText(name))
  if (others.length === 0) return 'true'
  return `project NOT IN (SELECT project FROM ${assigned} WHERE plan IN (${others.join(', ')}))`
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
