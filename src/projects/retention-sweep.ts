import type { Timers } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'
import { isWrittenByService, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryText } from '../engine/json-rows.ts'
import { assignedSql } from '../engine/project-tables.ts'
import { removeRows, tablesRemoving } from '../engine/removed-rows.ts'
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
export function startRetentionSweep(options: RetentionSweepOptions) {
  const { time, log } = options
  let sweptDay = ''
  return repeat({
    time,
    everyMs: checkEveryMs,
    atOnce: true,
    async work(isStopped) {
      const today = dayOf(time.wall.now())
      if (today !== sweptDay && (await sweep(options, isStopped))) sweptDay = today
    },
    onFailure: (error) =>
      log.warn({ err: error }, 'removing entries beyond the retention of plans failed; retrying'),
  })
}

/**
 * Returns whether nothing is left to do. A source whose rows are being removed has its turn later. Ends early if it is stopped,
 * because with many projects each source takes seconds.
 */
async function sweep(options: RetentionSweepOptions, isStopped: () => boolean): Promise<boolean> {
  const { engine, topology, sources, log } = options
  let isDone = true
  for (const { name, retention_days } of sources()) {
    if (isStopped()) return false
    const condition = expiredSql(options, retention_days)
    const isOfService = isWrittenByService(name) && name !== quarantineSource
    if (condition === undefined || isOfService) continue
    if ((await tablesRemoving(engine, topology(), [name])).size > 0) {
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
function expiredSql(
  { plans, time, topology }: RetentionSweepOptions,
  sourceDays: number,
): string | undefined {
  const { database } = topology()
  const nowMs = time.wall.now()
  const all = plans()
  const terms = all.flatMap(({ name, retention_days: days }) => {
    if (days === null || days >= sourceDays) return []
    const before = `timestamp < toDateTime64('${dayOf(nowMs - days * dayMs)} 00:00:00', 6, 'UTC')`
    return `(${before} AND ${projectsOf(name, all, database)})`
  })
  return terms.length === 0 ? undefined : `project != '' AND (${terms.join(' OR ')})`
}

/** Projects without a plan, or with one that does not exist, have the default plan. */
function projectsOf(plan: string, all: readonly Plan[], database: string): string {
  const assigned = `(${assignedSql(`${database}._projects`)})`
  if (plan !== defaultPlan)
    return `project IN (SELECT project FROM ${assigned} WHERE plan = ${sqlText(plan)})`
  const others = all.filter(({ name }) => name !== defaultPlan).map(({ name }) => sqlText(name))
  if (others.length === 0) return 'true'
  return `project NOT IN (SELECT project FROM ${assigned} WHERE plan IN (${others.join(', ')}))`
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
