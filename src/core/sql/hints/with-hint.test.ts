import { describe, expect, test } from 'vitest'
import { engineUnavailable, invalidQuery, type WellheadError } from '../../base/errors.ts'
import { functionNames, isAllowedFunction, refusedFunctions } from '../functions.ts'
import { functionHints } from './dialect-hints.ts'
import { refuseFunction, refuseSource, refuseTableFunction } from './name-hints.ts'
import { withHint } from './with-hint.ts'

const hinted = async (message: string, sql: string, isSandbox = false) => {
  const options = { tables: ['edge_logs', 'auth_logs'], isSandbox, sampled }
  return (await withHint(invalidQuery(message), sql, options)) as WellheadError
}

const paths = new Map([
  ['route', ['String']],
  ['timing.total_ms', ['Int64', 'Float64']],
  ['cart.items', ['Array(JSON(max_dynamic_types=16))']],
  ['tags', ['Array(Nullable(String))']],
  ['is_test', ['Bool']],
  ['a.same', ['String']],
  ['b.same', ['String']],
  ['x-id', ['String', 'Int64']],
  ['resource.service%2Ename', ['String']],
  ['a b', ['String']],
])
const sampled = {
  sample: async (source: string) => (source === 'edge_logs' ? { entries: 1, paths } : undefined),
}

describe('withHint', () => {
  test.each([
    ['SELECT a, {{ Int32(days, 7) }} FROM t', 11, 'Write @days instead of {{ Int32(days, 7) }}.'],
    ["SELECT metadata -> 'a' ->> 'b.c' FROM t", 8, 'Write metadata.a.b.c::Nullable(String).'],
    ["SELECT (metadata->>'x')::int, 1 FROM t", 9, 'Write metadata.x::Nullable(Int64).'],
    ["SELECT (metadata->>'x')::numeric FROM t", 9, 'Write metadata.x::Nullable(Float64).'],
    ["SELECT (metadata->>'x')::text FROM t", 9, 'Write metadata.x::Nullable(String).'],
    ["SELECT a.metadata.x->>'1 2' FROM t a", 8, 'Write a.metadata.x.`1 2`::Nullable(String).'],
    ['SELECT a FROM t WHERE b BETWEEN :from AND :to', 33, 'Write @from instead of :from.'],
    [
      'SELECT a FROM auth-logs',
      15,
      'Unknown source "auth-logs". Did you mean auth_logs? Sources: auth_logs, edge_logs.',
    ],
    [
      'SELECT CASE WHEN a THEN (CASE WHEN b THEN 1 END) FROM t',
      8,
      'This CASE is not closed. Write END after its last value.',
    ],
    ["SELECT 1 WHERE t.a !~ 'x'", 20, "Write NOT match(t.a, 'a')."],
  ])('explains a syntax error in %s', async (sql, column, message) => {
    expect(await hinted('Syntax error at "x".', sql)).toMatchObject({ message, details: { line: 1, column } })
  })

  test.each([
    "SELECT arrayMap(x -> 'a', [1]) nope nope",
    'SELECT a ? b : c nope nope',
    "SELECT {'a': 1}, x::Int8, '{{x}}', ':x', `a-b` nope nope",
    'SELECT a % s, b ? 1 : 2 nope nope',
  ])('does not mistake %s for another dialect', async (sql) => {
    expect((await hinted('Syntax error at "nope".', sql)).message).toBe('Syntax error at "nope".')
  })

  test('keeps the position and the message of errors that it does not know', async () => {
    const error = invalidQuery('Division by zero.', { line: 2, column: 4 })
    expect(await withHint(error, 'SELECT\n 1 / 0', { tables: [] })).toMatchObject({
      message: 'Division by zero.',
      details: { line: 2, column: 4 },
    })
    const other = engineUnavailable('The engine stopped the query.')
    expect(await withHint(other, 'SELECT 1', { tables: [] })).toBe(other)
  })

  test.each([
    ['route', 'SELECT route FROM edge_logs', 'Did you mean metadata.route::Nullable(String)?'],
    ['e.route', 'SELECT e.route FROM edge_logs e', 'Did you mean e.metadata.route::Nullable(String)?'],
    ['rout', 'SELECT rout FROM edge_logs', 'Did you mean metadata.route::Nullable(String)?'],
    [
      'total_ms',
      'SELECT total_ms FROM edge_logs',
      'Did you mean metadata.timing.total_ms::Nullable(Float64)?',
    ],
    ['total_ms', 'SELECT total_ms::Int32 FROM edge_logs', 'Did you mean metadata.timing.total_ms?'],
    ['items', 'SELECT items FROM edge_logs', 'Did you mean metadata.cart.items[]?'],
    ['tags', 'SELECT tags FROM edge_logs', 'Did you mean metadata.tags::Array(String)?'],
    ['is_test', 'SELECT is_test FROM edge_logs', 'Did you mean metadata.is_test::Nullable(Bool)?'],
    ['x-id', 'SELECT `x-id` FROM edge_logs', 'Did you mean metadata.`x-id`::Nullable(String)?'],
    [
      'service.name',
      'SELECT service.name FROM edge_logs',
      'Did you mean metadata.resource.`service.name`::Nullable(String)?',
    ],
    ['a b', 'SELECT `a b` FROM edge_logs', 'Did you mean metadata.`a b`::Nullable(String)?'],
    ['same', 'SELECT same FROM edge_logs', ''],
    ['route', 'SELECT route FROM auth_logs', ''],
    ['routes', 'SELECT 1 FROM edge_logs WHERE id = routes', "If it is text, write 'routes'."],
  ])('names the path that %s means in %s', async (name, sql, help) => {
    const { message } = await hinted(`Unknown expression identifier \`${name}\` in scope`, sql)
    expect(message).toBe(`There is no column ${name}. ${help}`.trim())
  })

  test('does not recommend parameters in a sandbox', async () => {
    expect((await hinted('Unknown expression identifier `SYSDATE`.', 'SELECT SYSDATE', true)).message).toBe(
      'Write now().',
    )
    expect((await hinted('Unknown expression identifier `$1`.', 'SELECT $1', true)).message).not.toContain(
      '@',
    )
    expect((await hinted('Syntax error at "%".', 'SELECT 1 {% if x %}', true)).message).not.toContain('@')
  })

  test.each([
    ['arrows', `SELECT metadata${"->'a'".repeat(3_900)}`],
    ['dots', `SELECT ${'a.'.repeat(5_000)}b nope`],
    ['templates', `SELECT ${'{'.repeat(10_000)}`],
    ['dashes', `SELECT 1 FROM a${'-a'.repeat(9_900)}`],
    ['nested calls', `SELECT ${'array_agg('.repeat(200)}${'1,'.repeat(5_000)}1${')'.repeat(200)}`],
    ['operators', `SELECT ${'~'.repeat(10)} ${'a . '.repeat(4_900)}`],
    ['CASE', `SELECT ${'CASE WHEN '.repeat(1_900)}`],
    ['a long name', `SELECT ${'a'.repeat(19_900)}(1)`],
  ])('reads long SQL of %s', async (_, sql) => {
    for (const message of ['Syntax error at "x".', 'Unknown expression identifier `nope`.']) {
      expect((await hinted(message, sql)).code).toBe('invalid_query')
    }
    expect(refuseFunction('a'.repeat(90_000), sql).code).toBe('invalid_query')
  })
})

