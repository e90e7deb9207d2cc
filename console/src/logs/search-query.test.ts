import { describe, expect, test } from 'vitest'
import { parseSearch, pathOf, withCondition } from './search-query.ts'

describe('parseSearch', () => {
  test.each([
    ['', { text: [], filters: [] }],
    ['  one  "two words" ', { text: ['one', 'two words'], filters: [] }],
    [
      'response.status_code:500',
      { text: [], filters: [{ path: 'response.status_code', is: 'eq', value: '500' }] },
    ],
    ['-request.method:GET', { text: [], filters: [{ path: 'request.method', is: 'ne', value: 'GET' }] }],
    [
      'a:>=400 b:<3 c:*',
      {
        text: [],
        filters: [
          { path: 'a', is: 'gte', value: '400' },
          { path: 'b', is: 'lt', value: '3' },
          { path: 'c', is: 'exists', value: '' },
        ],
      },
    ],
    ['msg:"a \\"b\\" c"', { text: [], filters: [{ path: 'msg', is: 'eq', value: 'a "b" c' }] }],
    ['"odd key":x', { text: [], filters: [{ path: 'odd key', is: 'eq', value: 'x' }] }],
    ['https://example.com/a', { text: ['https://example.com/a'], filters: [] }],
    ['a: 12:30', { text: ['a:', '12:30'], filters: [] }],
    ['-path:*', { text: [], filters: [{ path: 'path', is: 'exists', value: '', not: true }] }],
    ['-path:>=400', { text: [], filters: [{ path: 'path', is: 'gte', value: '400', not: true }] }],
    [
      '-path:">=400" -b:"*"',
      {
        text: [],
        filters: [
          { path: 'path', is: 'ne', value: '>=400' },
          { path: 'b', is: 'ne', value: '*' },
        ],
      },
    ],
    [
      'one -two -"three four"',
      {
        text: ['one'],
        filters: [
          { path: 'event_message', is: 'contains', value: 'two', not: true },
          { path: 'event_message', is: 'contains', value: 'three four', not: true },
        ],
      },
    ],
    ['- -- --flag -"" "-word" a-b', { text: ['-', '--', '--flag', '-""', '-word', 'a-b'], filters: [] }],
    ['"unended', { text: ['"unended'], filters: [] }],
  ])('%j', (query, parsed) => {
    expect(parseSearch(query)).toEqual(parsed)
  })
})

describe('withCondition', () => {
  test('what is added reads back as it was meant', () => {
    for (const value of ['200', 'two words', 'a "quoted" \\ text', '>5', '*', '-x', '', 'https://a.b/c']) {
      const parsed = parseSearch(withCondition('word', 'a.b', value))
      expect(parsed).toEqual({ text: ['word'], filters: [{ path: 'a.b', is: 'eq', value }] })
      const excluded = parseSearch(withCondition('', 'odd key', value, true))
      expect(excluded.filters).toEqual([{ path: 'odd key', is: 'ne', value }])
    }
  })

  test('the same condition is not added twice', () => {
    const once = withCondition('x', 'a', '1')
    expect(withCondition(once, 'a', '1')).toBe(once)
  })
})

test('a dot inside of a key is no separator', () => {
  expect(pathOf(['a.b', 'c'])).toBe('a%2Eb.c')
})
