import { describe, expect, test } from 'vitest'
import { collect, collectPair, instant, wholeNumber } from './arguments.ts'

test('options that are given several times are gathered', () => {
  expect(collect('b', collect('a', undefined))).toEqual(['a', 'b'])
})

describe('name=value', () => {
  test('may hold more equals signs, nothing, or names that objects have', () => {
    const one = collectPair('a=b=c', undefined)
    expect(collectPair('empty=', one)).toEqual({ a: 'b=c', empty: '' })
    expect(JSON.stringify(collectPair('__proto__=x', one))).toBe('{"a":"b=c","__proto__":"x"}')
  })

  test.each(['a', '=b', ''])('%j is none', (text) => {
    expect(() => collectPair(text, undefined)).toThrow('is not name=value')
  })

  test('twice is a mistake', () => {
    expect(() => collectPair('a=2', { a: '1' })).toThrow('a is given twice')
  })
})

test('whole numbers have bounds', () => {
  const read = wholeNumber(1, 10)
  expect(read('10')).toBe(10)
  for (const text of ['0', '11', '1.5', '-1', 'x', '', '1e1'])
    expect(() => read(text)).toThrow('from 1 to 10')
})

test('an instant is a span from now, a day, or a time', () => {
  const read = instant(() => Date.UTC(2026, 0, 1))
  expect(read('30d')).toBe('2026-01-31T00:00:00.000Z')
  expect(read('12h')).toBe('2026-01-01T12:00:00.000Z')
  expect(read('2w')).toBe('2026-01-15T00:00:00.000Z')
  expect(read('2027-02-03')).toBe('2027-02-03T00:00:00.000Z')
  expect(read('2027-02-03T04:05:06+02:00')).toBe('2027-02-03T02:05:06.000Z')
  for (const text of ['soon', '30', '2027-02-31', '1y', '']) expect(() => read(text)).toThrow('such as 30d')
})