describe('a refused name', () => {
  test.each([
    ['SLEEP', 'SELECT SLEEP(1)', 'The function SLEEP is not allowed.'],
    ['aggThrowIf', 'SELECT aggThrowIf(1)', 'The function aggThrowIf is not allowed.'],
    ['numbers', 'SELECT 1 IN numbers(3)', 'The function numbers is not allowed here. Read it after FROM.'],
    ['foo', 'SELECT foo(1)', 'There is no function foo.'],
    [
      'NVL',
      'SELECT NVL(e.metadata.x::String, 1)',
      "There is no function NVL. Write ifNull(e.metadata.x::String, '').",
    ],
    [
      'percentile_cont',
      'SELECT percentile_cont(metadata.ms, 0.5)',
      'There is no function percentile_cont. Write quantile(0.95)(metadata.ms::Nullable(Float64)).',
    ],
    ['nvl', 'SELECT nvl(upper(a), 1)', "There is no function nvl. Write ifNull(upper(a), '')."],
    ['nvl', "SELECT nvl(a || 'b', 1)", "There is no function nvl. Write ifNull((a || 'b'), '')."],
    ['nvl', 'SELECT nvl(1, 2)', "There is no function nvl. Write ifNull(s, '')."],
    [
      'array_concat',
      'SELECT array_concat(a)',
      'There is no function array_concat. Did you mean arrayConcat?',
    ],
  ])('of the function %s is explained', (name, sql, message) => {
    expect(refuseFunction(name, sql).message).toBe(message)
  })

  test('of a table is searched where tables are', () => {
    const sql = 'SELECT edge FROM edge_logs\nJOIN edge ON 1'
    expect(refuseSource('edge', sql, ['edge_logs'], []).details).toEqual({ line: 2, column: 6 })
    expect(refuseTableFunction('merge', "SELECT 1 FROM\n merge('.*')").details).toEqual({
      line: 2,
      column: 2,
    })
  })

  test('of a source is answered with at most 20 sources', () => {
    const many = Array.from({ length: 23 }, (_, index) => `source_${String(index).padStart(2, '0')}`)
    expect(refuseSource('nothing', 'SELECT 1 FROM nothing', many, []).message).toMatch(
      /source_19, and 3 more\.$/,
    )
  })

  test('has a hint only if the function is not allowed, except for its spelling', () => {
    const allowed = [...functionHints.keys()].filter((name) => isAllowedFunction(name))
    // The engine has these under another spelling or with other arguments.
    expect(allowed.sort()).toEqual(['any', 'countif', 'isnull', 'md5', 'sha1', 'sha256'])
    expect(refusedFunctions.filter((name) => functionHints.has(name.toLowerCase()))).toEqual([])
    expect([...functionNames.values()].filter((name) => !isAllowedFunction(name))).toEqual([])
  })
})
