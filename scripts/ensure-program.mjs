/** Finds a program or library that tests need, or installs Debian's package of it if it can. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Installs the program with the first name if it can. Fails with what to do if none is there. */
function ensureProgram({ title, names, others = [], variable, package: debian, log = console.error }) {
  const find = (wanted = names) => {
    const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
    const inPath = wanted.flatMap((name) => directories.map((directory) => join(directory, name)))
    return (variable && process.env[variable]) || [...inPath, ...others].find((path) => existsSync(path))
  }
  const found = find(names.slice(0, 1))
  if (found) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    log(`Installing Debian's package ${debian}, once.`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const options = { stdio: ['ignore', 'ignore', 'inherit'], env }
    try {
      execFileSync('apt-get', ['update', '-qq', '-o', 'Acquire::http::Timeout=20'], options)
      execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian], options)
    } catch (error) {
      log(error.message)
    }
  }
  const other = find()
  if (other) return other
  const orSet = variable ? `, or set ${variable} to its path` : ''
  throw new Error(
    `Tests and benchmarks need ${title}. Install it (on Debian: apt-get install ${debian})${orSet}.`,
  )
}

export const ensureChromium = () =>
  ensureProgram({
    title: 'Chromium',
    // Without a user interface of its own, it takes two thirds of the processor time of the others.
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

export const ensureWrk = () => ensureProgram({ title: 'wrk', names: ['wrk'], package: 'wrk' })

/** Returns undefined without libfaketime: the scenario that sets clocks is then skipped and says how to install it. */
export function ensureFaketime() {
  const folders = process.platform === 'linux' ? readdirSync('/usr/lib') : []
  const directories = ['/usr/lib', '/usr/local/lib', ...folders.map((folder) => join('/usr/lib', folder))]
  try {
    return ensureProgram({
      title: 'libfaketime',
      names: [],
      others: directories.map((directory) => join(directory, 'faketime/libfaketime.so.1')),
      variable: 'FAKETIME_LIBRARY',
      package: 'faketime',
    })
  } catch {
    return undefined
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  console.log(process.argv[2] === 'nginx' ? ensureNginx() : ensureChromium())
}
