import { once } from 'node:events'
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Settings } from '../../base/settings.ts'
import { socketPathFor } from '../../engine/embedded-engine.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { formatBytes } from '../output/format-amount.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { readServiceFile } from '../service-file.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

/** Checks that the data directory is writable, private, has free space and is used by at most one service. */
export async function checkData(settings: Settings, io: CommandIo): Promise<Finding[]> {
  const { dataDir, diskReserve, adminToken } = settings
  const stats = statOf(dataDir)
  if (stats && !stats.isDirectory()) {
    const advice = 'Move it away, or choose another with --data-dir.'
    return [problem('data', `${dataDir} is not a directory.`, advice)]
  }
  const existing = nearest(dataDir)
  const { bavail, bsize } = statfsSync(existing)
  const space = judgeSpace(bavail * bsize, diskReserve)
  if (!stats) return [checkParent(dataDir, existing), space]
  return [
    checkDirectory(dataDir, stats),
    space,
    checkAdminToken(join(dataDir, 'admin-token'), adminToken !== undefined),
    await checkUse(dataDir, io),
  ]
}

/** Undefined also if a part of the path is not a directory. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(path))
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function checkParent(dataDir: string, parent: string): Finding {
  if (isWritable(parent)) return ok('data', `${dataDir} does not exist yet; the first start creates it`)
  const message = `${dataDir} does not exist, and ${parent} is not writable.`
  return problem('data', message, 'Create it for this user, or choose another with --data-dir.')
}

function checkDirectory(dataDir: string, { uid, mode }: Stats): Finding {
  const user = userInfo()
  if (!isWritable(dataDir)) {
    const message = `${user.username} cannot write to ${dataDir}, which belongs to user id ${uid}.`
    return problem('data', message, `Run as that user, or: chown -R ${user.username} ${dataDir}`)
  }
  if (user.uid >= 0 && uid !== user.uid) {
    const message = `${dataDir} belongs to user id ${uid}, not to ${user.username}.`
    return warning('data', message, 'Run the service and this command as the same user.')
  }
  if ((mode & 0o077) !== 0) {
    const message = `Other users of this machine can access ${dataDir}.`
    return warning('data', message, `It contains logs: chmod 700 ${dataDir}`)
  }
  return ok('data', `${dataDir}, writable and private`)
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
  const stats = statOf(path)
  if (!stats) return ok(name, 'does not exist yet; the first start creates it')
  if ((stats.mode & 0o077) === 0) return ok(name, `${path}, private`)
  return problem(name, `Other users can read ${path}.`, `Run chmod 600 ${path}, then change the token.`)
}

async function checkUse(dataDir: string, io: CommandIo): Promise<Finding> {
  const file = readServiceFile(dataDir)
  if (file && io.isAlive(file.pid)) {
    return ok('in use', `by the service at ${file.url}, process ${file.pid}, since ${file.started_at}`)
  }
  if (await acceptsConnections(socketPathFor(dataDir))) {
    const advice = 'If no service is starting, stop that process before the next start.'
    return warning('in use', 'An engine process without a service uses the directory.', advice)
  }
  return ok('in use', file ? 'no; the last service did not stop cleanly' : 'no')
}

async function acceptsConnections(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath)
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

/** Starts an engine as the service does, in a temporary directory so that the data is not touched. */
export async function checkEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const engine = offlineEngine(settings, io, { dataDir: directory })
  try {
    await engine.start()
    const state = engine.state()
    return ok('engine', `${state.kind === 'ready' ? state.engineVersion : ''}, starts`)
  } catch (error) {
    const message = explainStartProblem(error, settings) ?? (error as Error).message
    return problem('engine', message, 'The service needs the engine to start.')
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
