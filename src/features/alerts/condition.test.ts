import { expect, test } from 'vitest'
import type { SavedAlert } from './alert.ts'
import { type Condition, decide, parseCondition, ResultRows } from './condition.ts'
import { shownRows } from './notification.ts'

const rows = [{ n: 5 }, { n: '9' }, { n: 7 }]
const decided = (when: string, given: readonly Record<string, unknown>[] = rows) => {
  const { met, value } = decide(parseCondition(when) as Condition, new ResultRows(given))
  return [met, value]
}

test('a condition compares the number of rows, or a column of any or all rows', () => {
  expect(decided('rows > 2')).toEqual([true, 3])
  expect(decided('rows = 0', [])).toEqual([true, 0])
  expect(decided('any(n) >= 9')).toEqual([true, 9])
  expect(decided('any(n) < 5')).toEqual([false, 5])
  expect(decided('all(n) > 4.5')).toEqual([true, 5])
  expect(decided('all(n) <= 8')).toEqual([false, 9])
  expect(decided('any(n)=7')).toEqual([true, 7])
  expect(decided('all(n) != 7')).toEqual([false, 7])
})

test('no row, and null, meets neither any nor all', () => {
  for (const of of ['any', 'all']) {
    expect(decided(`${of}(n) != 1`, [])).toEqual([false, null])
    expect(decided(`${of}(n) > -1`, [{ n: null }])).toEqual([false, null])
  }
  expect(decided('any(n) > 1', [{ n: null }, { n: 2 }])).toEqual([true, 2])
  expect(decided('all(n) > 1', [{ n: null }, { n: 2 }])).toEqual([false, 2])
})

test('a column that is gone is an error', () => {
  expect(() => decided('any(m) > 1')).toThrow('The result has no column "m" any more.')
})

test('a column is read once, however many conditions it decides', () => {
  let reads = 0
  const row = {
    get n() {
      reads++
      return '7'
    },
  }
  const result = new ResultRows(Array.from({ length: 100 }, () => row))
  for (let limit = 0; limit < 50; limit++) {
    const when = `${limit % 2 ? 'any' : 'all'}(n) > ${limit}`
    expect(decide(parseCondition(when) as Condition, result)).toEqual({ met: limit < 7, value: 7 })
  }
  expect(reads).toBe(100)
})

test('rows that meet a condition about any row are shown first', () => {
  const shown = (when: string) =>
    shownRows({ condition: parseCondition(when) } as SavedAlert, new ResultRows(rows))
  expect(shown('any(n) > 6')).toEqual([{ n: '9' }, { n: 7 }])
  expect(shown('any(n) > 60')).toEqual(rows)
})

test.each([
  '',
  'rows',
  'n > 1',
  'any() > 1',
  'any(n) > x',
  'rows >> 1',
  'rows > 1 and rows < 5',
  'some(n) > 1',
])('refuses %j', (text) => expect(parseCondition(text)).toBeUndefined())
