import { expect, test } from 'vitest'
import type { NewSource } from '../catalog/source.ts'
import { sourceChanges } from './source-changes.ts'

const audit: NewSource = { name: 'audit', description: '', aliases: [], retention_days: 90, hot_fields: [] }

test('what a file says of a source otherwise than the service is told, field by field', () => {
  const file = { ...audit, description: 'Who did what.', retention_days: 365 }
  expect(sourceChanges([file], [audit])).toEqual([
    {
      name: 'audit',
      fields: { description: 'Who did what.', retention_days: 365 },
      message: 'the source audit: description "" → "Who did what.", retention_days 90 → 365',
      loses: false,
    },
  ])
})

test('a shorter retention loses entries', () => {
  expect(sourceChanges([{ ...audit, retention_days: 7 }], [audit])).toMatchObject([{ loses: true }])
})

test('sources that are the same, or only on one side, are no changes', () => {
  expect(sourceChanges([audit, { ...audit, name: 'other' }], [audit])).toEqual([])
})
