import { statfs } from 'node:fs/promises'
import { BackupProblem } from './manifest.ts'

/** What a small file takes on most disks. Some name a far larger block, for reading, than they use. */
const blockBytes = 4096

/** Throws where the files of a backup do not fit on the disk of a directory. Each file takes whole blocks of it. */
export async function checkSpace(
  directory: string,
  { bytes, files }: { bytes: number; files: number },
): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  const needed = bytes + files * blockBytes
  if (free >= needed) return
  throw new BackupProblem(
    `The backup needs ${mebibytes(needed)} MiB, and ${directory} has ${Math.floor(free / 2 ** 20)} MiB free. ` +
      `Free ${mebibytes(needed - free)} MiB there, or choose a directory on another disk.`,
  )
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
