import { expect, test } from 'vitest'
import { joinedQuery, whereCondition } from './entry-filter.ts'

test.each([
  ['a.b=x=y', '"a.b":"x=y"'],
  ['a.b!=x', '-"a.b":"x"'],
  ['a.n>=500', '"a.n":>=500'],
  ['a.n<5e2', '"a.n":<5e2'],
  ['k%2Ee=say "hi" \\', '"k%2Ee":"say \\"hi\\" \\\\"'],
  ['missing=', '"missing":""'],
])('translates %j to the search language', (condition, query) => {
  expect(whereCondition(condition)).toBe(query)
})

test.each(['', 'path', 'path:value', '=x', '!path', 'n>many', 'n<='])('rejects the condition %j', (text) => {
  expect(() => whereCondition(text)).toThrow(/must be a condition such as|is not a number/)
})

test('combines a search with conditions', () => {
  expect(joinedQuery([], [])).toBe('')
  expect(joinedQuery(['a', 'OR', 'b'], [])).toBe('a OR b')
  expect(joinedQuery(['a', 'OR', 'b'], ['"n":>=1'])).toBe('(a OR b) "n":>=1')
  expect(joinedQuery([], ['"n":>=1', '"m":"x"'])).toBe('"n":>=1 "m":"x"')
})
