import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { withDeadline } from '../../core/base/clock.ts'
import { freeBelow, minFreeBytes } from '../../core/base/files/data-directory.ts'
import { dataFiles } from '../../core/base/files/data-files.ts'
import { unlessMissing } from '../../core/base/files/disk.ts'
import { createLog } from '../../core/base/log.ts'
import { version } from '../../core/base/package-file.ts'
import { readSettings, type Settings } from '../../core/base/settings.ts'
import { refuseNewerData } from '../../core/catalog/data-version.ts'
import { readDone } from '../../core/catalog/migrations.ts'
import { serverEngine } from '../../core/engine/cluster/cluster-engine.ts'
import { checkIsolation } from '../../core/engine/cluster/isolation-check.ts'
import { ServerProblem } from '../../core/engine/cluster/server-problem.ts'
import { engineLibraryVersion, storeDirectoryOf } from '../../core/engine/embedded-engine.ts'
import type { Engine, NodeState } from '../../core/engine/engine.ts'
import { neededGrants } from '../../core/engine/grants.ts'
import { queryRows, queryText } from '../../core/engine/json-rows.ts'
import { readDisks, tableNames } from '../../core/engine/stored-tables.ts'
import type { EngineStatus } from '../../core/http/engine-status.ts'
import { features } from '../../features.ts'
import { loadSettings } from '../../settings-table.ts'
import { addExamples } from '../kit/command.ts'
import { CommandFailure, type CommandIo } from '../kit/command-io.ts'
import { readServiceFile } from '../kit/find-service.ts'
import type { Finding } from '../kit/finding.ts'
import { withOfflineEngine } from '../kit/offline-engine.ts'
import { formatBytes, visible } from '../kit/output/format.ts'
import { printJson } from '../kit/output/print.ts'
import { ServiceClient } from '../kit/service-client.ts'
import { explainStartProblem } from '../kit/start-problems.ts'

export function defineDoctor(doctor: Command, io: CommandIo): void {
  doctor
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'check neither an embedded engine nor a ClickHouse server')
    .option('--json', 'print JSON')
    .action((options: DoctorOptions) => reportHealth(options, io))
  addExamples(doctor, 'wellhead doctor', 'wellhead doctor --data-dir /var/lib/wellhead --json')
}

interface DoctorOptions {
  dataDir?: string
  host?: string
  port?: string
  engine: boolean
  json?: true
}

async function reportHealth({ json, ...options }: DoctorOptions, io: CommandIo): Promise<void> {
  const checks = await examine(options, io)
  const isOk = checks.every(({ status }) => status !== 'problem')
  await (json ? printJson(io, { ok: isOk, checks }) : printFindings(io, checks))
  if (!isOk) throw new CommandFailure('')
}

async function examine({ engine, ...flags }: Omit<DoctorOptions, 'json'>, io: CommandIo): Promise<Finding[]> {
  const reading = readSettings(await loadSettings(), io.environment, { ...flags })
  const machine = [...checkVersions(io.nodeVersion), checkClock(io.clock.now())]
  if ('problems' in reading) {
    const advice = 'See docs/reference/settings.md for all settings.'
    return [...reading.problems.map((message) => problem('settings', message, advice)), ...machine]
  }
  const { settings } = reading
  const client = runningService(settings, io)
  const data = checkData(settings)
  const ofFeatures = await Promise.all(features.map((feature) => feature.checkSettings?.(settings) ?? []))
  const findings = [ok('settings', 'valid'), ...machine, ...ofFeatures.flat(), ...data]
  findings.push(await checkPort(settings, client))
  if (client) findings.push(await checkRunningEngine(client))
  if (engine && settings.clickhouseUrl !== undefined) {
    findings.push(...(await checkServers(settings, settings.clickhouseUrl, io.clock.now)))
  } else if (engine && !client && data[0]?.status !== 'problem') {
    findings.push(await tryEngine(settings, io))
  }
  return findings
}

async function printFindings({ stdout }: CommandIo, findings: readonly Finding[]): Promise<void> {
  const color = { ok: stdout.colors.green, warning: stdout.colors.yellow, problem: stdout.colors.red }
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { name, status, message, advice } of findings) {
    await stdout.write(`${color[status](status.padEnd(7))}  ${name.padEnd(width)}  ${visible(message)}\n`)
    if (advice) await stdout.write(`${' '.repeat(11 + width)}${visible(advice)}\n`)
  }
}

