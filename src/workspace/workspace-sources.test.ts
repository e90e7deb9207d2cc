import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type NewSource, newSourceShape } from '../catalog/source.ts'
import { pullPlan } from './deployment-plan.ts'
import {
  columnsInUse,
  needsSources,
  planSources,
  sourceConflicts,
  sourceFileIn,
  sourceFileOf,
} from './workspace-sources.ts'

const sourceOf = (fields: object): NewSource => newSourceShape.parse({ name: 'shop', ...fields })
const column = (name: string, path = name, type = 'text') => ({ name, path, type })
const file = 'sources/shop.yaml'
const endpointsOf = (...queries: string[]) =>
  queries.map((query, index) => ({ definition: { name: `endpoint-${index}`, query } }))
const counted: string[] = []

async function plan(wanted: object, current?: object, ...queries: string[]) {
  counted.length = 0
  const [planned] = await planSources(
    [{ file, source: sourceOf(wanted) }],
    current ? [sourceOf(current)] : [],
    endpointsOf(...queries),
    async (source, condition) => {
      counted.push(`${source}: ${condition}`)
      return '12 entries'
    },
  )
  return planned as NonNullable<typeof planned>
}

test('lists every difference, and the entries that a removal concerns', async () => {
  const planned = await plan(
    {
      description: 'Orders.',
      aliases: ['new'],
      retention_days: 7,
      columns: [column('added'), column('kept'), column('changed', 'b', 'number')],
    },
    { aliases: ['old'], columns: [column('kept'), column('gone', 'a.gone'), column('changed', 'a')] },
  )
  expect([planned.action, ...planned.changes.map(({ effect, message }) => `${effect}: ${message}`)]).toEqual([
    'updated',
    'compatible: description changed',
    'compatible: alias new added',
    'breaking: alias old removed; requests that send to it will fail',
    'breaking: retention_days 90 → 7; 12 entries older than that will be deleted',
    'compatible: column added added: metadata.added, text',
    'compatible: column changed changed from metadata.a, text to metadata.b, number',
    'warning: column gone removed; metadata.a.gone remains in 12 entries, and queries then read it from JSON text',
  ])
  expect(counted).toEqual([
    'shop: timestamp < @now - toIntervalDay(7)',
    "shop: ifNull(toString(`gone`), '') != ''",
  ])
  expect(planned.added.map(({ name }) => name)).toEqual(['added', 'changed'])
  expect(planned.removed.map(({ name }) => name)).toEqual(['gone'])
})

test.each([
  ['another type', { type: 'number' }, 'breaking'],
  ['another path', { path: 'b' }, 'breaking'],
  ['an index for searches', { searched: true }, 'compatible'],
])('%s of a column that endpoints read (%j) is %s', async (_, change, effect) => {
  const queries = ['SELECT 1 FROM shop', 'SELECT route FROM shop', 'SELECT count(route) FROM shop']
  const current = { columns: [column('route')] }
  const { changes } = await plan({ columns: [{ ...column('route'), ...change }] }, current, ...queries)
  const names = '; results of endpoint-1, endpoint-2 may differ'
  const end = effect === 'breaking' ? names : ', searched'
  expect(changes).toEqual([
    { effect, message: expect.stringMatching(`^column route changed from .*${end}$`) },
  ])
})

test('creates a source whole, and leaves an equal one alone', async () => {
  const columns = [column('b'), column('a')]
  expect(await plan({ columns })).toMatchObject({ action: 'created', wanted: sourceOf({ columns }) })
  expect(await plan({ columns }, { columns: columns.toReversed() })).toMatchObject({
    ...{ action: 'unchanged', changes: [] },
  })
  expect(await plan({ retention_days: 365 }, {})).toMatchObject({ changes: [{ effect: 'compatible' }] })
  expect(counted).toEqual([])
})

test('finds endpoints that the service cannot check yet', async () => {
  const created = await plan({})
  const changed = await plan({ columns: [column('route')] }, {})
  expect(needsSources('SELECT 1 FROM shop', [created])).toBe(true)
  expect(needsSources('SELECT 1 FROM other', [created])).toBe(false)
  expect(needsSources('SELECT route FROM shop', [changed])).toBe(true)
  expect(needsSources('SELECT metadata.route FROM shop', [changed])).toBe(false)
})

test('refuses to remove columns that endpoints read', async () => {
  const planned = [await plan({}, { columns: [column('route')] })]
  const endpoints = endpointsOf('SELECT route FROM shop', 'SELECT metadata.route FROM shop')
  expect(columnsInUse(planned, endpoints)).toEqual([
    `${file}: column route is used by endpoint-0. Change the query first.`,
  ])
})

test('finds names that another source has when a file is deployed', () => {
  const conflicts = (...files: [string, ...string[]][]) =>
    sourceConflicts(
      files.map(([name, ...aliases]) => ({ file: `${name}.yaml`, source: sourceOf({ name, aliases }) })),
      [sourceOf({ name: 'there', aliases: ['also'] }), sourceOf({ aliases: ['own'] })],
    )
  expect(conflicts(['a', 'also'], ['also'], ['b', 'x'], ['c', 'x', 'b'], ['d', 'there'])).toEqual([
    'a.yaml: also already belongs to the source there.',
    'also.yaml: also already belongs to the source there.',
    'also.yaml: also already belongs to the source a.',
    'c.yaml: x already belongs to the source b.',
    'd.yaml: there already belongs to the source there.',
  ])
  // A file that gives a name up is deployed before the one that takes it.
  expect(conflicts(['shop'], ['taker', 'own'])).toEqual([])
  expect(conflicts(['before', 'own'], ['shop'])).toEqual([
    'before.yaml: own already belongs to the source shop.',
  ])
})

test('a source file contains only the fields that differ from their defaults', () => {
  expect(sourceFileOf(sourceOf({}))).toMatchObject({ file, content: '' })
  const columns = [column('null', 'a-b.c', 'number'), { ...column('url'), searched: true }]
  const source = sourceOf({ description: 'Of the shop.', retention_days: 30, columns })
  const { content } = sourceFileOf(source)
  expect(content).toBe(
    'description: Of the shop.\nretention_days: 30\ncolumns:\n' +
      '  - { name: "null", path: a-b.c, type: number }\n  - { name: url, path: url, type: text, searched: true }\n',
  )
  expect(sourceOf(parse(content))).toEqual(source)
})

test('pull keeps an equivalent file, and replaces another one only knowingly', () => {
  const pull = (fields: object | undefined, ...files: string[]) => {
    const local = fields ? [{ file: 'sources/shop.yml', source: sourceOf(fields) }] : []
    const pulled = sourceFileIn(local, sourceOf({ retention_days: 30 }))
    const own = local.map(({ source }) => sourceFileIn(local, source))
    return pullPlan(own, new Set(files), [pulled])
  }
  expect(pull({ retention_days: 30 })).toMatchObject([
    { file: 'sources/shop.yml', action: 'unchanged', loses: [] },
  ])
  expect(pull({}, 'sources/shop.yml')).toMatchObject([
    { file: 'sources/shop.yml', action: 'replaced', loses: ['sources/shop.yml'] },
  ])
  expect(pull(undefined)).toMatchObject([{ file, action: 'written', content: 'retention_days: 30\n' }])
  expect(pull(undefined, file)).toMatchObject([{ action: 'replaced', loses: [file] }])
})
