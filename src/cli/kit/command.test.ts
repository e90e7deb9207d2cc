import { expect, test } from 'vitest'
import { collect, collectPair, collectValues, durationSeconds, instant, wholeNumber } from './command.ts'

test('collects repeated options', () => {
  expect(collect('b', collect('a', undefined))).toEqual(['a', 'b'])
})

test('name=value accepts equals signs, empty values and names of object properties', () => {
  const one = collectPair('a=b=c', undefined)
  expect(collectPair('empty=', one)).toEqual({ a: 'b=c', empty: '' })
  expect(JSON.stringify(collectPair('__proto__=x', one))).toBe('{"a":"b=c","__proto__":"x"}')
})

test.each(['a', '=b', ''])('name=value rejects %j', (text) => {
  expect(() => collectPair(text, undefined)).toThrow('must be name=value')
})

test('name=value rejects a name that is set twice', () => {
  expect(() => collectPair('a=2', { a: '1' })).toThrow('a is set twice')
})

test('whole numbers have bounds', () => {
  const read = wholeNumber(1, 10)
  expect(read('10')).toBe(10)
  for (const text of ['0', '11', '1.5', '-1', 'x', '', '1e1'])
    expect(() => read(text)).toThrow('from 1 to 10')
})

test.each<[string, string?]>([
  ['30d', '2026-01-31T00:00:00.000Z'],
  ['12h', '2026-01-01T12:00:00.000Z'],
  ['2w', '2026-01-15T00:00:00.000Z'],
  ['2027-02-03', '2027-02-03T00:00:00.000Z'],
  ['2027-02-03T04:05:06+02:00', '2027-02-03T02:05:06.000Z'],
  ['soon'],
  ['30'],
  ['2027-02-31'],
  ['1y'],
  [''],
])('reads the time %j as %j', (text, expected) => {
  const read = () => instant(() => Date.UTC(2026, 0, 1), 'future')(text)
  if (expected) expect(read()).toBe(expected)
  else expect(read).toThrow('such as 30d')
})

test('reads a time in the past as a duration before now', () => {
  const read = instant(() => Date.UTC(2026, 0, 2), 'past')
  expect(read('1d')).toBe('2026-01-01T00:00:00.000Z')
  expect(read('1970-01-01')).toBe('1970-01-01T00:00:00.000Z')
  expect(read('2026-01-01T02:00:00.123456+02:00')).toBe('2026-01-01T00:00:00.123456Z')
  for (const text of ['yesterday', '-1d', '1d ', '999999999w'])
    expect(() => read(text)).toThrow('such as 30d')
})

test('durations have bounds, and may be a number of seconds', () => {
  const read = durationSeconds(0, 86_400)
  expect(['1d', '30m', '90', '0'].map(read)).toEqual([86_400, 1_800, 90, 0])
  for (const text of ['2d', '1.5h', '-1', 'soon', '']) {
    expect(() => read(text)).toThrow('It must be a duration from 0s to 1d, such as 30m, 12h or 1d.')
  }
})

test('a name that is repeated has a list of values', () => {
  const two = collectValues('a=2', collectValues('a=1', undefined))
  expect(collectValues('b=', collectValues('a=3', two))).toEqual({ a: ['1', '2', '3'], b: '' })
})
