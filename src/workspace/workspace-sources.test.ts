import { expect, test } from 'vitest'
import type { NewSource } from '../catalog/source.ts'
import { sourceChanges, sourceFileOf } from './workspace-sources.ts'

const audit: NewSource = { name: 'audit', description: '', aliases: [], retention_days: 90, columns: [] }

test('lists the fields of a source that differ from the service', () => {
  const file = { ...audit, description: 'Who did what.', retention_days: 365 }
  expect(sourceChanges([file], [audit])).toEqual([
    {
      name: 'audit',
      fields: { description: 'Who did what.', retention_days: 365 },
      message: 'source audit: description "" → "Who did what.", retention_days 90 → 365',
      loses: false,
    },
  ])
})

test('reports that a shorter retention loses entries', () => {
  expect(sourceChanges([{ ...audit, retention_days: 7 }], [audit])).toMatchObject([{ loses: true }])
})

test('reports no changes for equal sources and for sources on one side only', () => {
  expect(sourceChanges([audit, { ...audit, name: 'other' }], [audit])).toEqual([])
})

test('a source file contains only the fields that differ from their defaults', () => {
  expect(sourceFileOf(audit)).toEqual({ file: 'sources/audit.yaml', content: '' })
  expect(sourceFileOf({ ...audit, description: 'Of the shop.', retention_days: 30 }).content).toBe(
    'description: Of the shop.\nretention_days: 30\n',
  )
})
