import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type NewSource, newSourceShape } from '../catalog/source.ts'
import { pullSources } from './deployment-plan.ts'
import { needsSources, planSources, sourceConflicts, sourceFileOf } from './workspace-sources.ts'

const sourceOf = (fields: object): NewSource => newSourceShape.parse({ name: 'shop', ...fields })
const column = (name: string, path = name, type = 'text') => ({ name, path, type })
const file = 'sources/shop.yaml'
const counted: string[] = []

async function plan(wanted: object, current?: object) {
  counted.length = 0
  const [planned] = await planSources(
    [{ file, source: sourceOf(wanted) }],
    current ? [sourceOf(current)] : [],
    async (source, condition) => {
      counted.push(`${source}: ${condition}`)
      return '12 entries'
    },
  )
  return planned as NonNullable<typeof planned>
}

test('applies every field: what removes something comes after the endpoints', async () => {
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
    'compatible: description "" → "Orders."',
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
  expect(planned.before).toMatchObject({ description: 'Orders.', aliases: ['new'] })
  expect(planned.before.columns?.map(({ name }) => name)).toEqual(['added', 'kept', 'changed', 'gone'])
  expect(planned.after.columns?.map(({ name }) => name)).toEqual(['added', 'kept', 'changed'])
  expect(planned.after.retention_days).toBe(7)
})

test('creates a source whole, and leaves an equal one alone', async () => {
  const columns = [column('b'), column('a')]
  expect(await plan({ columns })).toMatchObject({ action: 'created', before: sourceOf({ columns }) })
  expect(await plan({ columns }, { columns: columns.toReversed() })).toMatchObject({
    ...{ action: 'unchanged', changes: [], before: {}, after: {} },
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

test('refuses aliases of other sources, and removing columns that endpoints read', async () => {
  const planned = [await plan({ aliases: ['taken', 'other'] }, { columns: [column('route')] })]
  const others = [sourceOf({ name: 'other' }), sourceOf({ name: 'owner', aliases: ['taken'] })]
  const endpoints = [
    { name: 'by.column', query: 'SELECT route FROM shop' },
    { name: 'by.path', query: 'SELECT metadata.route FROM shop' },
  ]
  expect(sourceConflicts(planned, others, endpoints)).toEqual([
    `${file}: the alias taken belongs to the source owner.`,
    `${file}: the alias other belongs to the source other.`,
    `${file}: the column route is used by by.column. Change the query first.`,
  ])
})

test('a source file contains only the fields that differ from their defaults', () => {
  expect(sourceFileOf(sourceOf({}))).toEqual({ file, content: '' })
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
  const pull = (local: object | undefined, ...files: string[]) =>
    pullSources(local ? [{ file: 'sources/shop.yml', source: sourceOf(local) }] : [], new Set(files), [
      sourceOf({ retention_days: 30 }),
    ])
  expect(pull({ retention_days: 30 })).toMatchObject([
    { file: 'sources/shop.yml', action: 'unchanged', loses: [] },
  ])
  expect(pull({}, 'sources/shop.yml')).toMatchObject([
    { file: 'sources/shop.yml', action: 'replaced', loses: ['sources/shop.yml'] },
  ])
  expect(pull(undefined)).toMatchObject([{ file, action: 'written', content: 'retention_days: 30\n' }])
  expect(pull(undefined, file)).toMatchObject([{ action: 'replaced', loses: [file] }])
})
