import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that is gone when its user is done. */
export function scratchDirectory(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'wellhead-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
