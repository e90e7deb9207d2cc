import { accessSync, constants, mkdirSync, statfsSync } from 'node:fs'

/** Below this the engine could not even merge what it has. */
const minFreeBytes = 256 * 2 ** 20

/** The service cannot start, for a reason that whoever starts it can mend. */
export class StartProblem extends Error {}

/** Makes it where there is none, and tells why it cannot be used. */
export function prepareDataDirectory(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartProblem(`The data directory ${dataDir} cannot be made: ${(error as Error).message}.`)
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw new StartProblem(
      `The data directory ${dataDir} cannot be written by this user. Give it the right, or choose another with --data-dir.`,
    )
  }
  const free = freeBelow(dataDir)
  if (free < minFreeBytes) {
    throw new StartProblem(
      `There are only ${Math.floor(free / 2 ** 20)} MiB free below ${dataDir}; ` +
        `at least ${minFreeBytes / 2 ** 20} MiB are needed. Free some, or choose another place with --data-dir.`,
    )
  }
}

/** Bytes that are free where a directory lies. */
export function freeBelow(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
