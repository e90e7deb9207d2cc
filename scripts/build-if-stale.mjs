import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'build', '.built-from')
const consoleTypes = join(root, 'console/src/api/schema.d.ts')

/** What the build depends on. Paths are relative, so that a checkout can be moved. */
function fingerprint() {
  const hash = createHash('sha256')
  const files = ['src', 'console', 'scripts'].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:test|d)\.ts$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  )
  // Dependencies are part of the bundles, and the console shows the page of warnings.
  for (const file of [...files.sort(), 'tsconfig.json', 'package-lock.json', 'docs/reference/warnings.md']) {
    hash.update(file).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

function builtFrom() {
  try {
    return readFileSync(stamp, 'utf8')
  } catch {
    return undefined
  }
}

/** Generates the console's types from the OpenAPI document of the service that was just built. */
async function writeConsoleTypes() {
  const { documentsOf } = await import('../build/http/openapi/document.js')
  const { documentedRoutes } = await import('../build/http/server.js')
  const input = JSON.stringify(documentsOf(await documentedRoutes())({ version: '' }))
  const options = { cwd: root, input, maxBuffer: 64 * 2 ** 20 }
  writeFileSync(consoleTypes, execFileSync(process.execPath, ['scripts/openapi-types.mjs'], options))
}

/** Builds if the sources changed since the last build. Prints nothing unless it fails. */
export async function buildIfStale() {
  const current = fingerprint()
  const isWhole = [consoleTypes, join(root, 'dist/main.js')].every((file) => existsSync(file))
  if (builtFrom() === current && isWhole) return
  for (const directory of ['build', 'dist']) rmSync(join(root, directory), { recursive: true, force: true })
  const { bundle, transpile } = await import('./bundle.mjs')
  await Promise.all([bundle(), transpile()])
  await writeConsoleTypes()
  const { buildConsole } = await import('./build-console.mjs')
  await buildConsole()
  writeFileSync(stamp, current)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale()
