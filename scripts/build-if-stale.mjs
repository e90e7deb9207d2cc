import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'build', '.built-from')
const lock = join(root, 'build.lock')
const built = ['dist/main.js', 'client/dist/client.js', 'console/src/api/schema.d.ts'].map((file) =>
  join(root, file),
)
const consoleTypes = join(root, 'console/src/api/schema.d.ts')
const maxBuildMs = 180_000

/** What the build depends on. Paths are relative, so that a checkout can be moved. */
function fingerprint() {
  const hash = createHash('sha256')
  // The console shows pages of docs/reference.
  const files = ['src', 'client', 'console', 'scripts', 'docs/reference'].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:test|d)\.ts$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((file) => !file.startsWith('client/dist/')),
  )
  // Dependencies are part of the bundles.
  for (const file of [...files.sort(), 'tsconfig.json', 'package-lock.json']) {
    hash.update(file).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

function isBuiltFrom(sources) {
  try {
    return readFileSync(stamp, 'utf8') === sources && built.every((file) => existsSync(file))
  } catch {
    return false
  }
}

/** Declarations beside the files of the client. They need nothing from src. */
function writeClientTypes() {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'client'], { cwd: root })
  for (const name of ['client', 'react', 'pino']) {
    const text = readFileSync(join(root, `build/types/client/${name}.d.ts`), 'utf8')
    writeFileSync(join(root, `client/dist/${name}.d.ts`), text.replaceAll(/(?<= from '\.\/\w+\.)ts/g, 'js'))
  }
}

/** Generates the console's types from the OpenAPI document of the service that was just built. */
async function writeConsoleTypes() {
  const { documentsOf } = await import('../build/core/http/openapi/document.js')
  const { describedServer } = await import('../build/described-server.js')
  const input = JSON.stringify(documentsOf(await describedServer())({ version: '' }))
  const options = { cwd: root, input, maxBuffer: 64 * 2 ** 20 }
  writeFileSync(consoleTypes, execFileSync(process.execPath, ['scripts/openapi-types.mjs'], options))
}

/** Builds if the sources changed since the last build. Prints nothing, or why it waits or fails to standard error. */
export async function buildIfStale() {
  const sources = fingerprint()
  if (isBuiltFrom(sources)) return
  if (!takeLock()) {
    console.error('Waiting for another process that builds Wellhead.')
    do await pause(100)
    while (!takeLock())
  }
  try {
    if (!isBuiltFrom(sources)) await build(sources)
  } finally {
    rmSync(lock, { force: true })
  }
}

/** One process builds at a time: a second one would remove the files of the first. */
function takeLock() {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!isAbandoned()) return false
    rmSync(lock, { force: true })
    return takeLock()
  }
}

/** A process that was killed leaves its lock, and another one may have its id by now. */
function isAbandoned() {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    process.kill(pid, 0)
    return pid === process.pid || statSync(lock).mtimeMs < Date.now() - maxBuildMs
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

async function build(sources) {
  for (const directory of ['build', 'dist', 'client/dist']) {
    rmSync(join(root, directory), { recursive: true, force: true })
  }
  const { bundle, bundleClient, transpile } = await import('./bundle.mjs')
  const [modules] = await Promise.all([bundle(), bundleClient(), transpile()])
  writeClientTypes()
  await writeConsoleTypes()
  const { buildConsole } = await import('./build-console.mjs')
  const { writeNotices } = await import('./notices.mjs')
  writeNotices([...modules, ...(await buildConsole())])
  writeFileSync(stamp, sources)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale()
