import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a temporary directory. */
export function scratchDirectory(within = tmpdir()): { path: string; remove(): void } {
  const path = mkdtempSync(join(within, 'wellhead-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
