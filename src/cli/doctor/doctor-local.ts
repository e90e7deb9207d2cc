import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { withDeadline } from '../../base/clock.ts'
import { freeBelow } from '../../base/files/data-directory.ts'
import { unlessMissing } from '../../base/files/disk.ts'
import { version } from '../../base/package-file.ts'
import type { Settings } from '../../base/settings.ts'
import { refuseNewerData } from '../../catalog/data-version.ts'
import { readDone } from '../../catalog/migrations.ts'
import { runtimeDirectoryOf } from '../../engine/embedded/server-config.ts'
import { engineLibraryVersion, storeDirectoryOf } from '../../engine/embedded-engine.ts'
import { tableNames } from '../../engine/stored-tables.ts'
import type { EngineStatus } from '../../http/engine-status.ts'
import type { CommandIo } from '../command-io.ts'
import { readServiceFile } from '../find-service.ts'
import { offlineEngine } from '../offline-engine.ts'
import { formatBytes } from '../output/format.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { ServiceClient } from '../service-client.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

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

export function checkData(settings: Settings): Finding[] {
  const { dataDir, diskReserve, adminToken } = settings
  const existing = nearest(dataDir)
  const directory = checkDirectory(settings, existing)
  const space = judgeSpace(freeBelow(existing), diskReserve)
  if (existing !== dataDir || directory.status === 'problem') return [directory, space]
  const token = checkAdminToken(join(dataDir, 'admin-token'), adminToken !== undefined)
  return [directory, space, token]
}

/** A customer whose account lacks the claim must not become somebody who sees every project. */
export function checkSignIn({ oidcProjectClaim: claim, oidcRoles = [] }: Settings): Finding[] {
  const open = oidcRoles.find(({ groups }) => groups.includes('*'))
  if (claim === undefined || !open) return []
  const message = `Everyone without the claim ${claim} has the role ${open.role} and sees all projects, because WELLHEAD_OIDC_ROLES has ${open.role}=*.`
  return [warning('sign-in', message, 'Name the groups of your own people instead of *.')]
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

export function judgeSpace(free: number, reserve: number): Finding {
  const text = `${formatBytes(free)} free, with a reserve of ${formatBytes(reserve)}`
  const advice = 'Free disk space, use a larger disk, or shorten the retention.'
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
export function runningService(settings: Settings, io: CommandIo): ServiceClient | undefined {
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

export async function checkRunningEngine(client: ServiceClient): Promise<Finding> {
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

/** Starts an engine as the service does, on the data if there is some: only reads it, and does not merge or expire anything. */
export async function tryEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const isThere = existsSync(storeDirectoryOf(settings.dataDir))
  const dataDir = isThere ? settings.dataDir : mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const engine = offlineEngine(settings, io, { dataDir, atRest: isThere })
  try {
    await engine.start()
    const { version = '' } = engine.state()
    if (isThere && (await tableNames(engine, engineLimits)).includes('_migrations')) await readDone(engine)
    return ok(
      'engine',
      `ClickHouse ${version}, the embedded server; it ${isThere ? 'reads the data' : 'starts'}`,
    )
  } catch (error) {
    const message = explainStartProblem(error, settings) ?? (error as Error).message
    return problem('engine', message, 'The service needs the engine to start, and data that it can read.')
  } finally {
    await engine.close()
    for (const path of isThere ? [] : [dataDir, runtimeDirectoryOf(dataDir)]) {
      rmSync(path, { recursive: true, force: true })
    }
  }
}

const engineLimits = { deadlineMs: 60_000 }

/** Checks whether `serve` could listen on its address. */
export async function checkPort(settings: Settings, client: ServiceClient | undefined): Promise<Finding> {
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
