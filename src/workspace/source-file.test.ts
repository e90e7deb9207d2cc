import { expect, test } from 'vitest'
import type { NewSource } from '../catalog/source.ts'
import { sourceFileOf } from './source-file.ts'

const plain: NewSource = { name: 'orders', description: '', aliases: [], retention_days: 90, hot_fields: [] }

test('a source is written with what is not as it would be anyway', () => {
  expect(sourceFileOf(plain)).toEqual({ file: 'sources/orders.yaml', content: '' })
  expect(sourceFileOf({ ...plain, description: 'Of the shop.', retention_days: 30 }).content).toBe(
    'description: Of the shop.\nretention_days: 30\n',
  )
})
