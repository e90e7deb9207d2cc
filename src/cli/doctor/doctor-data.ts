import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Settings } from '../../base/settings.ts'
import { socketPathFor } from '../../engine/embedded-engine.ts'
import type { CommandIo } from '../command-io.ts'
import { formatBytes } from '../output/format-amount.ts'
import { readServiceFile } from '../service-file.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

/** The data directory: there, writable, one's own, with room, and used by one service only. */
export async function checkData(settings: Settings, io: CommandIo): Promise<Finding[]> {
  const { dataDir } = settings
  const found = statOf(dataDir)
  if (found === undefined) return [checkParent(dataDir), ...checkSpace(nearest(dataDir), settings)]
  if (!found.isDirectory()) {
    return [
      problem('data', `${dataDir} is no directory.`, 'Move it away, or choose another with --data-dir.'),
    ]
  }
  return [
    checkDirectory(dataDir, found),
    ...checkSpace(dataDir, settings),
    ...checkAdminToken(join(dataDir, 'admin-token'), settings.adminToken !== undefined),
    await checkUse(dataDir, io),
  ]
}

/** Undefined also where a part of the path is no directory. */
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

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function checkParent(dataDir: string): Finding {
  const parent = nearest(dataDir)
  if (mayWrite(parent)) return ok('data', `${dataDir} is not there yet; the first start makes it`)
  return problem(
    'data',
    `${dataDir} is not there, and ${parent} cannot be written.`,
    'Make it for this user, or choose another with --data-dir.',
  )
}

function checkDirectory(dataDir: string, { uid, mode }: Stats): Finding {
  const me = userInfo()
  if (!mayWrite(dataDir)) {
    return problem(
      'data',
      `${dataDir} cannot be written by ${me.username}; it belongs to the user with the id ${uid}.`,
      `Run as that user, or: chown -R ${me.username} ${dataDir}`,
    )
  }
  if (me.uid >= 0 && uid !== me.uid) {
    return warning(
      'data',
      `${dataDir} belongs to the user with the id ${uid}, not to ${me.username}.`,
      'Run the service and this command as the same user.',
    )
  }
  if ((mode & 0o077) !== 0) {
    return warning(
      'data',
      `${dataDir} can be reached by other users of this machine.`,
      `Logs are in it: chmod 700 ${dataDir}`,
    )
  }
  return ok('data', `${dataDir}, writable, for its owner alone`)
}

function checkSpace(path: string, settings: Settings): Finding[] {
  const { bavail, bsize } = statfsSync(path)
  return [judgeSpace(bavail * bsize, settings.diskReserve)]
}

export function judgeSpace(free: number, reserve: number): Finding {
  const text = `${formatBytes(free)} free, ${formatBytes(reserve)} of it in reserve`
  const advice = 'Free some, use a larger disk, or keep entries for fewer days.'
  if (free < reserve) return problem('disk', `${text}: logs are refused.`, advice)
  if (free < 4 * reserve) return warning('disk', `${text}: little is left.`, advice)
  return ok('disk', text)
}

export function checkAdminToken(path: string, configured: boolean): Finding[] {
  if (configured) return [ok('admin token', 'set by WELLHEAD_ADMIN_TOKEN')]
  const found = statOf(path)
  if (found === undefined) return [ok('admin token', 'not there yet; the first start makes it')]
  if ((found.mode & 0o077) !== 0) {
    return [
      problem('admin token', `${path} can be read by others.`, `chmod 600 ${path}, and change the token.`),
    ]
  }
  return [ok('admin token', `${path}, for its owner alone`)]
}

async function checkUse(dataDir: string, io: CommandIo): Promise<Finding> {
  const file = readServiceFile(dataDir)
  if (file && io.isAlive(file.pid)) {
    return ok('in use', `by the service at ${file.url}, process ${file.pid}, since ${file.started_at}`)
  }
  if (await answers(socketPathFor(dataDir))) {
    return warning(
      'in use',
      'An engine process has the directory, and no service says that it is its own.',
      'A service that is starting is fine. Else end that process before the next start.',
    )
  }
  return ok('in use', file ? 'by nobody; the last service ended without cleaning up' : 'by nobody')
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