function ok(name: string, message: string): Finding {
  return { name, status: 'ok', message }
}

const findingOf =
  (status: Finding['status']) =>
  (name: string, message: string, advice: string): Finding => ({ name, status, message, advice })

const warning = findingOf('warning')
const problem = findingOf('problem')

const limits = { deadlineMs: 60_000 }
const oldestNode = '20.19'
/** The release of this version: no correct clock shows an earlier time. */
const earliestMs = Date.UTC(2026, 0, 1)

export function checkVersions(nodeVersion: string): Finding[] {
  const isOld = nodeVersion.localeCompare(`v${oldestNode}`, 'en', { numeric: true }) < 0
  const node = isOld
    ? problem('node', `${nodeVersion} is too old.`, `Install Node ${oldestNode} or newer.`)
    : ok('node', nodeVersion)
  return [ok('package', `Wellhead ${version} with chdb ${engineLibraryVersion()}`), node]
}

export function checkClock(nowMs: number): Finding {
  const now = new Date(nowMs).toISOString()
  if (nowMs >= earliestMs) return ok('clock', now)
  const advice = 'Correct the clock of this machine, and synchronize it with NTP.'
  return problem('clock', `The clock shows ${now}, which is in the past.`, advice)
}

function checkData(settings: Settings): Finding[] {
  const { dataDir, diskReserve, adminToken, clickhouseUrl } = settings
  const existing = nearest(dataDir)
  const directory = checkDirectory(settings, existing)
  const space = judgeSpace(freeBelow(existing), clickhouseUrl === undefined ? diskReserve : 0)
  if (existing !== dataDir || directory.status === 'problem') return [directory, space]
  const token = checkAdminToken(join(dataDir, dataFiles.adminToken), adminToken !== undefined)
  return [directory, space, token]
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(path))
}

function checkDirectory({ dataDir, clickhouseUrl }: Settings, existing: string): Finding {
  const choose = 'or choose another with --data-dir.'
  const stats = statSync(existing)
  if (!stats.isDirectory()) {
    return problem('data', `${existing} is not a directory.`, `Move it away, ${choose}`)
  }
  try {
    if (existing === dataDir) checkAccess(dataDir)
    else accessSync(existing, constants.W_OK | constants.X_OK)
  } catch (error) {
    const advice = `Make everything in ${dataDir} belong to this user (chown -R), ${choose}`
    return problem('data', `This user cannot use the data directory: ${(error as Error).message}.`, advice)
  }
  try {
    if (clickhouseUrl === undefined) refuseNewerData(dataDir)
  } catch (error) {
    return { name: 'data', status: 'problem', message: (error as Error).message }
  }
  if (existing !== dataDir) return ok('data', `${dataDir} does not exist yet; the first start creates it`)
  if ((stats.mode & 0o077) === 0) return ok('data', `${dataDir}, writable and private`)
  const message = `Other users of this machine can access ${dataDir}.`
  return warning('data', message, `It contains logs: chmod 700 ${dataDir}`)
}

/** Throws for a file that this user cannot read, and a directory that it cannot write to, as a start as root leaves them. */
function checkAccess(path: string, isDirectory = true): void {
  const { R_OK, W_OK, X_OK } = constants
  try {
    accessSync(path, isDirectory ? R_OK | W_OK | X_OK : R_OK)
    for (const entry of isDirectory ? readdirSync(path, { withFileTypes: true }) : []) {
      // The file system has it at the root of a volume, for root alone.
      if (entry.name !== 'lost+found') checkAccess(join(path, entry.name), entry.isDirectory())
    }
  } catch (error) {
    unlessMissing(error)
  }
}

/** The reserve is 0 if no entries are stored on this disk. */
export function judgeSpace(free: number, reserve: number): Finding {
  const text = `${formatBytes(free)} free${reserve > 0 ? `, with a reserve of ${formatBytes(reserve)}` : ''}`
  const advice = 'Free disk space, use a larger disk, or shorten the retention.'
  if (free < minFreeBytes)
    return problem('disk', `${text}: a start requires ${formatBytes(minFreeBytes)}.`, advice)
  if (free < reserve) return problem('disk', `${text}: logs are rejected.`, advice)
  if (free < 4 * reserve) return warning('disk', `${text}: space is low.`, advice)
  return ok('disk', text)
}

