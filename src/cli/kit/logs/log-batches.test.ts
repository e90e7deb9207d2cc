import { expect, test } from 'vitest'
import { type BatchOrRejection, batchKeys, gatherBatches } from './log-batches.ts'

async function gather(...texts: string[]) {
  async function* entries() {
    for (const [i, text] of texts.entries()) yield { text, line: i + 1 }
  }
  const found: BatchOrRejection[] = []
  const bounds = { maxBytes: 20, maxEntries: 3 }
  for await (const piece of gatherBatches(entries(), bounds)) found.push(piece)
  return found
}

test('batches are limited in bytes and entries, and have the line of each entry', async () => {
  const found = await gather('1', '2', '3', '4', 'a'.repeat(30), '5')
  expect(found.map((piece) => 'batch' in piece && [piece.batch.body.toString(), piece.batch.lines])).toEqual([
    ['1\n2\n3\n', [1, 2, 3]],
    ['4\n', [4]],
    [`${'a'.repeat(30)}\n`, [5]],
    ['5\n', [6]],
  ])
})

const keysOf = (keyOf: ReturnType<typeof batchKeys>) =>
  ['a', 'b', 'a'].map((text) => keyOf({ body: Buffer.from(text) }))

test('the same input has the same keys, and equal batches in it have different keys', async () => {
  const keys = keysOf(batchKeys('edge_logs'))
  expect(keysOf(batchKeys('edge_logs'))).toEqual(keys)
  expect(new Set(keys).size).toBe(3)
})

test('keys differ by source and salt', async () => {
  const all = [batchKeys('edge_logs'), batchKeys('auth_logs'), batchKeys('edge_logs', 'again')]
  expect(new Set(all.flatMap(keysOf)).size).toBe(9)
})
