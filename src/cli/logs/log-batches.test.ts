import { expect, test } from 'vitest'
import { BatchKeys } from './log-batches.ts'

const batch = (text: string) => ({ body: Buffer.from(text) })
const keysOf = (keys: BatchKeys) => ['a', 'b', 'a'].map((text) => keys.next(batch(text)))

test('the same input has the same keys, and equal batches in it have different ones', () => {
  const keys = keysOf(new BatchKeys('edge_logs'))
  expect(keysOf(new BatchKeys('edge_logs'))).toEqual(keys)
  expect(new Set(keys).size).toBe(3)
})

test('another source or another salt makes it another input', () => {
  const all = [new BatchKeys('edge_logs'), new BatchKeys('auth_logs'), new BatchKeys('edge_logs', 'again')]
  expect(new Set(all.flatMap(keysOf)).size).toBe(9)
})
