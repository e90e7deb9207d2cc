import { describe, expect, test } from 'vitest'
import { allKinds, loadKinds } from '../../kinds.ts'
import {
  compareWithService,
  prunedOf,
  readServiceDefinition,
  type ServiceDefinition,
  titleOf,
} from './plan.ts'
import { pullPlan } from './pull.ts'

await loadKinds()

const kindOf = (folder: string) => {
  const found = allKinds().find((kind) => kind.folder === folder)
  if (!found) throw new Error(`There is no kind ${folder}`)
  return found
}
const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`

const onService = (folder: string, view: object, version = 1, updated_by = 'token') =>
  readServiceDefinition(kindOf(folder), { id: idOf(7), ...view, version, updated_by })
const endpoint = (digit: number, name: string, query = 'SELECT 1') => ({ id: idOf(digit), name, query })

/** A file as its author may have written it. */
const fileOf = (folder: string, file: string, content: string) => {
  const kind = kindOf(folder)
  const name = file.replace(kind.file.extension, '')
  const reading = kind.file.read(`${folder}/${file}`, name, content)
  if ('problems' in reading) throw new Error(reading.problems[0]?.message)
  return { kind, file: `${folder}/${file}`, ...reading }
}
/** Of a workspace without named values. */
const workspaceOf = (definitions: ReturnType<typeof fileOf>[], existing = definitions) => ({
  definitions,
  files: new Set(existing.map(({ file }) => file)),
  write: ({ kind, fields }: Pick<ServiceDefinition, 'kind' | 'fields'>) => kind.file.write(fields),
})
const endpointFile = ({ id, name, query }: ReturnType<typeof endpoint>) =>
  fileOf('endpoints', `${name}.sql`, `/*\n# A comment.\nid: ${id}\n*/\n${query}`)

test('compares by id where files have ids, else by name, and keeps the version of each', () => {
  const files = [
    fileOf('sources', 'orders.yml', 'retention_days: 30\n'),
    ...[endpoint(1, 'same'), endpoint(2, 'changed', 'SELECT 2'), endpoint(3, 'fresh')].map(endpointFile),
    fileOf('alerts', 'errors.yaml', 'endpoint: same\nwhen: rows > 0\n'),
  ]
  const comparison = compareWithService(workspaceOf(files), [
    onService('sources', { name: 'orders', aliases: [], retention_days: 90 }, 2),
    onService('sources', { name: 'edge_logs' }),
    onService('endpoints', endpoint(1, 'same'), 4),
    onService('endpoints', endpoint(2, 'before'), 7),
    onService('endpoints', endpoint(9, 'other')),
    onService('endpoints', endpoint(8, 'wellhead.stats')),
    onService('alerts', { name: 'errors', endpoint: 'same', when: 'rows > 0', muted_until: null }, 5),
  ])
  expect(comparison.files.map(({ current }) => current?.version)).toEqual([2, 4, 7, undefined, 5])
  expect(comparison.onlyOnService.map(titleOf)).toEqual(['other'])
  const [source, same, changed, fresh, alert] = comparison.files.map(({ diff }) => diff)
  expect([same, alert]).toEqual(['', ''])
  expect(source).toBe(
    '--- service/orders (version 2)\n+++ sources/orders.yml\n@@ -0,0 +1,1 @@\n+retention_days: 30\n',
  )
  expect(changed).toMatch(/^--- service\/before \(version 7\)\n\+\+\+ endpoints\/changed\.sql\n/)
  expect(changed).toContain('\n-SELECT 1\n+SELECT 2\n')
  expect(fresh).toContain('--- not on the service\n')
})

test('prunes what has no file, except sources, what is shipped, and kinds without any file', () => {
  const service = [
    onService('sources', { name: 'orders' }),
    onService('endpoints', endpoint(1, 'old')),
    onService('endpoints', endpoint(2, 'shipped'), 1, 'wellhead'),
    onService('endpoints', endpoint(3, 'wellhead.stats')),
    onService('alerts', { name: 'old', endpoint: 'old', when: 'rows > 0' }),
  ]
  const pruned = (...files: ReturnType<typeof fileOf>[]) =>
    prunedOf(compareWithService(workspaceOf(files), service)).map(titleOf)
  const alert = fileOf('alerts', 'new.yaml', 'endpoint: a\nwhen: rows > 0\n')
  expect(pruned()).toEqual([])
  expect(pruned(fileOf('sources', 'mine.yaml', ''), endpointFile(endpoint(4, 'a')))).toEqual(['old'])
  expect(pruned(alert)).toEqual(['alert old'])
  // With another id it is another endpoint, whose name the service refuses.
  expect(pruned(endpointFile(endpoint(5, 'old')))).toEqual([])
})

test('explains a definition that another version of the service returns', () => {
  expect(() => onService('endpoints', { ...endpoint(1, 'a'), max_rows: -1 })).toThrow(
    'Cannot read endpoints/a of the service: max_rows must be a whole number from 1 to 10000. Use the same version',
  )
  expect(() => onService('sources', { name: '../escape' })).toThrow('Cannot read sources/../escape')
})

describe('pullPlan', () => {
  const local = [endpoint(1, 'a'), endpoint(2, 'b')].map(endpointFile)
  const plan = (files: typeof local, pulled: ReturnType<typeof endpoint>) =>
    pullPlan(workspaceOf(files, local), [onService('endpoints', pulled)])

  test('leaves an equivalent file unchanged, under its own name', () => {
    expect(plan(local, endpoint(1, 'a'))).toMatchObject([{ action: 'unchanged', loses: [] }])
    const source = fileOf('sources', 'shop.yml', '# Ours.\nretention_days: 30\n')
    const pulled = (retention_days: number) =>
      pullPlan(workspaceOf([source]), [onService('sources', { name: 'shop', retention_days })])
    expect(pulled(30)).toMatchObject([{ file: 'sources/shop.yml', action: 'unchanged', loses: [] }])
    expect(pulled(3)).toMatchObject([{ file: 'sources/shop.yml', action: 'replaced', loses: [source.file] }])
  })

  test('writes content that reads back as the same endpoint, so that deploying it changes nothing', () => {
    const [pulled] = plan([], endpoint(1, 'new', 'SELECT \'/* x */\' AS "y"'))
    const { fields } = fileOf('endpoints', 'new.sql', pulled?.content ?? '')
    expect(fields).toEqual(onService('endpoints', endpoint(1, 'new', 'SELECT \'/* x */\' AS "y"')).fields)
  })

  test.each([
    ['another text', endpoint(1, 'a', 'SELECT 2'), 'a', 'replaced', ['a']],
    ['another name', endpoint(1, 'new'), 'new', 'replaced', ['a']],
    ['the name of another endpoint', endpoint(1, 'b'), 'b', 'replaced', ['a', 'b']],
    ['a new endpoint', endpoint(3, 'c'), 'c', 'written', []],
  ])('lists the files that would be lost: %s', (_, pulled, name, action, lost) => {
    expect(plan(local, pulled)).toMatchObject([
      { file: `endpoints/${name}.sql`, action, loses: lost.map((one) => `endpoints/${one}.sql`) },
    ])
  })

  test('lists an unreadable file with the name of the endpoint as lost', () => {
    expect(plan([], endpoint(1, 'a'))).toMatchObject([{ action: 'replaced', loses: ['endpoints/a.sql'] }])
  })
})
