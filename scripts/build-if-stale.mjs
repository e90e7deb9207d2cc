import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'dist', '.built-from')

function fingerprint() {
  const hash = createHash('sha256')
  const files = ['src', 'console'].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  for (const file of [...files.sort(), join(root, 'tsconfig.json'), join(root, 'tsconfig.build.json')]) {
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

/** Builds if the sources changed since the last build. */
export async function buildIfStale() {
  const current = fingerprint()
  if (builtFrom() === current) return
  console.error('Building …')
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
  const { buildConsole } = await import('./build-console.mjs')
  await buildConsole()
  writeFileSync(stamp, current)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale()
