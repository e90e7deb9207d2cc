import type { Timers } from '../../core/base/clock.ts'
import { protectedSince, steadyClock } from '../../core/base/delayed-deletion.ts'
import type { Log } from '../../core/base/log.ts'
import { repeat } from '../../core/base/repeat.ts'
import type { CatalogRecord } from '../../core/catalog/catalog-state.ts'
import { isWrittenByService, quarantineSource } from '../../core/catalog/reserved-sources.ts'
import type { Topology } from '../../core/engine/cluster/topology.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryText } from '../../core/engine/json-rows.ts'
import { removeRows, tablesRemoving } from '../../core/engine/removed-rows.ts'
import { sqlText } from '../../core/sql/names.ts'
import { assignedSql } from './own-tables.ts'
import { defaultPlan } from './plan.ts'
import { longestRetentions } from './protected-plans.ts'

const dayMs = 86_400_000

interface RetentionSweepOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'info' | 'warn'>
  topology: () => Topology
  /** Every version of all plans that is kept, oldest first. */
  plans: () => Promise<readonly CatalogRecord[]>
  sources: () => readonly { name: string; retention_days: number }[]
  /** How long entries stay on the disk after a change has hidden them. */
  deleteAfterMs: number
}

export const checkEveryMs = 300_000
const limits = { deadlineMs: 120_000 }

/**
 * After each midnight (UTC), removes entries that their plan has hidden for up to a day: whole days, so that the parts of a day
 * are written again once for each retention. Entries that a changed plan has hidden stay longer: see `deletionTime`.
 */
export function startRetentionSweep(options: RetentionSweepOptions) {
  const { time, log } = options
  const isSteady = steadyClock(checkEveryMs)
  let sweptDay = ''
  return repeat({
    time,
    everyMs: checkEveryMs,
    atOnce: true,
    async work(isStopped) {
      const nowMs = time.wall.now()
      if (!isSteady(nowMs)) return
      const today = dayOf(nowMs)
      if (today !== sweptDay && (await sweep(options, nowMs, isStopped))) sweptDay = today
    },
    onFailure: (error) =>
      log.warn({ err: error }, 'removing entries beyond the retention of plans failed; retrying'),
  })
}

/**
 * Returns whether nothing is left to do. A source whose rows are being removed has its turn later. Ends early if it is stopped,
 * because with many projects each source takes seconds.
 */
async function sweep(
  options: RetentionSweepOptions,
  nowMs: number,
  isStopped: () => boolean,
): Promise<boolean> {
  const { engine, topology, sources, log } = options
  const expiredOf = await expiredEntries(options, nowMs)
  let isDone = true
  for (const { name, retention_days } of sources()) {
    if (isStopped()) return false
    const condition = expiredOf(retention_days)
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

/** Writes the condition for entries of a source that are beyond the retention of their plan. Undefined if no plan is shorter. */
async function expiredEntries({ plans, topology, deleteAfterMs }: RetentionSweepOptions, nowMs: number) {
  const sinceMs = protectedSince(nowMs, deleteAfterMs)
  const longest = longestRetentions(await plans(), sinceMs)
  const assigned = assignedSql(`${topology().database}._projects`)
  const isSettled = `assigned_at < fromUnixTimestamp64Milli(${sinceMs}, 'UTC')`
  const projects = (condition: string) => `(SELECT project FROM (${assigned}) WHERE ${condition})`
  const namedIn = (names: readonly string[]) => `plan IN (${names.map(sqlText).join(', ')})`
  return (sourceDays: number): string | undefined => {
    const others = [...longest.keys()].filter((name) => name !== defaultPlan)
    const terms = [...new Set(others.map((name) => longest.get(name)))].map(
      (days): [number | undefined, string] => {
        const names = others.filter((name) => longest.get(name) === days)
        return [days, `project IN ${projects(`${namedIn(names)} AND ${isSettled}`)}`]
      },
    )
    const isElse = [`NOT (${isSettled})`, ...(others.length === 0 ? [] : [namedIn(others)])].join(' OR ')
    terms.push([longest.get(defaultPlan), `project NOT IN ${projects(isElse)}`])
    const expired = terms.flatMap(([days = Number.POSITIVE_INFINITY, condition]) => {
      if (days >= sourceDays) return []
      const before = `timestamp < toDateTime64('${dayOf(nowMs - days * dayMs)} 00:00:00', 6, 'UTC')`
      return [`(${before} AND ${condition})`]
    })
    return expired.length === 0 ? undefined : `project != '' AND (${expired.join(' OR ')})`
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
