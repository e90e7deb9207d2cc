import { expect, test } from 'vitest'
import { inferredTypes, usedAsLists } from './parameter-types.ts'
import { Query } from './query.ts'

const columns = [
  { name: 'status_code', path: 'response.status', type: 'number' },
  { name: 'level', path: 'level', type: 'text' },
] as const
const columnsOf = (source: string) => (source === 'edge_logs' ? columns : undefined)

test.each([
  ['timestamp > @now - toIntervalHour(@p)', 'integer'],
  ['timestamp > @now - INTERVAL @p HOUR', 'integer'],
  ['timestamp > subtractHours(@now, @p)', 'integer'],
  ['1 LIMIT @p', 'integer'],
  ['1 LIMIT 10 OFFSET @p', 'integer'],
  ['number IN range(@p)', 'integer'],
  ['toUInt16(@p) > 1', 'integer'],
  ['toUInt16OrZero(@p) > 1', undefined],
  ['round(metadata.n::Float64, @p) > 1', 'integer'],
  ['@p = 3', 'integer'],
  ['n >= 1.5 AND 0.5 < @p', 'number'],
  ['metadata.n::Nullable(UInt16) >= @p', 'integer'],
  ['metadata.n::Nullable(Float64) BETWEEN @p AND 5', 'number'],
  ['metadata.n::Nullable(Float64) BETWEEN 1 AND @p', 'number'],
  ['@p = metadata.a.b::Bool', 'boolean'],
  ['metadata.n::Int32 = @p AND metadata.m::Float64 = @p', 'number'],
  ['e.status_code >= @p', 'number'],
  ['level = @p', 'string'],
  ['project = @p', 'string'],
  ['metadata.a::LowCardinality(String) LIKE @p', 'string'],
  ['timestamp BETWEEN @p AND @now', 'timestamp'],
  ['@p <= timestamp', 'timestamp'],
  ['match(metadata.url::Nullable(String), @p)', 'regex'],
  ['x = @p::Int32', 'integer'],
  ['x = @p', undefined],
  ['level = @p AND status_code = @p', undefined],
  ["'LIMIT @p' = x AND y = @p -- LIMIT @p", undefined],
])('in %s tells that the parameter is %s', (condition, type) => {
  expect(inferredTypes(new Query(`SELECT 1 FROM edge_logs e WHERE ${condition}`), columnsOf).get('p')).toBe(
    type,
  )
})

test('are not told by columns of sources that the SQL does not read', () => {
  expect(inferredTypes(new Query('SELECT 1 FROM auth_logs WHERE status_code = @p'), columnsOf).size).toBe(0)
})

test('are read from long SQL', () => {
  const sql = `SELECT ${'match('.repeat(20_000)}${'@p,'.repeat(20_000)}`
  expect(inferredTypes(new Query(sql)).get('p')).toBe('regex')
})

test.each([
  ['level IN @p', 'string'],
  ['level NOT IN @p', 'string'],
  ['metadata.n::Nullable(UInt16) IN @p', 'number'],
  ['empty(@p) OR status_code NOT IN @p', 'number'],
  ['has(@p, level)', 'string'],
  ['empty(@p)', 'string'],
  ['empty(@p) OR level = @p', undefined],
  ['level IN (@p)', undefined],
  ['has(tags, @p)', undefined],
])('in %s the parameter is a list of %s', (condition, of) => {
  expect(usedAsLists(new Query(`SELECT 1 FROM edge_logs e WHERE ${condition}`), columnsOf).get('p')).toBe(of)
})
