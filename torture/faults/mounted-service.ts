import type { SharedResource } from '../support/scenario.ts'
import { openTarget, type Target } from '../support/target.ts'
import { LoopDisk, needsForLoopDisk } from './loop-disk.ts'

/** A service with its data on a separate disk. */
export interface MountedService extends SharedResource {
  disk: LoopDisk
  target: Target
}

/** Enough for all parts of 200 kills, between which the engine removes none. */
export const diskMegabytes = 2_000
/** Disk reserve of the service, small enough for a small disk. */
export const reserveMegabytes = 300

/** For scenarios that need no separate disk. The short form uses the mounted one if it can, to start one service less. */
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
