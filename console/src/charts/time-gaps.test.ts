import { describe, expect, test } from 'vitest'
import { loneValues, stepOf, withGaps } from './time-gaps.ts'

const minutes = (...numbers: number[]) => numbers.map((n) => n * 60_000)
const months = (...numbers: number[]) => numbers.map((n) => Date.UTC(2026, n))

describe('stepOf', () => {
  test('is the greatest common divisor of all distances', () => {
    expect(stepOf(minutes(0, 5, 10, 25))).toBe(300_000)
    expect(stepOf(minutes(0, 2, 5, 10))).toBe(60_000)
  })

  test('accepts months, which differ slightly in length', () => {
    expect(stepOf(months(0, 1, 2, 4))).toBe(28 * 86_400_000)
  })

  test('is undefined for events at arbitrary times', () => {
    expect(stepOf([0, 10, 5000])).toBeUndefined()
    expect(stepOf([7])).toBeUndefined()
  })
})

test('inserts one empty point per gap, however long it is', () => {
  const values = (...list: number[]) => [{ name: 'a', values: list }]
  expect(withGaps(minutes(0, 1, 1000, 1001), values(1, 2, 3, 4))).toEqual({
    seconds: [0, 60, 120, 60_000, 60_060],
    series: [{ name: 'a', values: [1, 2, null, 3, 4] }],
  })
  expect(withGaps(months(0, 1, 2), values(1, 2, 3)).seconds).toHaveLength(3)
})

test('finds values without neighbors, which are drawn as points', () => {
  expect(loneValues([1, null, 2, 3, null, 4])).toEqual([0, 5])
  expect(loneValues([null, 1, null])).toEqual([1])
  expect(loneValues([])).toEqual([])
})
