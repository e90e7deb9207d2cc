import { open } from 'node:fs/promises'

/** For `catch`: a missing file or directory becomes undefined; every other error is thrown again. */
export function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** Brings a file or the entries of a directory to disk, if it exists. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r').catch(unlessMissing)
  await file?.sync().finally(() => file.close())
}
