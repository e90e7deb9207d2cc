/** Finds Chromium for the tests of the console, or installs Debian's package if it can. */
import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const onMac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

function findChromium() {
  const chosen = process.env.CHROMIUM_PATH
  if (chosen) return chosen
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const places = [...directories.flatMap((directory) => names.map((name) => join(directory, name))), onMac]
  return places.find((path) => existsSync(path))
}

export function ensureChromium({ log = console.error } = {}) {
  const found = findChromium()
  if (found) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    log("Chromium is not installed. Installing Debian's package, once.")
    const options = { stdio: ['ignore', 'ignore', 'inherit'] }
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    execFileSync('apt-get', ['update', '-qq'], { ...options, env })
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], {
      ...options,
      env,
    })
    const installed = findChromium()
    if (installed) return installed
  }
  throw new Error(
    'Tests of the console need Chromium. Install it (on Debian: apt-get install chromium), or set CHROMIUM_PATH.',
  )
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  console.log(ensureChromium())
}
