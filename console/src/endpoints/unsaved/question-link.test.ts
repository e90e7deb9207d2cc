import { expect, test } from 'vitest'
import { noQuestion } from './question.ts'
import { fragmentOf, maxLinkLength, questionOf } from './question-link.ts'

test('a link opens the same question', () => {
  const question = {
    query: "SELECT '100 % + ä 😀 #&=?', @a\nFROM edge_logs -- \\ \" `",
    values: { a: '1 + 1 = 2 & # %', constructor: 'x', sql: 'y' },
    types: { a: 'string' as const },
  }
  const fragment = fragmentOf(question) ?? ''
  expect(fragment).toMatch(/^#_sql=SELECT/)
  expect(fragment).not.toMatch(/[\s"`\\]/)
  expect(questionOf(fragment)).toEqual(question)
})

test('a blank question has no fragment, and a long one has no link', () => {
  expect(fragmentOf(noQuestion)).toBe('')
  expect(fragmentOf({ ...noQuestion, query: 'x'.repeat(maxLinkLength - 6) })).toHaveLength(maxLinkLength)
  expect(fragmentOf({ ...noQuestion, query: 'x'.repeat(maxLinkLength - 5) })).toBeUndefined()
  expect(fragmentOf({ ...noQuestion, query: '%'.repeat(maxLinkLength / 2) })).toBeUndefined()
  expect(fragmentOf({ ...noQuestion, query: 'x'.repeat(2 ** 20) })).toBeUndefined()
})

test.each(['', '#', '#main', '#project=x', '#_view=chart', '#x_sql=SELECT'])(
  'finds no question in %j',
  (fragment) => {
    expect(questionOf(fragment)).toBeUndefined()
  },
)

test.each(['#_sql=%', '#_sql=SELECT%E0%A4', '#_sql=1&a=%zz'])('reports the damaged link %j', (fragment) => {
  expect(questionOf(fragment)).toBe('damaged')
})

test('ignores unknown types and control names', () => {
  expect(questionOf('#_sql=1&_type.a=Float64&_type.b=integer&_strict=1&__proto__=x&a=1')).toEqual({
    query: '1',
    values: { a: '1' },
    types: { b: 'integer' },
  })
})
