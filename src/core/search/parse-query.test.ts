import { describe, expect, test } from 'vitest'
import { queryLimits, readQuery } from './parse-query.ts'
import { parsingTests, type SearchCondition } from './search-condition.ts'

const parseQuery = (query: string) => readQuery(query, [])

/** A query in one form: prefix notation, all values quoted. */
function written(node: SearchCondition): string {
  switch (node.kind) {
    case 'and':
    case 'or':
      return `${node.kind}(${node.parts.map(written).join(' ')})`
    case 'not':
      return `not(${written(node.part)})`
    case 'word':
      return JSON.stringify(node.value)
    case 'test': {
      const { is, ...rest } = node.test
      const name = node.field.kind === 'own' ? node.field.column : node.field.keys.join('.')
      return `${name} ${is} ${JSON.stringify(rest)}`
    }
  }
}

test.each([
  ['', 'and()'],
  ['  one  "two words" ', 'and("one" "two words")'],
  ['a AND b OR c d', 'or(and("a" "b") and("c" "d"))'],
  ['a (b OR c)', 'and("a" or("b" "c"))'],
  ['(a)(b)', 'and("a" "b")'],
  ['NOT a OR -b', 'or(not("a") not("b"))'],
  ['-(a OR b)', 'not(or("a" "b"))'],
  ['NOT NOT a', 'not(not("a"))'],
  ['OREGON ANDROID NOTE or and', 'and("OREGON" "ANDROID" "NOTE" "or" "and")'],
  ['"OR" "NOT"', 'and("OR" "NOT")'],
  ['could not connect a:1 Not found', 'and("could" "not" "connect" a eq {"value":"1"} "Not" "found")'],
  ['a:1 "or" b | c', 'and(a eq {"value":"1"} "or" "b" "|" "c")'],
  ['count(x) fn()', 'and("count(x)" "fn()")'],
  ['(count(x) OR y)', 'or("count(x)" "y")'],
  ['https://example.com/a 12:30', 'and("https://example.com/a" "12:30")'],
  ['- -- --flag a-b', 'and("-" "--" "--flag" "a-b")'],
  ['/rest/* *', 'and("/rest/" and())'],
  ['a:b', 'a eq {"value":"b"}'],
  ['a:"b \\" \\\\ c"', 'a eq {"value":"b \\" \\\\ c"}'],
  ['a:""', 'a eq {"value":""}'],
  ['"odd key":x', 'odd key eq {"value":"x"}'],
  ['größe:x _a.b-c:1', 'and(größe eq {"value":"x"} _a.b-c eq {"value":"1"})'],
  [
    'a:>=5 b:<-1.5e3',
    'and(a number {"min":{"value":5,"inclusive":true}} b number {"max":{"value":-1500,"inclusive":false}})',
  ],
  ['a:1..2.5', 'a number {"min":{"value":1,"inclusive":true},"max":{"value":2.5,"inclusive":true}}'],
  ['a:-2..-1', 'a number {"min":{"value":-2,"inclusive":true},"max":{"value":-1,"inclusive":true}}'],
  [
    'a:..5 b:5..',
    'and(a number {"max":{"value":5,"inclusive":true}} b number {"min":{"value":5,"inclusive":true}})',
  ],
  ['a:../x b:..', 'and(a eq {"value":"../x"} b eq {"value":".."})'],
  [
    'a:* b:x* c:*x d:*x*',
    'and(a exists {} b prefix {"value":"x"} c suffix {"value":"x"} d contains {"value":"x"})',
  ],
  ['a:"*" a:">5"', 'and(a eq {"value":"*"} a eq {"value":">5"})'],
  [
    'a:(b OR "c d" OR -e* OR >5)',
    'or(a eq {"value":"b"} a eq {"value":"c d"} not(a prefix {"value":"e"}) a number {"min":{"value":5,"inclusive":false}})',
  ],
  ['a:(https://x OR y:z)', 'or(a eq {"value":"https://x"} a eq {"value":"y:z"})'],
  ['a:(-b OR -1.2.3 OR "-5")', 'or(not(a eq {"value":"b"}) not(a eq {"value":"1.2.3"}) a eq {"value":"-5"})'],
  [
    'a:1.50 "a":1E2',
    'and(or(a eq {"value":"1.5"} a eq {"value":"1.50"}) or(a eq {"value":"100"} a eq {"value":"1E2"}))',
  ],
  ['a:"1.50" a:1.2.30 a:1e999', 'and(a eq {"value":"1.50"} a eq {"value":"1.2.30"} a eq {"value":"1e999"})'],
  ['-a:b', 'not(a eq {"value":"b"})'],
])('parses %j', (query, expected) => {
  expect(written(parseQuery(query))).toBe(expected)
})

