/** Finds a program that tests need, or installs Debian's package of it if it can. */
import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Fails with what to do if the program is missing and cannot be installed. */
function ensureProgram({ title, names, others = [], variable, package: debian, log = console.error }) {
  const find = () => {
    const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
    const inPath = directories.flatMap((directory) => names.map((name) => join(directory, name)))
    return process.env[variable] || [...inPath, ...others].find((path) => existsSync(path))
  }
  const found = find()
  if (found) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    log(`${title} is not installed. Installing Debian's package, once.`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const options = { stdio: ['ignore', 'ignore', 'inherit'], env }
    execFileSync('apt-get', ['update', '-qq'], options)
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian], options)
    const installed = find()
    if (installed) return installed
  }
  throw new Error(
    `Tests need ${title}. Install it (on Debian: apt-get install ${debian}), or set ${variable} to its path.`,
  )
}

export const ensureChromium = () =>
  ensureProgram({
    title: 'Chromium',
    // The shell has no user interface of its own, which takes a third of the processor time.
    names: [
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
    ],
    others: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
    variable: 'CHROMIUM_PATH',
    package: 'chromium-headless-shell',
  })

export const ensureNginx = () =>
  ensureProgram({
    title: 'nginx',
    names: ['nginx'],
    // Not in the path of ordinary users.
    others: ['/usr/sbin/nginx'],
    variable: 'NGINX_PATH',
    package: 'nginx-light',
  })

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  console.log(process.argv[2] === 'nginx' ? ensureNginx() : ensureChromium())
}
