import { createLog } from '../../base/log.ts'
import type { Settings } from '../../base/settings.ts'
import { serverEngine } from '../../engine/cluster/cluster-engine.ts'
import { checkIsolation } from '../../engine/cluster/isolation-check.ts'
import { ServerProblem } from '../../engine/cluster/server-problem.ts'
import type { Engine, NodeState } from '../../engine/engine.ts'
import { neededGrants } from '../../engine/grants.ts'
import { queryRows, queryText } from '../../engine/json-rows.ts'
import { readDisks } from '../../engine/stored-tables.ts'
import { formatBytes } from '../output/format.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

const limits = { deadlineMs: 30_000 }

/** Runs the checks of a start on all addresses of WELLHEAD_CLICKHOUSE_URL, and looks at clock and disks. */
export async function checkServers(settings: Settings, url: string, nowMs: () => number): Promise<Finding[]> {
  const { clickhouseCluster: cluster, diskReserve } = settings
  const engine = serverEngine(settings, url, { log: createLog('silent'), checkIsolation })
  try {
    const started = await guarded('server', async () => {
      await engine.start()
      return (engine.state().nodes ?? []).flatMap(judgeNode)
    })
    if (started.every(({ status }) => status === 'problem')) return started
    return [
      ...started,
      ...(await guarded('server user', () => checkUser(engine, cluster))),
      ...(await guarded('server clock', () => checkClock(engine, nowMs))),
      ...(await guarded('server disk', () => checkDisks(engine, diskReserve))),
    ]
  } finally {
    await engine.close()
  }
}

/** A check that fails is a finding of its own. */
async function guarded(name: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof ServerProblem) return [problem(name, error.reason, error.advice)]
    const [line = ''] = (error as Error).message.split('\n')
    return [problem(name, line, 'Check the log of the ClickHouse server, and docs/cluster.md.')]
  }
}

function judgeNode({ node, version, ready, reason, leak }: NodeState): Finding[] {
  if (!ready) return [warning('server', `${node}: ${reason}`, 'The other nodes are used meanwhile.')]
  const advice = 'Upgrade ClickHouse, or remove settings from the profile of its user.'
  return [
    ok('server', `${node}: ClickHouse ${version}`),
    leak === undefined
      ? ok('isolation', `${node}: one tenant sees no rows of another`)
      : problem('isolation', `${node}: ${leak}`, advice),
  ]
}

/** A start refuses a user without a grant. */
async function checkUser(engine: Engine, cluster: string | undefined): Promise<Finding[]> {
  const user = await queryText(engine, { sql: 'SELECT currentUser()' }, limits)
  const message = `${user} has the ${neededGrants(engine.database, cluster).length} grants of docs/cluster.md`
  return [ok('server user', message)]
}

const driftMs = { warning: 2_000, problem: 60_000 } as const

async function checkClock(engine: Engine, nowMs: () => number): Promise<Finding[]> {
  const before = nowMs()
  const sql = 'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS ms'
  const [row] = await queryRows<{ ms: string }>(engine, { sql }, limits)
  // The server read its clock at some moment between two readings of ours.
  const differenceMs = Math.max(before - Number(row?.ms), Number(row?.ms) - nowMs(), 0)
  if (differenceMs < driftMs.warning) return [ok('server clock', 'agrees with this machine')]
  const message =
    `It differs by ${(differenceMs / 1000).toFixed(1)} s from the clock of this machine: queries for the last minutes miss ` +
    'entries or end early, and retention is off.'
  const judge = differenceMs < driftMs.problem ? warning : problem
  return [judge('server clock', message, 'Synchronize the clocks of all machines with NTP.')]
}

async function checkDisks(engine: Engine, reserve: number): Promise<Finding[]> {
  const advice = 'Free disk space, add a disk, or shorten the retention of sources.'
  return (await readDisks(engine, limits)).map(({ name, free, total }) => {
    const text = `${name}: ${formatBytes(free)} of ${formatBytes(total)} free`
    if (free < reserve) return problem('server disk', `${text}: inserts will fail.`, advice)
    if (free < total / 10) return warning('server disk', `${text}: space is low.`, advice)
    return ok('server disk', text)
  })
}
