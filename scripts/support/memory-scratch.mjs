import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'

const memoryDirectory = '/dev/shm'
/** What tests of all workers need at the same time, several times over. */
const neededBytes = 8 * 2 ** 30

/**
 * Directory in memory for the data of tests, where files cost a tenth of the processor time that they cost on a disk; undefined if
 * there is none, no program may be started from it, or there is not plenty of memory.
 */
export function memoryScratch() {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .findLast(([, path]) => path === memoryDirectory)
    const [, , type, options = ''] = mount ?? []
    if (type !== 'tmpfs' || /\b(?:noexec|ro)\b/.test(options)) return undefined
    const { bavail, bsize } = statfsSync(memoryDirectory)
    return Math.min(bavail * bsize, freemem()) >= neededBytes ? memoryDirectory : undefined
  } catch {
    return undefined
  }
}
