import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { runProgram } from '../program.ts'

function workIn(): {
  path: string
  run: (...args: string[]) => Promise<{ code: number; out: string; err: string }>
} {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  const run = async (...args: string[]) => {
    const io = memoryIo({ cwd: path })
    const code = await runProgram(args, io)
    return { code, out: io.stdout.text(), err: io.stderr.text() }
  }
  return { path, run }
}

test('init makes a project where there is none, leaves a README alone, and replaces nothing', async () => {
  const { path, run } = workIn()
  writeFileSync(join(path, 'README.md'), 'mine')
  mkdirSync(join(path, 'fixtures'))
  expect(await run('init')).toMatchObject({ code: 0, err: '' })
  expect(readdirSync(path).sort()).toEqual(['.gitignore', 'README.md', 'endpoints', 'fixtures', 'tests'])
  expect(readFileSync(join(path, 'README.md'), 'utf8')).toBe('mine')
  const again = await run('init')
  expect(again).toMatchObject({ code: 1, out: '' })
  expect(again.err).toContain('has endpoints, fixtures, tests already; nothing was written.')
  expect((await run('init', 'deep/down')).out).toContain('Try it: cd deep/down && wellhead test\n')
  const ids = ['.', 'deep/down'].map(
    (at) => /id: (\S+)/.exec(readFileSync(join(path, at, 'endpoints/requests.by-status.sql'), 'utf8'))?.[1],
  )
  expect(new Set(ids).size).toBe(2)
})

test('a directory that is no project is told as such, with exit code 2', async () => {
  const { run } = workIn()
  for (const command of ['check', 'test', 'diff', 'deploy']) {
    const { code, err } = await run(command)
    expect([command, code]).toEqual([command, 2])
    expect(err).toContain('is no project: it has no directory endpoints. wellhead init makes one.')
  }
})

test('files that cannot be read are told before anything is started or asked', async () => {
  const { path, run } = workIn()
  await run('init')
  writeFileSync(join(path, 'endpoints/bad.sql'), '/*\nid: 1\n*/\nSELECT 1')
  const problem = 'endpoints/bad.sql:2:1: id must be a UUID.\n'
  expect(await run('test')).toEqual({ code: 1, out: problem, err: 'wellhead: 1 problem found.\n' })
  expect(await run('deploy')).toMatchObject({ code: 1, out: problem })
  const { out } = await run('test', '--json')
  expect(JSON.parse(out).problems).toEqual([
    { file: 'endpoints/bad.sql', line: 2, column: 1, message: 'id must be a UUID.' },
  ])
})
