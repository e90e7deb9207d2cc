import { describe, expect, test } from 'vitest'
import { parseSearch, pathOf, withCondition } from './search-query.ts'

test.each([
  ['', [], []],
  ['  one  "two words" ', ['one', 'two words'], []],
  ['response.status_code:500', [], ['response.status_code eq 500']],
  ['-request.method:GET', [], ['request.method ne GET']],
  ['a:>=400 b:<3 c:*', [], ['a gte 400', 'b lt 3', 'c exists ']],
  ['msg:"a \\"b\\" c"', [], ['msg eq a "b" c']],
  ['"odd key":x', [], ['odd key eq x']],
  ['https://example.com/a', ['https://example.com/a'], []],
  ['a: 12:30', ['a:', '12:30'], []],
  ['-path:*', [], ['not path exists ']],
  ['-path:>=400', [], ['not path gte 400']],
  ['-path:">=400" -b:"*"', [], ['path ne >=400', 'b ne *']],
  [
    'one -two -"three four"',
    ['one'],
    ['not event_message contains two', 'not event_message contains three four'],
  ],
  ['- -- --flag -"" "-word" a-b', ['-', '--', '--flag', '-""', '-word', 'a-b'], []],
  ['"unended', ['"unended'], []],
])('parses %j', (query, text, conditions) => {
  const { text: words, filters } = parseSearch(query)
  const written = filters.map(({ path, is, value, not }) => `${not ? 'not ' : ''}${path} ${is} ${value}`)
  expect([words, written]).toEqual([text, conditions])
})

describe('withCondition', () => {
  test('adds conditions that parse back to the same value', () => {
    for (const value of ['200', 'two words', 'a "quoted" \\ text', '>5', '*', '-x', '', 'https://a.b/c']) {
      const parsed = parseSearch(withCondition('word', 'a.b', value))
      expect(parsed).toEqual({ text: ['word'], filters: [{ path: 'a.b', is: 'eq', value }] })
      const excluded = parseSearch(withCondition('', 'odd key', value, true))
      expect(excluded.filters).toEqual([{ path: 'odd key', is: 'ne', value }])
    }
  })

  test('does not add the same condition twice', () => {
    const once = withCondition('x', 'a', '1')
    expect(withCondition(once, 'a', '1')).toBe(once)
  })
})

test('escapes a dot inside a key', () => {
  expect(pathOf(['a.b', 'c'])).toBe('a%2Eb.c')
})
