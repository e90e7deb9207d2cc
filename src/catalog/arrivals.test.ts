import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Arrivals } from './arrivals.ts'

test('reports how far back the entries after a mark reach', () => {
  const arrivals = new Arrivals()
  arrivals.note('a', 100n)
  const mark = arrivals.mark()
  expect(arrivals.earliestSince(mark, ['a', 'b'])).toBeUndefined()
  arrivals.note('a', 200n)
  arrivals.note('b', 150n)
  arrivals.note('a', 50n)
  expect(arrivals.earliestSince(mark, ['a'])).toBe(50n)
  expect(arrivals.earliestSince(mark, ['b'])).toBe(150n)
  expect(arrivals.earliestSince(mark, ['b', 'a'])).toBe(50n)
  expect(arrivals.earliestSince(arrivals.mark(), ['a', 'b'])).toBeUndefined()
})

test('reports entries that are being stored, after any mark, and as arrived when they are stored', () => {
  const arrivals = new Arrivals()
  const end = arrivals.begin('a', 100n)
  const mark = arrivals.mark()
  expect(arrivals.earliestSince(mark, ['a'])).toBe(100n)
  const endLater = arrivals.begin('a', 50n)
  expect(arrivals.earliestSince(mark, ['b'])).toBeUndefined()
  endLater()
  expect(arrivals.earliestSince(arrivals.mark(), ['a'])).toBe(100n)
  end()
  expect(arrivals.earliestSince(mark, ['a'])).toBe(50n)
  expect(arrivals.earliestSince(arrivals.mark(), ['a'])).toBeUndefined()
})

test('never reports less than the earliest entry after a mark, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -50n, max: 50n }), { maxLength: 60 }), fc.nat(60), (times, at) => {
      const arrivals = new Arrivals()
      const marks = times.map((time) => {
        const mark = arrivals.mark()
        arrivals.note('a', time)
        return mark
      })
      const index = Math.min(at, times.length)
      const expected = times
        .slice(index)
        .reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined)
      expect(arrivals.earliestSince(marks[index] ?? arrivals.mark(), ['a'])).toBe(expected)
    }),
  )
})

test('stays correct with more notes than it keeps', () => {
  const arrivals = new Arrivals()
  const mark = arrivals.mark()
  for (let i = 0; i < 5000; i++) arrivals.note('a', BigInt(i))
  expect(arrivals.earliestSince(mark, ['a'])).toBe(0n)
  const late = arrivals.mark()
  arrivals.note('a', 9999n)
  expect(arrivals.earliestSince(late, ['a'])).toBe(9999n)
})