test.each([
  ['a (b', 'Unclosed bracket at character 3.'],
  ['a:(b', 'Unclosed bracket at character 3.'],
  ['a)', 'Unexpected closing bracket at character 2.'],
  [')', 'Unexpected closing bracket at character 1.'],
  ['()', 'Empty brackets at character 2.'],
  ['a ""', 'Empty quotes at character 3.'],
  ['say "hi', 'Unclosed quote at character 5.'],
  ['OR a', 'OR at character 1 has nothing before it. To search for the word, write "OR".'],
  ['a OR', 'Nothing follows OR at character 5.'],
  ['a OR OR b', 'OR at character 6 has nothing before it. To search for the word, write "OR".'],
  ['a AND', 'Nothing follows AND at character 6.'],
  ['(NOT )', 'Nothing follows NOT at character 6.'],
  ['Error: x', 'Nothing follows "Error:" at character 7. Write the value without a space before it.'],
  ['a:>', 'Nothing follows > at character 3. Write a number, without a space before it.'],
  ['a:>=b', '"b" at character 5 is not a number. Only numbers can be compared with >=.'],
  ['a:>1e999', '"1e999" at character 4 is not a number. Only numbers can be compared with >.'],
  ['a:5..1', 'The range 5..1 at character 3 is empty. Write the smaller number first: 1..5.'],
  [
    'a:(404 OR -5)',
    'The dash at character 11 could exclude 5 or belong to it. Write NOT 5, or repeat the field: a:-5.',
  ],
  ['a:(-5..0.5)', 'Write NOT 5..0.5, or repeat the field: a:-5..0.5.'],
  ['a:b*c', 'An asterisk at character 4 must be the first or last character of a value.'],
  ['b*c', 'An asterisk at character 2 must be the first or last character of a value.'],
  ['a:**', 'An asterisk at character 4 must be the first or last character of a value.'],
])('says what is wrong with %j', (query, message) => {
  expect(() => parseQuery(query)).toThrow(message)
})

describe('limits', () => {
  const { maxLength, maxConditions, maxDepth } = queryLimits
  const repeated = (text: string, times: number) => Array.from({ length: times }, () => text).join(' ')

  test('the length', () => {
    expect(() => parseQuery('x'.repeat(maxLength))).not.toThrow()
    expect(() => parseQuery('x'.repeat(maxLength + 1))).toThrow('at most 5000 characters long; it has 5001.')
  })

  test('the number of conditions', () => {
    expect(() => parseQuery(repeated('a', maxConditions))).not.toThrow()
    expect(() => parseQuery(repeated('a', maxConditions + 1))).toThrow(
      'more than 50 conditions, from character 101',
    )
  })

  test.each(['(', 'NOT ', '-('])('the depth of %j', (nested) => {
    const query = nested.repeat(1_000)
    expect(() => parseQuery(`${query}a`)).toThrow('More than 20 nested brackets or NOT at character')
    expect(() => parseQuery(`${'('.repeat(maxDepth)}a${')'.repeat(maxDepth)}`)).not.toThrow()
  })
})

test.each([
  ['one', 0],
  ['one OR -two', 0],
  ['"one two"', 1],
  ['500', 1],
  ['one some.path:x', 1],
])('%s reads the JSON text of entries %i times where words have an index', (query, times) => {
  const condition = readQuery(query, [])
  expect(parsingTests(condition, true)).toBe(times)
  expect(parsingTests(condition, false)).toBeGreaterThan(0)
})
