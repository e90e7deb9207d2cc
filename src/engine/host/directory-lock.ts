import { type BigIntStats, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'

/** The process number, device and inode of a line that tells of a lock, not of somebody who waits for one. */
const lockLine = /^\d+: (?:FLOCK|POSIX|OFDLCK)\s+\S+\s+\S+\s+(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /gm

/**
 * Whether an engine has a data directory open: it holds a lock on this file as long as it does.
 *
 * An inode number alone says little, since every file system has its own. The device cannot be relied on either: btrfs
 * and overlayfs show another one in `stat` than in `/proc/locks`, and overlayfs may show another inode, too. So where
 * they differ, what counts is whether the process that holds the lock, or the one that the file names, has this very
 * file open.
 */
export function isLocked(statusFile: string, locksFile = '/proc/locks'): boolean {
  const file = statSync(statusFile, { bigint: true, throwIfNoEntry: false })
  if (file === undefined) return false
  // Only Linux tells who holds a lock.
  if (!existsSync(locksFile)) return ownerOf(statusFile) !== undefined
  for (const [, pid, major, minor, inode] of readFileSync(locksFile, 'utf8').matchAll(lockLine)) {
    if (BigInt(inode as string) !== file.ino) continue
    if (isDevice(file.dev, major as string, minor as string)) return true
    if (hasOpen(Number(pid), file) !== 'no') return true
  }
  const owner = ownerOf(statusFile)
  // Of somebody else's process nothing is known, and most likely it only has the number of one that ended.
  return owner !== undefined && hasOpen(owner, file) === 'yes'
}

/** The process that the engine names in its status file, if there is one of that number. */
export function ownerOf(statusFile: string): number | undefined {
  try {
    const id = Number(/PID: (\d+)/.exec(readFileSync(statusFile, 'utf8'))?.[1])
    if (!Number.isInteger(id) || id === process.pid) return undefined
    process.kill(id, 0)
    return id
  } catch {
    return undefined
  }
}

/** A device number as the system packs it, against its two parts in hexadecimal. */
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
