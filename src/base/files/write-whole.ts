import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

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
