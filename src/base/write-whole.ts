import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A file is the old one or the new one, whatever happens in between, a power cut included. */
export function writeWhole(path: string, content: string, mode = 0o644): void {
  const temporary = `${path}.new`
  writeFileSync(temporary, content, { mode, flush: true })
  // The mode above holds for a new file only.
  chmodSync(temporary, mode)
  renameSync(temporary, path)
  const directory = openSync(dirname(path), 'r')
  fsyncSync(directory)
  closeSync(directory)
}
