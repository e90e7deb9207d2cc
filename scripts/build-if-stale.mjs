import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'dist', '.built-from')
const consoleTypes = join(root, 'console/src/api/schema.d.ts')

function fingerprint() {
  const hash = createHash('sha256')
  const files = ['src', 'console'].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:test|d)\.ts$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  // The console shows the page of warnings.
  const others = ['tsconfig.json', 'tsconfig.build.json', 'docs/reference/warnings.md']
  for (const file of [...files.sort(), ...others.map((name) => join(root, name))]) {
    hash.update(file).update(readFileSync(file))
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

const run = (args, options) => execFileSync(process.execPath, args, { cwd: root, ...options })

/** Generates the console's types from the OpenAPI document of the service that was just built. */
async function writeConsoleTypes() {
  const { documentsOf } = await import('../dist/http/openapi/document.js')
  const { documentedRoutes } = await import('../dist/http/server.js')
  const input = JSON.stringify(documentsOf(await documentedRoutes())({ version: '' }))
  writeFileSync(consoleTypes, run(['scripts/openapi-types.mjs'], { input, maxBuffer: 64 * 2 ** 20 }))
}

/** Builds if the sources changed since the last build. */
export async function buildIfStale() {
  const current = fingerprint()
  if (builtFrom() === current && existsSync(consoleTypes)) return
  console.error('Building …')
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  run(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
  await writeConsoleTypes()
  const { buildConsole } = await import('./build-console.mjs')
  await buildConsole()
  writeFileSync(stamp, current)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale()
