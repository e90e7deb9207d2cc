// Finds promtool of Prometheus, which a test uses to check the metrics. If it is not installed, extracts Debian's package
// into the user's cache directory, without root; apt-get verifies it. Undefined if that fails.

import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const withinMs = 120_000

export async function ensurePromtool({ log = console.error } = {}) {
  if (process.env.PROMTOOL) return process.env.PROMTOOL
  const installed = (process.env.PATH ?? '').split(':').map((directory) => join(directory, 'promtool'))
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wellhead')
  const fetched = join(cache, 'promtool')
  const known = [...installed, fetched].find((path) => existsSync(path))
  if (known !== undefined) return known
  const temporary = await fs.mkdir(cache, { recursive: true }).then(() => fs.mkdtemp(`${fetched}.tmp-`))
  try {
    log('Downloading promtool from Debian, once, to check metrics.')
    await run('apt-get', ['download', 'prometheus'], { cwd: temporary, timeout: withinMs })
    const [deb] = (await fs.readdir(temporary)).filter((name) => name.endsWith('.deb'))
    await run('dpkg-deb', ['-x', deb, 'extracted'], { cwd: temporary, timeout: withinMs })
    await fs.rename(join(temporary, 'extracted/usr/bin/promtool'), fetched)
    return fetched
  } catch (error) {
    log(`promtool is not available; tests that need it are skipped: ${String(error.message).split('\n')[0]}`)
    return undefined
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const promtool = await ensurePromtool()
  if (promtool) console.log(promtool)
}
