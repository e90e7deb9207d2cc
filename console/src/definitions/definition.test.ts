import { expect, test } from 'vitest'
import { fieldChanges, rebased } from './definition.ts'

const base = {
  name: 'a',
  description: '',
  query: 'SELECT 1',
  max_rows: 1000,
  cache_seconds: null as number | null,
  parameters: { project: { required: true, enum: [] as string[] }, tier: {} },
}

test('applies only the changed fields of a draft to a newer version', () => {
  const draft = { ...base, query: 'SELECT 2', max_rows: 5 }
  const newer = { ...base, query: 'SELECT 3', description: 'newer' }
  expect(rebased(draft, base, newer)).toEqual({ ...newer, query: 'SELECT 2', max_rows: 5 })
  expect(rebased(base, base, newer)).toEqual(newer)
})

test('lists changes by field, and by field of each parameter, without the SQL', () => {
  const after = {
    ...base,
    query: 'SELECT 2',
    cache_seconds: 900,
    parameters: { project: { required: false, enum: ['x'] } },
  }
  expect(fieldChanges(base, after, 'query')).toEqual([
    { field: 'cache_seconds', before: 'none', after: '900' },
    { field: '@project required', before: 'true', after: 'false' },
    { field: '@project enum', before: '[]', after: '["x"]' },
    { field: '@tier', before: 'declared', after: undefined },
  ])
  expect(fieldChanges(base, base)).toEqual([])
  expect(fieldChanges({}, { when: 'rows > 0', parameters: { project: 'demo' } })).toEqual([
    { field: 'when', before: undefined, after: 'rows > 0' },
    { field: '@project', before: undefined, after: 'demo' },
  ])
})
