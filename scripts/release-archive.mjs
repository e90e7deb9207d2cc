/**
 * Makes the archive of the current version in test/releases: a data directory with everything that a service stores, a backup,
 * and what its requests return. Run it last before a release; `npm run release` does. A test opens the archives of all releases.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
const maxBytes = 5 * 2 ** 20

/** Returns the size of the archive. `target` is another file than the one in the repository, for a check. */
export function makeArchive(target = `${root}/test/releases/${version}.tar.gz`) {
  const args = ['scripts/test.mjs', 'test/journeys/operating/upgrade.test.ts', '-t', 'this version is opened']
  const env = { ...process.env, WELLHEAD_ARCHIVE: target }
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`The archive could not be made:\n${stdout.split('\n').slice(-40).join('\n')}`)
  const { size } = statSync(target)
  if (size > maxBytes) throw new Error(`The archive has ${size} bytes, more than ${maxBytes}.`)
  return size
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`test/releases/${version}.tar.gz: ${makeArchive()} bytes`)
}
