import { expect, test } from 'vitest'
import { cursorAfter } from './search-cursor.ts'

const entry = (timestamp: number, id: string) => ({ timestamp, id })

test('counts the entries at the end that have the same timestamp and id', () => {
  expect(cursorAfter([])).toBeUndefined()
  expect(cursorAfter([entry(2, 'a'), entry(1, 'a')])).toEqual({ timestamp: 1, id: 'a', skip: 1 })
  expect(cursorAfter([entry(2, 'a'), entry(1, 'a'), entry(1, 'a')])).toEqual({
    timestamp: 1,
    id: 'a',
    skip: 2,
  })
})

test('adds those of earlier pages if the whole page is the same', () => {
  const before = { timestamp: 1, id: 'a', skip: 5 }
  expect(cursorAfter([entry(1, 'a'), entry(1, 'a')], before)).toEqual({ ...before, skip: 7 })
  expect(cursorAfter([entry(1, 'a'), entry(0, 'a')], before)).toEqual({ timestamp: 0, id: 'a', skip: 1 })
  expect(cursorAfter([entry(0, 'a')], before)).toEqual({ timestamp: 0, id: 'a', skip: 1 })
})
