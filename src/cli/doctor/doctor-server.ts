import { createLog } from '../../base/log.ts'
import { serverAddresses } from '../../base/server-addresses.ts'
import type { Settings } from '../../base/settings.ts'
import { builtInSources } from '../../catalog/built-in-sources.ts'
import { findLeak } from '../../catalog/find-leak.ts'
import { ForeignTable, refuseForeignOwnTables, refuseForeignTables } from '../../catalog/foreign-tables.ts'
import { ClickHouseHttp } from '../../engine/clickhouse-http.ts'
import {
  askServer,
  checkVersion,
  findMissingGrants,
  requireCluster,
} from '../../engine/remote/check-server.ts'
import { grantStatement } from '../../engine/remote/needed-grants.ts'
import { RemoteEngine } from '../../engine/remote/remote-engine.ts'
import { sentSettings } from '../../engine/remote/sent-settings.ts'
import { explainServerError, type ServerIdentity } from '../../engine/remote/server-problem.ts'
import { sqlText } from '../../sql/names.ts'
import { formatBytes, plural } from '../output/format-amount.ts'
import { type Finding, hasProblem, ok, problem, warning } from './doctor-report.ts'

interface Server extends ServerIdentity {
  http: ClickHouseHttp
  /** Host and port, before each message if there are several servers. */
  prefix: string
}

/** Checks each address of WELLHEAD_CLICKHOUSE_URL. */
export async function checkServers(settings: Settings, url: string, nowMs: () => number): Promise<Finding[]> {
  const { clickhouseUser, clickhousePassword } = settings
  const addresses = serverAddresses(url, { user: clickhouseUser, password: clickhousePassword })
  const findings: Finding[] = []
  for (const address of addresses) {
    const http = new ClickHouseHttp({ ...address, maxConnections: 1, idleMs: 2_500, compress: false })
    const { clickhouseDatabase: database, clickhouseCluster: cluster } = settings
    const prefix = addresses.length === 1 ? '' : `${address.url.host}: `
    try {
      const server = { url: address.url, user: address.user, database, cluster, http, prefix }
      for (const { message, ...finding } of await checkServer(server, settings.diskReserve, nowMs)) {
        findings.push({ ...finding, message: `${prefix}${message}` })
      }
    } finally {
      http.close()
    }
  }
  return hasProblem(findings) ? findings : [...findings, ...(await checkIsolation(settings, url))]
}

/** Tries to see rows of another tenant, as the service does before it uses a node. */
async function checkIsolation(settings: Settings, url: string): Promise<Finding[]> {
  const name = 'isolation'
  const { clickhouseUser: user, clickhousePassword: password } = settings
  const { clickhouseDatabase: database, clickhouseCluster: cluster } = settings
  const engine = new RemoteEngine({
    url,
    user,
    password,
    database,
    cluster,
    log: createLog('silent'),
    findLeak: (node) => findLeak(node, cluster),
  })
  try {
    await engine.start()
    return (engine.state().nodes ?? []).map(({ node, leak, reason }) => {
      const advice = 'Upgrade ClickHouse, or remove settings from the profile of its user.'
      if (leak !== undefined) return problem(name, `${node}: ${leak}`, advice)
      if (reason !== undefined) return warning(name, `${node}: not checked. ${reason}`, 'Run this again.')
      return ok(name, `${node}: one tenant sees no rows of another`)
    })
  } catch (error) {
    return [problem(name, `Cannot be checked: ${(error as Error).message}`, 'Run this again.')]
  } finally {
    await engine.close()
  }
}

async function checkServer(server: Server, reserve: number, nowMs: () => number): Promise<Finding[]> {
  const version = await guarded('server', server, async () => {
    return [ok('server', `ClickHouse ${await checkVersion(server.http, server)}`)]
  })
  if (version.some(({ status }) => status === 'problem')) return version
  const checks: [name: string, check: () => Promise<Finding[]>][] = [
    ['grants', () => checkGrants(server)],
    ['profile', () => checkProfile(server)],
    ['server clock', () => checkServerClock(server, nowMs)],
    ['server disk', () => checkDisks(server, reserve)],
    ['tables', () => checkTables(server)],
  ]
  const { cluster } = server
  if (cluster !== undefined) checks.push(['cluster', () => checkCluster(server, cluster)])
  const findings = [...version]
  for (const [name, check] of checks) findings.push(...(await guarded(name, server, check)))
  return findings
}

