import { expect, test } from 'vitest'
import type { Entry } from '../api/shapes.ts'
import { cursorAfter } from './entry-search.ts'

test('continues after the entries with the timestamp and id of the last one', () => {
  const entry = (timestamp: number, id: string) => ({ timestamp, id }) as Entry
  expect(cursorAfter([])).toBeUndefined()
  expect(cursorAfter([entry(2, 'a'), entry(1, 'a')])).toEqual({ timestamp: 1, id: 'a', skip: 1 })
  const same = [entry(2, 'b'), entry(2, 'a'), entry(2, 'a')]
  expect(cursorAfter(same)).toEqual({ timestamp: 2, id: 'a', skip: 2 })
})
