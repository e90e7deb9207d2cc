import { expect, test } from 'vitest'
import { orderOf } from './row-order.ts'

const sorted = (values: unknown[], down = false) =>
  orderOf(
    values.map((value) => ({ value })),
    { column: 'value', down },
  ).map((index) => values[index])

test('sorts numbers by value and texts naturally, with missing values last', () => {
  expect(sorted([10, 9, null, 100])).toEqual([9, 10, 100, null])
  expect(sorted([10, 9, null, 100], true)).toEqual([100, 10, 9, null])
  expect(sorted(['b10', undefined, 'B9', 'a'])).toEqual(['a', 'B9', 'b10', undefined])
  expect(sorted([{ n: 2 }, { n: 1 }])).toEqual([{ n: 1 }, { n: 2 }])
})

test('keeps the order of equal rows in both directions', () => {
  const rows = [1, 1, 1].map((value, id) => ({ value, id }))
  expect(orderOf(rows, { column: 'value', down: false })).toEqual([0, 1, 2])
  expect(orderOf(rows, { column: 'value', down: true })).toEqual([0, 1, 2])
})
