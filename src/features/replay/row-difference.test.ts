import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSame, rowDifference } from './row-difference.ts'

const body = (rows: readonly unknown[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
const compare = (before: readonly unknown[], after: readonly unknown[]) =>
  rowDifference(body(before), body(after))

test.each<[before: unknown[], after: unknown[], removed: number, added: number, reordered: boolean]>([
  [[], [], 0, 0, false],
  [[1, 2], [1, 2], 0, 0, false],
  [[1, 2], [2, 1], 0, 0, true],
  [[1, 2, 2], [2, 1], 1, 0, false],
  [[1, 1], [1, 1, 1, 3], 0, 2, false],
  [[{ n: 1 }], [{ n: 2 }], 1, 1, false],
  [[{ n: 1 }], [{ n: 1, m: 1 }], 1, 1, false],
  [[{ t: '1.00000000000000001' }], [{ t: '1.0' }], 1, 1, false],
  [[{ n: 0.30000000000000004 }], [{ n: 0.3 }], 0, 0, false],
  [[{ n: 0.3001 }], [{ n: 0.3 }], 1, 1, false],
])('%j and %j differ by %i removed and %i added rows', async (before, after, removed, added, reordered) => {
  expect(await compare(before, after)).toMatchObject({ removed, added, reordered })
})

test('long integers differ by their last digit', async () => {
  const rows = ['9007199254740993', '9007199254740992'].map((n) => Buffer.from(`{"n":${n}}\n`))
  expect(await rowDifference(rows[0] as Buffer, rows[1] as Buffer)).toMatchObject({ removed: 1, added: 1 })
})

test('examples have some of the removed and of the added rows', async () => {
  expect((await compare([1, 2, 3], [1, 4])).examples).toEqual([
    { before: '2', after: null },
    { before: null, after: '4' },
    { before: '3', after: null },
  ])
  expect((await compare([], [1, 2, 3, 4, 5, 6, 7])).examples).toHaveLength(5)
})

test('a result differs from another by as many rows as must be replaced', async () => {
  const rows = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(rows, rows, async (before, after) => {
      const difference = await compare(before, after)
      expect(before.length - difference.removed + difference.added).toBe(after.length)
      expect(isSame(difference)).toBe(body(before).equals(body(after)))
      expect(await compare(after, before)).toMatchObject({
        added: difference.removed,
        removed: difference.added,
        reordered: difference.reordered,
      })
    }),
  )
})

test('other work goes on while large results are compared', async () => {
  const rows = Array.from({ length: 10_000 }, (_, n) => ({ n, mean: n / 7 }))
  let turns = 0
  let pending = setImmediate(function count() {
    turns++
    pending = setImmediate(count)
  })
  const difference = await compare(rows, rows.toReversed())
  clearImmediate(pending)
  expect(difference).toMatchObject({ removed: 0, added: 0, reordered: true })
  expect(turns).toBeGreaterThan(20)
})
