import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

test('a moved checkout is not built again, and says nothing', () => {
  const directory = scratchDirectory()
  onTestFinished(() => directory.remove())
  for (const name of [
    'src',
    'console',
    'scripts',
    'build',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ]) {
    cpSync(join(repository, name), join(directory.path, name), { recursive: true })
  }
  mkdirSync(join(directory.path, 'docs/reference'), { recursive: true })
  cpSync(join(repository, 'docs/reference/warnings.md'), join(directory.path, 'docs/reference/warnings.md'))
  symlinkSync(join(repository, 'node_modules'), join(directory.path, 'node_modules'))
  // A build would replace this file.
  const main = join(directory.path, 'dist/main.js')
  mkdirSync(join(directory.path, 'dist'))
  writeFileSync(main, 'as it was')
  const { stdout, stderr, status } = spawnSync('node', ['scripts/build-if-stale.mjs'], {
    cwd: directory.path,
    encoding: 'utf8',
  })
  expect({ stdout, stderr, status }).toEqual({ stdout: '', stderr: '', status: 0 })
  expect(readFileSync(main, 'utf8')).toBe('as it was')
})
