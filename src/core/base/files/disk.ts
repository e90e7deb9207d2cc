import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** For `catch`: a missing file or directory becomes undefined; every other error is thrown again. */
export function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** Whether the operating system refused to write because the disk, or the share of this user, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Creates a directory and its missing parents. Node's own recursive mode reports a full disk as ENOENT. */
export async function makePath(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT') throw error
    await makePath(dirname(path), mode)
    await mkdir(path, { mode })
  }
}

/** Brings a file or the entries of a directory to disk, if it exists. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r').catch(unlessMissing)
  await file?.sync().finally(() => file.close())
}

/** Replaces a file atomically, also if the power fails. write-file-atomic does not sync the directory. */
export function writeWhole(path: string, content: string, mode = 0o644): void {
  const temporary = `${path}.new`
  writeFileSync(temporary, content, { mode, flush: true })
  // The mode above applies only to a new file.
  chmodSync(temporary, mode)
  renameSync(temporary, path)
  const directory = openSync(dirname(path), 'r')
  fsyncSync(directory)
  closeSync(directory)
}
