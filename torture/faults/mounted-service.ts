import type { Shared } from '../support/scenario.ts'
import { openTarget, type Target } from '../support/target.ts'
import { LoopDisk, needsForLoopDisk } from './loop-disk.ts'

/** A service whose data lies on a disk of its own. */
export interface MountedService extends Shared {
  disk: LoopDisk
  target: Target
}

export const diskMegabytes = 1_500
/** Left free at the least, in place of the many gigabytes that a real disk has. */
export const reserveMegabytes = 300

/** For what needs no disk of its own: in the short form, the one that others need all the same. */
export function openPlain(directory: string): Promise<Pick<MountedService, 'target' | 'close'>> {
  if (needsForLoopDisk() === undefined) return openMounted(directory)
  return openTarget(directory).then((target) => ({ target, close: () => target.close() }))
}

export async function openMounted(directory: string): Promise<MountedService> {
  const disk = new LoopDisk(directory, diskMegabytes)
  try {
    const target = await openTarget(disk.path, { WELLHEAD_DISK_RESERVE: `${reserveMegabytes}MiB` })
    return {
      disk,
      target,
      close: async () => {
        await target.close()
        await disk.unmount()
      },
    }
  } catch (error) {
    await disk.unmount()
    throw error
  }
}
