import { expect, test } from 'vitest'
import { heavyReading, kindsOf, shareOf, suggestedColumn, suggestedType } from './typed-columns.ts'

test('shows types of the engine in plain words', () => {
  expect(kindsOf(['Array(Nullable(String))', 'Bool', 'Float64', 'Int64', 'String'])).toEqual([
    'list',
    'true/false',
    'number',
    'text',
  ])
  expect(kindsOf(['Array(JSON(max_dynamic_types=16))', 'JSON', 'UUID'])).toEqual(['list', 'object', 'UUID'])
})

test('suggests a number only if no other kind was seen or the query casts to one', () => {
  expect(suggestedType(['Float64', 'Int64'])).toBe('number')
  expect(suggestedType(['Int64', 'String'])).toBe('text')
  expect(suggestedType([])).toBe('text')
  expect(suggestedType(['Int64'], 'String')).toBe('text')
  expect(suggestedType(['String'], 'Nullable(Float64)')).toBe('number')
})

test.each([
  ['response.origin_time', [], 'origin_time'],
  ['response.origin_time', ['origin_time'], 'response_origin_time'],
  ['request.id', [], 'request_id'],
  ['id', [], ''],
  ['cf.clientIp', [], 'client_ip'],
  ['headers.x-real-ip', [], 'x_real_ip'],
  ['a._0', [], 'a_0'],
  ['attributes.http%2Eroute', [], 'http_route'],
])('names the column for %s beside %s "%s"', (path, taken, expected) => {
  expect(suggestedColumn(path, taken)).toBe(expected)
})

test.each([
  [0, 100, '0 %'],
  [1, 1000, '< 1 %'],
  [92, 100, '92 %'],
  [9_999, 10_000, '99 %'],
  [5, 5, '100 %'],
  [0, 0, '0 %'],
])('shows %d of %d entries as whole percent, never rounded to all or none: %s', (entries, sampled, share) => {
  expect(shareOf(entries, sampled)).toBe(share)
})

test('suggests a column for requests of this version that read many rows or take long', () => {
  const call = { engine_ms: 5, rows_read: 100, version: 2 }
  expect(heavyReading([call], 2)).toBeUndefined()
  expect(heavyReading([], 2)).toBeUndefined()
  expect(heavyReading([call, { ...call, rows_read: 50_000 }], 2)).toEqual({ rows: 50_000, engineMs: 5 })
  expect(heavyReading([{ ...call, rows_read: null, engine_ms: 200 }], 2)).toEqual({ rows: 0, engineMs: 200 })
  expect(heavyReading([{ ...call, rows_read: 50_000, version: 1 }], 2)).toBeUndefined()
})
