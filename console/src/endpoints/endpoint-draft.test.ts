import { expect, test } from 'vitest'
import { fieldChanges, newDraft, rebased } from './endpoint-draft.ts'

const base = { ...newDraft, name: 'a', parameters: { project: { required: true }, tier: {} } }

test('applies only the changed fields of a draft to a newer version', () => {
  const draft = { ...base, query: 'SELECT 2', max_rows: 5 }
  const newer = { ...base, query: 'SELECT 3', description: 'newer' }
  expect(rebased(draft, base, newer)).toEqual({ ...newer, query: 'SELECT 2', max_rows: 5 })
  expect(rebased(base, base, newer)).toEqual(newer)
})

test('lists changes by field, and by field of each parameter', () => {
  const after = {
    ...base,
    query: 'SELECT 2',
    cache_seconds: 900,
    parameters: { project: { required: false, enum: ['x'] } },
  }
  expect(fieldChanges(base, after)).toEqual([
    { field: 'cache_seconds', before: 'none', after: '900' },
    { field: '@project required', before: 'true', after: 'false' },
    { field: '@tier', before: 'declared', after: undefined },
    { field: '@project enum', before: undefined, after: '["x"]' },
  ])
  expect(fieldChanges(base, base)).toEqual([])
})
