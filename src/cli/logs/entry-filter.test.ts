import { expect, test } from 'vitest'
import { collectCondition, type LoggedEntry, matches } from './entry-filter.ts'

const entry: LoggedEntry = {
  id: 'e1',
  timestamp: 1_767_225_600_123_456,
  project: 'demo',
  event_message: 'GET /rest/v1 500 ÜBER',
  metadata: JSON.parse(
    '{"a":{"b":"x=y","n":500,"f":1.5,"t":true,"none":null,"list":[1]},"k.e":"dot","empty":"","big":18446744073709551615,"text":"500"}',
  ),
}

// A journey compares the same conditions with the search of the service.
test.each([
  ['a.b=x=y', true],
  ['metadata.a.b=x=y', true],
  ['a.b=x', false],
  ['a.n=500', true],
  ['a.n=500.0', false],
  ['a.f=1.5', true],
  ['a.t=true', true],
  ['a.list=[1]', true],
  ['k%2Ee=dot', true],
  ['k.e=dot', false],
  ['big=18446744073709551615', true],
  ['project=demo', true],
  ['id!=e1', false],
  ['a.none=', false],
  ['missing=', false],
  ['empty=', true],
  ['missing!=x', true],
  ['missing!=', false],
  ['a.b!=x', true],
  ['a.n>=500', true],
  ['a.n>500', false],
  ['text<=5e2', true],
  ['a.b<1', false],
  ['missing<1', false],
  ['a.list.0=1', false],
  ['a.b.length=3', false],
  ['__proto__=x', false],
])('the entry matches %s: %j', (condition, expected) => {
  expect(matches(entry, [], collectCondition(condition, undefined))).toBe(expected)
})

test('all texts and conditions must match', () => {
  const conditions = collectCondition('project=demo', collectCondition('a.n<600', undefined))
  expect(matches(entry, ['über', '/REST'], conditions)).toBe(true)
  expect(matches(entry, ['über', 'POST'], conditions)).toBe(false)
  expect(matches(entry, [], collectCondition('project=other', conditions))).toBe(false)
})

test.each(['', 'path', 'path:value', '=x', '!path', 'n>many', 'n<='])('rejects the condition %j', (text) => {
  expect(() => collectCondition(text, undefined)).toThrow(/must be a condition such as|is not a number/)
})
