import { expect, test } from 'vitest'
import type { Source, SourcePath } from '../api/shapes.ts'
import { schemaGroups } from './schema-groups.ts'

const source: Pick<Source, 'columns'> = {
  columns: [{ name: 'status', path: 'response.status', type: 'number', searched: false }],
}
const path = (name: string, fields: Partial<SourcePath> = {}): SourcePath => ({
  path: name,
  types: ['String'],
  cast: 'Nullable(String)',
  entries: 1,
  sampled: 2,
  paths: 3,
  column: null,
  filled: null,
  examples: [],
  ...fields,
})
const paths = [
  path('a b', { examples: ['x'] }),
  path('response.status', { types: ['Int64'], column: 'status', filled: 1, examples: ['200'] }),
]
const shown = (words: string[], known: SourcePath[] | undefined = paths) =>
  schemaGroups(source, known, words).flatMap(({ items }) => items.map(({ inSql }) => inSql))

test('lists columns, typed columns with the share and examples of their path, and other paths as SQL', () => {
  const [columns, typed, others] = schemaGroups(source, paths, [])
  expect(columns?.items.map(({ name }) => name)).toContain('timestamp')
  expect(typed?.items).toEqual([
    {
      name: 'status',
      inSql: 'status',
      kind: 'number',
      share: '50 %',
      of: 'metadata.response.status',
      examples: ['200'],
    },
  ])
  expect(others?.items).toEqual([
    { name: 'metadata.a b', inSql: 'metadata.`a b`', kind: 'text', share: '50 %', examples: ['x'] },
  ])
})

test('finds names, kinds and the paths of typed columns', () => {
  expect(shown(['response.st'])).toEqual(['status'])
  expect(shown(['number'])).toEqual(['status'])
  expect(shown(['a b'])).toEqual(['metadata.`a b`'])
  expect(shown(['nothing'])).toEqual([])
})

test('knows columns before the paths are loaded', () => {
  expect(shown(['status'], undefined)).toEqual(['status'])
})

test('lists the first 200 of many paths, and counts all', () => {
  const many = Array.from({ length: 300 }, (_, n) => path(`p${n}`))
  const group = schemaGroups(source, many, ['p'])[2]
  expect([group?.items.length, group?.found]).toEqual([200, 300])
})
