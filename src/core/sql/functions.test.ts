import { expect, test } from 'vitest'
import { isAggregate, isAllowedFunction, isGenerator } from './functions.ts'

test.each([
  ...['plus', 'if', 'lambda', 'CAST', 'toString', 'toUInt64OrNull', 'toDateTime64', 'toStartOfInterval'],
  ...['count', 'countIf', 'sumMap', 'uniqExactIfOrNull', 'quantileTDigestIf', 'quantilesExactWeighted'],
  ...['argMaxIf', 'groupArrayArray', 'sumStateIf', 'uniqMerge', 'countDistinct', 'medianExact', 'row_number'],
  ...['JSONExtractString', 'simpleJSONExtractInt', 'visitParamExtractRaw', 'JSONAllPathsWithTypes'],
  ...['domainWithoutWWW', 'cutToFirstSignificantSubdomain', 'IPv4NumToString', 'isIPAddressInRange'],
  ...['arrayReduce', 'mapFilter', 'tupleElement', 'replaceRegexpAll', 'multiSearchAnyCaseInsensitive'],
  ...['SHA256', 'sipHash64', 'geohashEncode', 'h3ToParent', 'pointInPolygon', 'formatReadableSize'],
])('%s is allowed', (name) => {
  expect(isAllowedFunction(name)).toBe(true)
  expect(isAllowedFunction(name.toUpperCase())).toBe(true)
})

test.each([
  ...['file', 'FILE', 'url', 'hostName', 'dictGet', 'dictGetOrNull', 'joinGet', 'getSetting', 'sleep'],
  ...['throwIf', 'currentUser', 'merge', 'numbers', 'aggThrow', 'aggThrowIf', 'indexHint', '__getScalar'],
  ...['', 'StateIf', 'toInt', 'count ', 'sum\n', 'countif(', 'toUInt64Or', 'firstSignificantSubdomainCustom'],
])('%j is not allowed', (name) => expect(isAllowedFunction(name)).toBe(false))

test('combinators apply to aggregate functions only', () => {
  expect(isAggregate('sumIf')).toBe(true)
  expect(isAggregate('sumIfArrayState')).toBe(true)
  expect(isAggregate('lowerIf')).toBe(false)
  expect(isAggregate('array')).toBe(false)
})

test('generators are table functions only', () => {
  expect(isGenerator('numbers')).toBe(true)
  expect(isGenerator('generateSeries')).toBe(true)
  expect(isGenerator('merge')).toBe(false)
})
