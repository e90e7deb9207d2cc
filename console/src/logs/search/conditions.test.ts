import { expect, test } from 'vitest'
import { conditionOf, conditionsIn, excludedValue, withCondition, withoutCondition } from './conditions.ts'

test.each([
  ['', []],
  ['  one  "two words" ', ['one', '"two words"']],
  ['a:1 AND b:"x y" -c:* -"no such"', ['a:1', 'b:"x y"', '-c:*', '-"no such"']],
  ['NOT a:1 x', ['NOT a:1', 'x']],
  ['status:(200 OR 201) x', ['status:(200 OR 201)', 'x']],
  ['(a OR b) c', ['(a OR b)', 'c']],
  ['-(a OR (b c)) NOT (d) e', ['-(a OR (b c))', 'NOT (d)', 'e']],
  ['"a (b" c', ['"a (b"', 'c']],
  ['"unended (x', ['"unended (x']],
  ['a OR b', undefined],
  ['a (b', ['a', '(b']],
])('splits %j into its conditions', (query, conditions) => {
  expect(conditionsIn(query)).toEqual(conditions)
})

test.each([
  ['status_code', '200', 'status_code:200'],
  ['request.path', '/rest/v1/orders', 'request.path:/rest/v1/orders'],
  ['a', '', 'a:""'],
  ['0x', 'y', '"0x":y'],
  ['odd key', 'two "words" \\', '"odd key":"two \\"words\\" \\\\"'],
  ['a', '>5', 'a:">5"'],
  ['a', '/rest/*', 'a:"/rest/*"'],
  ['a', '1..2', 'a:"1..2"'],
  ['a', '-x', 'a:"-x"'],
  ['a', 'OR', 'a:"OR"'],
  ['a', 'f(x)', 'a:"f(x)"'],
  ['stack', 'x'.repeat(500), `"${'x'.repeat(500)}"`],
])('writes %j with the value %j', (field, value, written) => {
  expect([conditionOf(field, value), conditionOf(field, value, true)]).toEqual([written, `-${written}`])
})

test('adds a condition once, and around alternatives', () => {
  expect(withCondition('', 'a:1')).toBe('a:1')
  expect(withCondition('x', 'a:1')).toBe('x a:1')
  expect(withCondition('a:1 x', 'a:1')).toBe('a:1 x')
  expect(withCondition('x OR y', 'a:1')).toBe('(x OR y) a:1')
  expect(withoutCondition('x a:1 (y OR z)', 'a:1')).toBe('x (y OR z)')
})

test('writes a key with dots in quotes', () => {
  expect(conditionOf('attributes."http.route"', '/a')).toBe('attributes."http.route":/a')
})

test.each(['DE', '', 'a "b" \\', '-x', '*', 'OR'])('reads back the excluded value %j', (value) => {
  expect(excludedValue('odd key', conditionOf('odd key', value, true))).toBe(value)
  expect(excludedValue('odd key', conditionOf('odd key', value))).toBeUndefined()
  expect(excludedValue('other', conditionOf('odd key', value, true))).toBeUndefined()
})
