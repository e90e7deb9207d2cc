import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../operator-error.ts'

/** With less space the engine cannot merge its data. */
export const minFreeBytes = 256 * 2 ** 20

/** Creates the directory if it does not exist. Throws if it cannot be used. */
export function prepareDataDirectory(dataDir: string): void {
  try {
    makeDirectory(dataDir, 0o700)
  } catch (error) {
    throw new OperatorError(
      `Cannot create the data directory ${dataDir}: ${(error as Error).message}. Choose another with --data-dir.`,
    )
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw new OperatorError(
      `This user cannot write to the data directory ${dataDir}. Change its permissions, or choose another with --data-dir.`,
    )
  }
  const free = freeBelow(dataDir)
  if (free < minFreeBytes) {
    throw new OperatorError(
      `Only ${Math.floor(free / 2 ** 20)} MiB are free in ${dataDir}, but ${minFreeBytes / 2 ** 20} MiB are required. ` +
        'Free some space, or choose another directory with --data-dir.',
    )
  }
}

export function freeBelow(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Number of files that can still be created; undefined if the file system has no such limit, as Btrfs. */
export function freeInodesBelow(directory: string): number | undefined {
  const { files, ffree } = statfsSync(directory)
  return files === 0 ? undefined : ffree
}

/** Creates a directory and its missing parents. Node's own recursive mode never returns for a path below `/proc`. */
export function makeDirectory(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(path).isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error
    makeDirectory(dirname(path), mode)
    makeDirectory(path, mode)
  }
}
