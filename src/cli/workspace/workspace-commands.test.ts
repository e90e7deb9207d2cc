import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { runProgram } from '../program.ts'

function openDirectory(environment: Record<string, string> = {}) {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  const run = async (...args: string[]) => {
    const io = memoryIo({ cwd: path, environment })
    const code = await runProgram(args, io)
    return { code, out: io.stdout.text(), err: io.stderr.text() }
  }
  return { path, run }
}

test('init creates a workspace, keeps an existing README, and replaces nothing', async () => {
  const { path, run } = openDirectory()
  writeFileSync(join(path, 'README.md'), 'mine')
  mkdirSync(join(path, 'fixtures'))
  expect(await run('init')).toMatchObject({ code: 0, err: '' })
  expect(readdirSync(path).sort()).toEqual([
    '.gitattributes',
    '.gitignore',
    'README.md',
    'endpoints',
    'fixtures',
    'tests',
  ])
  expect(readFileSync(join(path, 'README.md'), 'utf8')).toBe('mine')
  expect(await run('init')).toEqual({
    code: 1,
    out: '',
    err: expect.stringContaining('already contains endpoints, fixtures, tests; nothing was written.'),
  })
  expect((await run('init', 'deep/down')).out).toContain('Try it: cd deep/down && wellhead test\n')
  const ids = ['.', 'deep/down'].map(
    (at) => /id: (\S+)/.exec(readFileSync(join(path, at, 'endpoints/requests.by-status.sql'), 'utf8'))?.[1],
  )
  expect(new Set(ids).size).toBe(2)
})

test.each([
  ['nginx', 'sources/nginx_logs.yaml', 'Try it: wellhead test\n'],
  ['otel', 'endpoints/errors.recent.sql', 'Try it: wellhead test\n'],
  ['empty', 'endpoints/.gitkeep', 'Try it: wellhead source init <name> --from <file of entries>\n'],
])('init --template %s writes its files', async (template, file, next) => {
  const { run } = openDirectory()
  const { code, out } = await run('init', '--template', template)
  expect([code, out.split('\n')]).toEqual([0, expect.arrayContaining([file, 'README.md', '.gitignore'])])
  expect(out.endsWith(next)).toBe(true)
  expect((await run('init', 'other', '--template', 'apache')).err).toContain(
    'supabase, supabase-hosted, nginx, otel, empty',
  )
})

test.each(['check', 'test', 'diff', 'deploy'])('%s outside a workspace exits with 2', async (command) => {
  const { code, err } = await openDirectory().run(command)
  expect(code).toBe(2)
  expect(err).toContain('is not a workspace: it has no directory "endpoints".')
})

test('reports unreadable files before starting an engine or sending a request', async () => {
  const { path, run } = openDirectory()
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

test.each(['check', 'test'])('%s says what to install if there is no embedded engine', async (command) => {
  const { run } = openDirectory({ WELLHEAD_ENGINE_NODE: '/no/such/node' })
  await run('init')
  const { code, err } = await run(command)
  expect([code, err.trim().split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(
        /^wellhead: This machine has no embedded engine: .*\. Install Wellhead with npm .* dependencies\.$/,
      ),
    ],
  ])
})

test.each([
  [['--replay=loose'], 'The only mode is strict.'],
  [['--replay', 'shop'], 'Write the directory before --replay.'],
])('deploy %j exits with 2', async (flags, message) => {
  const { run } = openDirectory()
  await run('init')
  expect(await run('deploy', ...flags)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) })
})
