import { type BigIntStats, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { EngineStartError } from './host-protocol.ts'

/**
 * Whether an engine has the data directory open: it keeps its status file locked.
 *
 * On btrfs and overlayfs, `stat` and `/proc/locks` show different devices for the same file, and on overlayfs also
 * different inodes. So the process that holds the lock, or the one named in the file, must have this very file open.
 */
export function isLocked(statusFile: string, locksFile = '/proc/locks'): boolean {
  const file = statSync(statusFile, { bigint: true, throwIfNoEntry: false })
  if (file === undefined) return false
  // Only Linux lists locks.
  if (!existsSync(locksFile)) return ownerOf(statusFile) !== undefined
  for (const line of readFileSync(locksFile, 'utf8').split('\n')) {
    // In lines of waiting processes, an arrow precedes the kind.
    const [, kind = '', , , pid, place = ''] = line.split(/\s+/)
    const [major = '', minor = '', inode = ''] = place.split(':')
    if (!/^(?:FLOCK|POSIX|OFDLCK)$/.test(kind) || inode !== String(file.ino)) continue
    if (isDevice(file.dev, major, minor)) return true
    if (hasOpen(Number(pid), file) !== 'no') return true
  }
  const owner = ownerOf(statusFile)
  // If the process cannot be inspected, it is most likely an unrelated one that reuses the number.
  return owner !== undefined && hasOpen(owner, file) === 'yes'
}

/** Resolves when no engine has the data directory open, or after this time. */
export async function whenUnlocked(statusFile: string, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs
  while (isLocked(statusFile) && performance.now() < untilMs) await delay(20)
}

/** The process named in the status file, if it exists and was not killed. */
export function ownerOf(statusFile: string): number | undefined {
  try {
    const id = Number(/PID: (\d+)/.exec(readFileSync(statusFile, 'utf8'))?.[1])
    if (!Number.isInteger(id) || id === process.pid) return undefined
    process.kill(id, 0)
    const stat = `/proc/${id}/stat`
    return existsSync(stat) && /\) Z /.test(readFileSync(stat, 'latin1')) ? undefined : id
  } catch {
    return undefined
  }
}

/** Throws if the process named in the status file exists. */
export function refuseOwner(statusFile: string): void {
  const owner = ownerOf(statusFile)
  if (owner !== undefined) throw new EngineStartError('in-use', `Process ${owner} has it open.`)
}

/** Compares a packed device number with its two parts in hexadecimal. */
function isDevice(device: bigint, major: string, minor: string): boolean {
  const high = ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n)
  const low = (device & 0xffn) | ((device >> 12n) & 0xffffff00n)
  return high === BigInt(`0x${major}`) && low === BigInt(`0x${minor}`)
}

function hasOpen(pid: number, file: BigIntStats): 'yes' | 'no' | 'unknown' {
  try {
    const opened = readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
      const other = statSync(`/proc/${pid}/fd/${descriptor}`, { bigint: true, throwIfNoEntry: false })
      return other?.ino === file.ino && other.dev === file.dev
    })
    return opened ? 'yes' : 'no'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no' : 'unknown'
  }
}
