import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Version of the embedded engine's package; it is read without loading the engine. */
export function engineLibraryVersion(): string {
  const entry = createRequire(import.meta.url).resolve('chdb')
  const { version } = JSON.parse(readFileSync(join(dirname(entry), 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}
