import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { readWorkspace } from '../../workspace/workspace.ts'
import { runProgram } from '../program.ts'

async function openWorkspace() {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  const run = async (args: string[], input = '') => {
    const io = memoryIo({ cwd: path, input })
    const code = await runProgram(args, io)
    return { code, out: io.stdout.text(), err: io.stderr.text() }
  }
  await run(['init'])
  return { path, create: (args: string[], input = '') => run(['endpoint', 'new', ...args], input) }
}

test('writes an endpoint and its test, and never replaces a file', async () => {
  const { path, create } = await openWorkspace()
  expect(await create(['orders.count', '--query', 'SELECT 1 AS n'])).toEqual({
    code: 0,
    out: 'endpoints/orders.count.sql\ntests/orders.count.yaml\nTry it: wellhead check --strict && wellhead test --update\n',
    err: '',
  })
  const before = readFileSync(join(path, 'endpoints/orders.count.sql'), 'utf8')
  const { problems, endpoints } = readWorkspace(path)
  expect(problems).toEqual([])
  expect(endpoints.map(({ definition }) => definition.name)).toContain('orders.count')
  expect(await create(['orders.count', '--query', 'SELECT 1 AS n'])).toMatchObject({
    code: 1,
    err: 'wellhead: endpoints/orders.count.sql and tests/orders.count.yaml already exist; nothing was written.\n',
  })
  expect(readFileSync(join(path, 'endpoints/orders.count.sql'), 'utf8')).toBe(before)
  writeFileSync(join(path, 'tests/other.yaml'), '')
  expect((await create(['other', '--query', 'SELECT 1 AS n'])).err).toContain(
    'tests/other.yaml already exists; nothing was written.',
  )
  expect(existsSync(join(path, 'endpoints/other.sql'))).toBe(false)
})

test('takes the SQL of an argument or of standard input', async () => {
  const { path, create } = await openWorkspace()
  await create(['one', '--query', 'SELECT @n AS n', '--parameter', 'n=5'])
  await create(['two', '.', '--query', '-'], '\n  SELECT 2 AS two;\n')
  const queries = readWorkspace(path).endpoints.map(({ definition }) => [
    definition.query,
    definition.parameters,
  ])
  expect(queries).toMatchObject([
    ['SELECT @n AS n', { n: { type: 'integer', required: true, example: '5' } }],
    expect.anything(),
    ['SELECT 2 AS two', {}],
  ])
})

test.each([
  ['a path', ['../escape', '--query', 'SELECT 1'], 'The name must start with a letter'],
  [
    'a reserved name',
    ['wellhead.mine', '--query', 'SELECT 1'],
    'Names that start with "wellhead." are reserved',
  ],
  ['an empty query', ['a', '--query', ' ;'], 'The query is empty.'],
  ['no input', ['a', '--query', '-'], 'The query is empty.'],
  ['an unused example', ['a', '--query', 'SELECT 1', '--parameter', 'x=1'], 'The query does not use @x.'],
  ['no SQL', ['a'], "required option '--query <sql>' not specified"],
  ['a directory that is no workspace', ['a', 'tests', '--query', 'SELECT 1'], 'is not a workspace'],
])('exits with 2 for %s and writes nothing', async (_, args, message) => {
  const { path, create } = await openWorkspace()
  expect(await create(args)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) })
  expect(readWorkspace(path).endpoints).toHaveLength(1)
})
