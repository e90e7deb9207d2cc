import { expect, test } from 'vitest'
import { Arrivals } from './arrivals.ts'

test('reports the sources that got entries after a mark', () => {
  const arrivals = new Arrivals()
  arrivals.note('a')
  const mark = arrivals.mark()
  expect(arrivals.hasNew(mark, ['a', 'b'])).toBe(false)
  arrivals.note('b')
  expect(arrivals.hasNew(mark, ['a'])).toBe(false)
  expect(arrivals.hasNew(mark, ['a', 'b'])).toBe(true)
  expect(arrivals.hasNew(arrivals.mark(), ['a', 'b'])).toBe(false)
})

test('reports entries that are being stored, after any mark, and as arrived when they are stored', () => {
  const arrivals = new Arrivals()
  const mark = arrivals.mark()
  const ends = [arrivals.begin('a'), arrivals.begin('a')] as const
  expect(arrivals.hasNew(arrivals.mark(), ['a'])).toBe(true)
  expect(arrivals.hasNew(mark, ['b'])).toBe(false)
  ends[1]()
  expect(arrivals.hasNew(arrivals.mark(), ['a'])).toBe(true)
  ends[0]()
  expect(arrivals.hasNew(mark, ['a'])).toBe(true)
  expect(arrivals.hasNew(arrivals.mark(), ['a'])).toBe(false)
})
