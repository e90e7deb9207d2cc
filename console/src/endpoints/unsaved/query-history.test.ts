import { expect, test } from 'vitest'
import { type PastQuestion, readHistory, remembered } from './query-history.ts'
import { noQuestion } from './question.ts'

const at = '2026-01-31T12:00:00.000Z'
const past = (query: string, values = {}): PastQuestion => ({ ...noQuestion, query, values, at })

test('lists the newest question first, and the same SQL once with its newest values', () => {
  let list = remembered([], past('SELECT 1'), at)
  list = remembered(list, past('SELECT 2', { a: '1' }), at)
  list = remembered(list, past('SELECT 3'), at)
  list = remembered(list, past(' SELECT 2\n', { a: '2' }), at)
  expect(list.map(({ query, values }) => [query, values])).toEqual([
    ['SELECT 2', { a: '2' }],
    ['SELECT 3', {}],
    ['SELECT 1', {}],
  ])
})

test('keeps at most 50 questions and 200,000 characters', () => {
  let list: PastQuestion[] = []
  for (let n = 0; n < 60; n++) list = remembered(list, past(`SELECT ${n}`), at)
  expect([list.length, list[0]?.query, list.at(-1)?.query]).toEqual([50, 'SELECT 59', 'SELECT 10'])
  list = remembered(list, past('x'.repeat(199_000)), at)
  expect(list.length).toBeLessThan(20)
  expect(remembered(list, past('x'.repeat(2 ** 20)), at)).toEqual([])
})

test.each([null, '', '{', 'null', '1', '{}', '"x"', '[null, 1, {}, {"query":1}]'])(
  'reads the corrupt text %j as no questions',
  (text) => {
    expect(readHistory(text)).toEqual([])
  },
)

test('skips only the questions that are corrupt', () => {
  const good = past('SELECT 1', { a: '1' })
  const bad = [
    { ...good, values: { a: 1 } },
    { ...good, at: 'x' },
    { ...good, types: null },
  ]
  expect(readHistory(JSON.stringify([...bad, good]))).toEqual([good])
})