/** A check that fails is a finding of its own. */
async function guarded(name: string, server: Server, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check()
  } catch (error) {
    const explained = error instanceof ForeignTable ? error : explainServerError(error, server)
    if (explained) return [problem(name, explained.reason, explained.advice)]
    const [line = ''] = (error as Error).message.split('\n')
    return [problem(name, line, 'Check the log of the ClickHouse server.')]
  }
}

async function checkGrants(server: Server): Promise<Finding[]> {
  const missing = await findMissingGrants(server.http, server)
  if (missing.length === 0) return [ok('grants', `user ${server.user} has all that are needed`)]
  return missing.map((grant) =>
    problem('grants', `User ${server.user} lacks ${grant}.`, `Run: ${grantStatement(grant, server.user)}`),
  )
}

/** Settings that the service sends, but the user's profile fixes or limits. */
async function checkProfile({ http, user }: Server): Promise<Finding[]> {
  const names = sentSettings.map(sqlText).join(', ')
  const rows = await askRows(
    http,
    `SELECT name, readonly, ifNull(min, ''), ifNull(max, '') FROM system.settings WHERE name IN (${names}) ` +
      'AND (readonly = 1 OR min IS NOT NULL OR max IS NOT NULL) ORDER BY name',
  )
  if (rows.length === 0) return [ok('profile', 'fixes no setting that the service sends')]
  return rows.map(([name = '', fixed, min, max]) => {
    const advice = `Remove the constraint on ${name} from the settings profile of ${user}.`
    if (fixed === '1') return problem('profile', `The user may not change the setting ${name}.`, advice)
    const limits = [min && `at least ${min}`, max && `at most ${max}`].filter(Boolean).join(' and ')
    return warning('profile', `The setting ${name} must be ${limits}; other values are refused.`, advice)
  })
}

const driftMs = { warning: 2_000, problem: 60_000 } as const

async function checkServerClock({ http }: Server, nowMs: () => number): Promise<Finding[]> {
  const before = nowMs()
  const serverMs = Number(await askServer(http, 'SELECT toUnixTimestamp64Milli(now64(3))'))
  return [judgeServerClock(serverMs, before, nowMs())]
}

/** The server read its clock at some moment between two readings of ours. */
function judgeServerClock(serverMs: number, beforeMs: number, afterMs: number): Finding {
  const differenceMs = Math.max(beforeMs - serverMs, serverMs - afterMs, 0)
  const text = `differs by ${(differenceMs / 1000).toFixed(1)} s from the clock of this machine`
  if (differenceMs < driftMs.warning) return ok('server clock', 'agrees with this machine')
  const message = `It ${text}: queries for the last minutes miss entries or end early, and retention is off.`
  const advice = 'Synchronize the clocks of all machines with NTP.'
  return (differenceMs < driftMs.problem ? warning : problem)('server clock', message, advice)
}

async function checkDisks({ http }: Server, reserve: number): Promise<Finding[]> {
  const rows = await askRows(http, 'SELECT name, free_space, total_space FROM system.disks ORDER BY name')
  return rows.map(([name = '', free, total]) => judgeServerDisk(name, Number(free), Number(total), reserve))
}

function judgeServerDisk(name: string, free: number, total: number, reserve: number): Finding {
  const text = `${name}: ${formatBytes(free)} of ${formatBytes(total)} free`
  const advice = 'Free disk space, add a disk, or shorten the retention of sources.'
  if (free < reserve) return problem('server disk', `${text}: inserts will fail.`, advice)
  if (free < total / 10) return warning('server disk', `${text}: space is low.`, advice)
  return ok('server disk', text)
}

async function checkTables({ http, database, cluster }: Server): Promise<Finding[]> {
  const read = async <Row>(sql: string) => {
    const inDatabase = sql.replace('currentDatabase()', sqlText(database))
    const lines = (await askServer(http, `${inDatabase} FORMAT JSONEachRow`)).split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line) as Row)
  }
  await refuseForeignOwnTables(read)
  await refuseForeignTables(
    read,
    builtInSources.map(({ name }) => name),
    cluster,
  )
  return [ok('tables', `no other program's tables are in the way in database ${database}`)]
}

