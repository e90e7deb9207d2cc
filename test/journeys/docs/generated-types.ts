import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scratchDirectory } from '../../support/scratch.ts'

const generator = fileURLToPath(new URL('../../../scripts/openapi-types.mjs', import.meta.url))
const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** Compiler errors in code that uses the types of a document, and packages such as openapi-fetch. */
export function problemsWithTypes(document: object, code: string): string[] {
  const generated = spawnSync(process.execPath, [generator], {
    input: JSON.stringify(document),
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  if (generated.status !== 0) throw new Error(generated.stderr)
  const directory = scratchDirectory()
  try {
    symlinkSync(packages, join(directory.path, 'node_modules'))
    writeFileSync(join(directory.path, 'api.ts'), generated.stdout)
    writeFileSync(join(directory.path, 'code.ts'), code)
    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'preserve', '--types', '']
    const compiled = spawnSync(process.execPath, [compiler, ...flags, join(directory.path, 'code.ts')], {
      encoding: 'utf8',
      cwd: directory.path,
    })
    return compiled.stdout.split('\n').filter((line) => line.includes('error TS'))
  } finally {
    directory.remove()
  }
}
