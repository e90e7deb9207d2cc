/** For `catch`: a missing file or directory becomes undefined; every other error is thrown again. */
export function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
