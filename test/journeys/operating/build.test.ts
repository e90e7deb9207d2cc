import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** A copy of the checkout with its build; dist has one file, which a build would replace. */
function copyCheckout() {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  for (const name of [
    'src',
    'client',
    'console',
    'docs/reference',
    'scripts',
    'build',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ]) {
    cpSync(join(repository, name), join(path, name), { recursive: true })
  }
  symlinkSync(join(repository, 'node_modules'), join(path, 'node_modules'))
  mkdirSync(join(path, 'dist'))
  writeFileSync(join(path, 'dist/main.js'), 'as it was')
  return {
    at: (name: string) => join(path, name),
    build: () => startCommand([], { command: ['node', 'scripts/build-if-stale.mjs'], cwd: path }),
  }
}

test('a moved checkout is not built again, and says nothing', async () => {
  const { at, build } = copyCheckout()
  expect(await build().result).toMatchObject({ stdout: '', stderr: '', code: 0 })
  expect(readFileSync(at('dist/main.js'), 'utf8')).toBe('as it was')
})

test('a build waits for one that runs, but not for one that was killed', async () => {
  const { at, build } = copyCheckout()
  renameSync(at('build/.built-from'), at('build/.later'))
  writeFileSync(at('build.lock'), String(process.pid))
  const { child, result } = build()
  const [said] = await once(child.stderr as Readable, 'data')
  expect(String(said)).toBe('Waiting for another process that builds Wellhead.\n')
  renameSync(at('build/.later'), at('build/.built-from'))
  rmSync(at('build.lock'))
  expect(await result).toMatchObject({ stdout: '', code: 0 })
  expect(readFileSync(at('dist/main.js'), 'utf8')).toBe('as it was')

  writeFileSync(at('build.lock'), String(spawnSync('true').pid))
  // The console shows this page, so the build is stale; without packages it fails.
  appendFileSync(at('docs/reference/errors.md'), 'One more error.\n')
  rmSync(at('node_modules'))
  expect(await build().result).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('rolldown'),
    code: 1,
  })
  expect([at('build.lock'), at('dist/main.js')].filter((path) => existsSync(path))).toEqual([])
})
