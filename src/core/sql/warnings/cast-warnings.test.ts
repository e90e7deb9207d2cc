import { describe, expect, test } from 'vitest'
import { recent, warned } from '../../../../test/support/sql/warned.ts'
import { findWarnings } from './find-warnings.ts'

describe('cast_hides_missing', () => {
  const warnedCasts = (sql: string) => warned(sql, /cast_hides_missing/)
  const selected = (expression: string) => `SELECT ${expression} AS x FROM auth_logs WHERE ${recent}`

  test.each([
    ['metadata.status::Int64', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    ['metadata.user::String', 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ['metadata.cost::Decimal(10, 2)', 'metadata.cost', '0', 'metadata.cost::Nullable(Decimal(10, 2))'],
    ['metadata.at::DateTime', 'metadata.at', '1970-01-01', 'metadata.at::Nullable(DateTime)'],
    [
      'metadata.user::LowCardinality(String)',
      'metadata.user',
      "''",
      'metadata.user::LowCardinality(Nullable(String))',
    ],
    ['CAST(metadata.status AS Int64)', 'CAST', '0', 'metadata.status::Nullable(Int64)'],
    ["CAST(metadata.user, 'String')", 'CAST', "''", 'metadata.user::Nullable(String)'],
    ['avg(metadata.duration::Float64)', 'metadata.duration', '0', 'metadata.duration::Nullable(Float64)'],
    ["coalesce(metadata.user::String, 'nobody')", 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ['ifNull(metadata.status::Int64, -1)', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    ['metadata.status::Int64 < 400', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    ["metadata.user::String != 'root'", 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ['metadata.status::Int64 = 0', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    ['metadata.status::Int64 IN (0, 200)', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    ['metadata.user::String = @user', 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ["NOT metadata.user::String = 'root'", 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ["NOT (metadata.user::String = 'root')", 'metadata.user', "''", 'metadata.user::Nullable(String)'],
    ['metadata.status::Int64 BETWEEN 0 AND 399', 'metadata.status', '0', 'metadata.status::Nullable(Int64)'],
    [
      'metadata.status::Int64 NOT BETWEEN 200 AND 299',
      'metadata.status',
      '0',
      'metadata.status::Nullable(Int64)',
    ],
  ])('%s is reported', async (expression, at, missing, instead) => {
    const sql = selected(expression)
    expect(await warnedCasts(sql)).toEqual([at])
    const [warning] = (
      await findWarnings({
        ...{ sql, declared: ['user'], sandbox: false },
        columnsOf: () => [],
      })
    ).filter(({ code }) => code === 'cast_hides_missing')
    expect(warning?.message).toContain(`is ${missing} where the path is missing. Use ${instead} to get null.`)
  })

  test('a group of missing values is reported', async () => {
    expect(
      await warnedCasts(`SELECT count() FROM auth_logs WHERE ${recent} GROUP BY metadata.user::String`),
    ).toEqual(['metadata.user'])
    expect(await warnedCasts(`SELECT e.metadata.a::Int8 FROM auth_logs e WHERE e.${recent}`)).toEqual([
      'e.metadata.a',
    ])
  })

  test.each([
    'metadata.status::Nullable(Int64)',
    'metadata.status::nullable(int64)',
    'metadata.status',
    'metadata.tags::Array(String)',
    'metadata.items[].name',
    'metadata.user::LowCardinality(Nullable(String))',
    'toInt64OrNull(metadata.status)',
    'CAST(metadata.status AS Nullable(Int64))',
    "CAST(metadata.status, 'Nullable(Int64)')",
    'status::Int64',
    'toString(timestamp)',
    "'metadata.status::Int64'",
    // Null is not true either.
    'metadata.ok::Bool',
    "metadata.level::String = 'error'",
    "metadata.level::String IN ('error', 'fatal')",
    "metadata.path::String LIKE '/rest/%'",
    "metadata.level::String != ''",
    "metadata.level::String = ''",
    'metadata.status::Int64 >= 500',
    'metadata.status::Int64 = 404',
    'countIf(metadata.status::Int64 >= 500)',
    'metadata.status::Int64 BETWEEN 400 AND 499',
    '500 <= metadata.status::Int64',
    "'error' = metadata.level::String",
    '(metadata.status)::Nullable(Int64)',
    'length(metadata.status)::Int64',
    "nullIf(metadata.user::String, '')",
    'ifNull(metadata.bytes::Int64, 0)',
    'sum(metadata.bytes::Int64)',
    "match(metadata.path::String, '^/rest')",
    "startsWith(metadata.path::String, '/rest')",
    'empty(metadata.user::String)',
  ])('%s is not reported', async (expression) => {
    expect(await warnedCasts(selected(expression))).toEqual([])
  })

  test('a path with a typed column is reported like any other, because the column is only faster', async () => {
    const from = `FROM edge_logs WHERE ${recent}`
    expect(await warnedCasts(`SELECT metadata.request.path::String AS path ${from}`)).toHaveLength(1)
    expect(await warnedCasts(`SELECT metadata.response.status_code::Int64 AS s ${from}`)).toHaveLength(1)
  })
})
