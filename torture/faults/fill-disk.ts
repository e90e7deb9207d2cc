import { execFileSync } from 'node:child_process'
import { closeSync, openSync, statfsSync, writeSync } from 'node:fs'

/** Allocates most of the space, then writes until the disk is full. */
export function fillDisk(path: string, filler: string, leaveBytes: number): void {
  const { bavail, bsize } = statfsSync(path)
  const byHand = 8 * 2 ** 20
  const most = bavail * bsize - Math.max(leaveBytes, byHand)
  execFileSync('fallocate', ['-l', String(Math.max(1, most)), filler], { stdio: 'ignore' })
  if (leaveBytes > 0) return
  const file = openSync(filler, 'a')
  const chunk = Buffer.alloc(4096, 1)
  try {
    for (;;) writeSync(file, chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}