export function checkAdminToken(path: string, isConfigured: boolean): Finding {
  const name = 'admin token'
  if (isConfigured) return ok(name, 'set by WELLHEAD_ADMIN_TOKEN')
  if (!existsSync(path)) return ok(name, 'does not exist yet; the first start creates it')
  if ((statSync(path).mode & 0o077) === 0) return ok(name, `${path}, private`)
  return problem(name, `Other users can read ${path}.`, `Run chmod 600 ${path}, then change the token.`)
}

/** The service that uses the data directory, if it is running. */
function runningService(settings: Settings, io: CommandIo): ServiceClient | undefined {
  const { dataDir, adminToken: token } = settings
  const file = readServiceFile(dataDir)
  if (!file || !io.isAlive(file.pid)) return undefined
  const choice = { url: file.url, dataDir, ...(token !== undefined && { token }) }
  try {
    const client = new ServiceClient(choice, io)
    client.find()
    return client
  } catch {
    return undefined
  }
}

interface Status {
  ready: boolean
  engine: EngineStatus
}

async function checkRunningEngine(client: ServiceClient): Promise<Finding> {
  const advice = 'Check the log of the service.'
  try {
    const { ready, engine } = await client.json<Status>('GET', '/api/status')
    if (!engine.ready || !ready) {
      return problem('engine', engine.reason ?? 'The service is not ready.', advice)
    }
    const isEmbedded = engine.nodes?.some(({ node }) => node === 'embedded')
    const text = `ClickHouse ${engine.version}${isEmbedded ? ', the embedded server' : ''}, used by the service at ${client.url}`
    if (engine.restarts === 0) return ok('engine', text)
    return warning('engine', `${text}; it has restarted ${engine.restarts} times.`, advice)
  } catch (error) {
    return problem('engine', (error as Error).message, advice)
  }
}

/** Starts an engine as the service does, on the data if there is some. */
async function tryEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const isThere = existsSync(storeDirectoryOf(settings.dataDir))
  const advice = 'The service needs the engine to start, and data that it can read.'
  try {
    const choices = isThere ? { dataDir: settings.dataDir } : {}
    return await withOfflineEngine(settings, io, choices, async (engine) => {
      const { version = '' } = engine.state()
      if (isThere && (await tableNames(engine, limits)).includes('_migrations')) await readDone(engine)
      const does = isThere ? 'reads the data' : 'starts'
      return ok('engine', `ClickHouse ${version}, the embedded server; it ${does}`)
    })
  } catch (error) {
    return problem('engine', (error as Error).message, advice)
  }
}

/** Checks whether `serve` could listen on its address. */
async function checkPort(settings: Settings, client: ServiceClient | undefined): Promise<Finding> {
  const { host, port } = settings
  const address = `${host}:${port}`
  // The running service is found by its data directory, and may have been started with another port.
  if (client) return ok('port', `${new URL(client.url).host}, used by this service`)
  const failure = await new Promise<unknown>((resolve) => {
    const server = createServer().once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
  if (failure === undefined) return ok('port', port === 0 ? 'any free port' : `${address} is free`)
  const message = explainStartProblem(failure, settings) ?? (failure as Error).message
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (await isWellhead(url)) {
    const advice = 'Use --data-dir with its data directory to check it, or --port to start another service.'
    return problem('port', `A Wellhead service with another data directory runs at ${url}.`, advice)
  }
  return problem('port', message, 'Choose another with --port or --host.')
}

const healthWithinMs = 2_000

async function isWellhead(url: string): Promise<boolean> {
  try {
    return await withDeadline(healthWithinMs, undefined, async (signal) => {
      const response = await fetch(`${url}/health`, { signal })
      return ((await response.json()) as { status?: string }).status === 'alive'
    })
  } catch {
    return false
  }
}

/** Runs the checks of a start on all addresses of WELLHEAD_CLICKHOUSE_URL, and looks at clock and disks. */
async function checkServers(settings: Settings, url: string, nowMs: () => number): Promise<Finding[]> {
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
      ...(await guarded('server clock', () => checkServerClock(engine, nowMs))),
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

async function checkServerClock(engine: Engine, nowMs: () => number): Promise<Finding[]> {
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
