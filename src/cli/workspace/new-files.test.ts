import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { loadKinds } from '../../kinds.ts'
import { readWorkspace } from '../../workspace/workspace.ts'
import { runProgram } from '../program.ts'

await loadKinds()

async function openWorkspace() {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  const run = async (args: string[], input = '') => {
    const io = memoryIo({ cwd: path, input })
    const code = await runProgram(args, io)
    return { code, out: io.stdout.text(), err: io.stderr.text() }
  }
  await run(['init'])
  const create = (args: string[], input = '') => run(['endpoint', 'new', ...args], input)
  return { path, run, create }
}

test('writes an endpoint and its test, and never replaces a file', async () => {
  const { path, create } = await openWorkspace()
  expect(await create(['orders.count', '--query', 'SELECT 1 AS n'])).toEqual({
    code: 0,
    out: 'endpoints/orders.count.sql\ntests/orders.count.yaml\nTo keep its results warm, set cache: 15m and warm: 5m in endpoints/orders.count.sql.\nTry it: wellhead check --strict && wellhead test --update\n',
    err: '',
  })
  const before = readFileSync(join(path, 'endpoints/orders.count.sql'), 'utf8')
  const { problems, definitions } = readWorkspace(path)
  expect(problems).toEqual([])
  expect(definitions.map(({ fields }) => fields.name)).toContain('orders.count')
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
  const { definitions } = readWorkspace(path)
  const [one, two] = ['one', 'two'].map(
    (name) => definitions.find(({ fields }) => fields.name === name)?.fields,
  )
  expect(one).toMatchObject({
    query: 'SELECT @n AS n',
    parameters: { n: { type: 'integer', required: true, example: '5' } },
  })
  expect(two).toMatchObject({ query: 'SELECT 2 AS two', parameters: {} })
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
  const before = readWorkspace(path).definitions.length
  expect(await create(args)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) })
  expect(readWorkspace(path).definitions).toHaveLength(before)
})

test('proposes the columns of a source from entries', async () => {
  const { path, run } = await openWorkspace()
  const entry = (fields: object) => JSON.stringify({ ...fields, message: 'm' })
  const lines = [
    entry({
      route: '/a',
      durationSeconds: 0.5,
      cart: { total: 3, items: [1] },
      id: 'x',
      'odd key': 1,
      'service.name': 's',
    }),
    entry({
      route: 'b'.repeat(60),
      durationSeconds: '?',
      cart: { total: 4 },
      'service.name': 's',
      stack: 's'.repeat(300),
    }),
  ]
  const { code, out } = await run(['source', 'init', 'shop_api', '--from', '-'], lines.join('\n'))
  expect([code, out]).toEqual([
    0,
    'sources/shop_api.yaml\n4 columns proposed from 2 entries.\n' +
      'The entries have no project, so no tenant will ever see them. ' +
      'If another field has it, add its path to sources/shop_api.yaml, such as project: customer.id\n',
  ])
  const content = readFileSync(join(path, 'sources/shop_api.yaml'), 'utf8')
  expect(content.split('\n').slice(2)).toEqual([
    'columns:',
    '  - { name: route, path: route, type: text } # 100 % of the entries, such as "/a"',
    '  - { name: duration_seconds, path: durationSeconds, type: text } # 100 % of the entries, such as 0.5',
    '  - { name: cart_total, path: cart.total, type: number } # 100 % of the entries, such as 3',
    '  - { name: service_name, path: service%2Ename, type: text } # 100 % of the entries, such as "s"',
    '',
  ])
  expect(readWorkspace(path).problems).toEqual([])
  const owned = JSON.stringify({ project: 'p', id: 'i', metadata: { id: 1 } })
  const own = await run(['source', 'init', 'own', '--from', '-'], owned)
  expect(own.out).toBe('sources/own.yaml\n1 column proposed from 1 entry.\n')
  expect(readFileSync(join(path, 'sources/own.yaml'), 'utf8')).toContain(
    '{ name: metadata_id, path: id, type: number }',
  )
  expect(await run(['source', 'init', 'own', '--from', '-'], owned)).toMatchObject({
    ...{ code: 1, err: 'wellhead: sources/own.yaml already exists; nothing was written.\n' },
  })
})

test.each([
  [{ customer: { name: 'Acme', id: 7 }, orgId: 'o' }, 'customer.id'],
  [{ attributes: { 'tenant.id': 'a' }, reproject: 1 }, 'attributes."tenant.id"'],
])('source init proposes a path of the project that the source can have', async (fields, path) => {
  const { path: directory, run } = await openWorkspace()
  const more = { customer: { id: 8 }, ...fields }
  const input = [fields, more].map((entry) => JSON.stringify(entry)).join('\n')
  const { out } = await run(['source', 'init', 'shop_api', '--from', '-'], input)
  const line = `project: ${path}`
  expect(out).toContain(`If ${path} is their project, add this line to sources/shop_api.yaml: ${line}\n`)
  const file = join(directory, 'sources/shop_api.yaml')
  writeFileSync(file, `${readFileSync(file, 'utf8')}${line}\n`)
  expect(readWorkspace(directory).problems).toEqual([])
})

test.each([
  ['nothing', '', 'stdin has no entries.'],
  ['a broken line', '{"a":1}\n\n{"a":', 'stdin:3: the line is not valid JSON.'],
  ['a line that is no entry', '{"a":1}\n5', 'stdin:2: an entry must be a JSON object.'],
  ['a document', '[{"a":1}]', "stdin is one JSON document. Send its entries as lines: jq -c '.[]'"],
  ['a huge line', `{"a":1}\n${'x'.repeat(9 * 2 ** 20)}\n`, 'stdin:2: is too long to be an entry.'],
])('source init explains why it cannot use %s, and writes nothing', async (_, input, message) => {
  const { path, run } = await openWorkspace()
  expect(await run(['source', 'init', 'shop_api', '--from', '-'], input)).toEqual({
    ...{ code: 1, out: '', err: expect.stringContaining(`wellhead: ${message}`) },
  })
  expect(existsSync(join(path, 'sources'))).toBe(false)
})

test.each([
  ['Shop', 'The source name must be lowercase letters'],
  ['edge_logs', 'The source edge_logs is built in. Choose another name.'],
])('source init exits with 2 for the name %s', async (name, message) => {
  const { run } = await openWorkspace()
  expect(await run(['source', 'init', name, '--from', '-'], '{}')).toMatchObject({
    ...{ code: 2, err: expect.stringContaining(message) },
  })
})