async function checkCluster(server: Server, cluster: string): Promise<Finding[]> {
  const { http } = server
  await requireCluster(http, server)
  const nodes = await askRows(
    http,
    `SELECT shard_num, host_name, is_local FROM system.clusters WHERE cluster = ${sqlText(cluster)} ORDER BY 1, 2`,
  )
  const shards = new Set(nodes.map(([shard]) => shard)).size
  const text = `${cluster}: ${plural(shards, 'shard')}, ${plural(nodes.length, 'replica')}`
  const findings: Finding[] = [ok('cluster', text)]
  if (!nodes.some(([, , isLocal]) => isLocal === '1')) {
    const advice = 'Use the name in remote_servers that this server resolves to itself.'
    findings.push(warning('cluster', `This server is not a node of ${cluster}.`, advice))
  }
  if (nodes.length === shards) {
    const advice = 'Add a second replica to each shard.'
    findings.push(warning('cluster', 'Each shard has one replica: its failure stops the shard.', advice))
  }
  if (nodes.length === 1) return findings
  findings.push(...(await guarded('cluster nodes', server, () => checkNodes(http, cluster, nodes.length))))
  findings.push(...(await guarded('macros', server, () => checkMacros(http))))
  findings.push(...(await guarded('keeper', server, () => checkKeeper(server))))
  return findings
}

async function checkNodes(http: ClickHouseHttp, cluster: string, expected: number): Promise<Finding[]> {
  const rows = await askRows(
    http,
    `SELECT hostName(), version() FROM clusterAllReplicas(${sqlText(cluster)}, system.one) ORDER BY 1 ` +
      'SETTINGS skip_unavailable_shards = 1',
  )
  const versions = new Set(rows.map(([, version]) => version))
  const text = `${rows.length} of ${expected} respond, ${[...versions].join(' and ')}`
  if (rows.length < expected) return [warning('cluster nodes', text, 'Check the nodes and the network.')]
  if (versions.size === 1) return [ok('cluster nodes', text)]
  return [warning('cluster nodes', text, 'Finish the upgrade: all nodes should have one version.')]
}

async function checkMacros(http: ClickHouseHttp): Promise<Finding[]> {
  const macros = new Map(
    (await askRows(http, 'SELECT macro, substitution FROM system.macros')) as [string, string][],
  )
  const missing = ['shard', 'replica'].filter((name) => !macros.has(name))
  if (missing.length === 0)
    return [ok('macros', `shard ${macros.get('shard')}, replica ${macros.get('replica')}`)]
  const advice = 'Add them to <macros> in the configuration of each node.'
  return [problem('macros', `The server has no macro ${missing.join(' and ')}.`, advice)]
}

const unknownTable = 60

async function checkKeeper({ http, database }: Server): Promise<Finding[]> {
  const advice = 'Check the keepers and <zookeeper> in the configuration of each node.'
  const rows = await askRows(http, 'SELECT host, port, is_expired FROM system.zookeeper_connection').catch(
    (error) => {
      // A server without a keeper does not have the table.
      if ((error as { code?: unknown }).code !== unknownTable) throw error
      return []
    },
  )
  const [connected] = rows.filter(([, , isExpired]) => isExpired !== '1')
  if (!connected) return [problem('keeper', 'The server is not connected to a keeper.', advice)]
  const [[readOnly = '0'] = []] = await askRows(
    http,
    `SELECT countIf(is_readonly) FROM system.replicas WHERE database = ${sqlText(database)}`,
  )
  if (readOnly !== '0') {
    const message = `${plural(Number(readOnly), 'table')} of database ${database} cannot be written.`
    return [problem('keeper', message, 'Check the keepers, then SYSTEM RESTART REPLICA for each table.')]
  }
  return [ok('keeper', `connected to ${connected[0]}:${connected[1]}`)]
}

async function askRows(http: ClickHouseHttp, sql: string): Promise<string[][]> {
  const text = await askServer(http, `${sql} FORMAT TabSeparatedRaw`)
  return text === '' ? [] : text.split('\n').map((line) => line.split('\t'))
}
