import { describe, expect, test } from 'vitest'
import { Query } from './query.ts'

describe('named subqueries', () => {
  test.each([
    ['SELECT 1', []],
    ['WITH a AS (SELECT 1) SELECT * FROM a', ['a']],
    ['WITH 1 AS one, a AS (SELECT 1), b AS (WITH c AS (SELECT 2) SELECT 3) SELECT 1', ['a', 'b', 'c']],
    ['WITH `a` AS (SELECT 1), "b" AS ((SELECT 2)) SELECT 1', ['a', 'b']],
    ['WITH a(x, y) AS (SELECT 1, 2), b AS MATERIALIZED (SELECT 3) SELECT 1', ['a', 'b']],
    ['WITH /* b AS (SELECT 1) */ a -- c\nAS(FROM t SELECT 1) SELECT 1', ['a']],
    ["WITH 'a AS (SELECT 1)' AS b SELECT 1", []],
    ['WITH (SELECT 1) AS n SELECT n', []],
    ['SELECT CAST(a AS (1))', []],
  ])('%s', (sql, names) => expect([...new Query(sql).subqueriesBy.keys()]).toEqual(names))
})

describe('leadingWith', () => {
  test('ends before the final SELECT', () => {
    const sql = '-- x\nWITH 1 AS one, a AS (SELECT 1) -- SELECT\n SELECT * FROM a'
    expect(new Query(sql).leadingWith).toEqual({
      text: 'WITH 1 AS one, a AS (SELECT 1) -- SELECT\n ',
      names: ['a'],
    })
  })

  test('lists only subqueries of the outer clause', () => {
    const sql = 'WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) FROM a SELECT 1'
    expect(new Query(sql).leadingWith?.names).toEqual(['a'])
  })

  test.each(['SELECT 1', '(WITH a AS (SELECT 1) SELECT 2)', 'WITH a AS (SELECT 1)', ''])(
    'finds none in %j',
    (sql) => expect(new Query(sql).leadingWith).toBeUndefined(),
  )
})

describe('withoutUnused', () => {
  const unused = (sql: string) => new Query(sql).withoutUnused.sql.replace(/\s+/g, ' ')

  test.each([
    ['WITH a AS (SELECT 1) SELECT 2', 'SELECT 2'],
    ['WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM b', 'WITH b AS (SELECT 2) SELECT * FROM b'],
    [
      'WITH 1 AS x, a AS (SELECT x), b AS (SELECT * FROM a), c AS (SELECT * FROM b) SELECT * FROM b',
      'WITH 1 AS x, a AS (SELECT x), b AS (SELECT * FROM a) SELECT * FROM b',
    ],
    ['WITH a(x) AS (SELECT 1), b AS MATERIALIZED (SELECT 2) SELECT 3', 'SELECT 3'],
    ['WITH (x, y) -> x + y AS f, 2 AS g SELECT f(1, 2)', 'WITH (x, y) -> x + y AS f SELECT f(1, 2)'],
    [
      "WITH a AS (SELECT ', b') -- , c\n, d AS (SELECT 1) FROM d SELECT 1",
      'WITH d AS (SELECT 1) FROM d SELECT 1',
    ],
    [
      'WITH `a b` AS (SELECT 1), c AS (SELECT 2) SELECT * FROM `a b`',
      'WITH `a b` AS (SELECT 1) SELECT * FROM `a b`',
    ],
    ['WITH {p:String} AS x, 2 AS y SELECT y', 'WITH 2 AS y SELECT y'],
    ['WITH (SELECT 1) AS n, 2 AS m SELECT m UNION ALL SELECT 3', 'WITH 2 AS m SELECT m UNION ALL SELECT 3'],
  ])('%s', (sql, expected) => expect(unused(sql)).toBe(expected))

  test.each([
    'SELECT 1',
    'WITH a AS (SELECT 1) SELECT * FROM a',
    // Names that could mean it: a column, an alias, another case, a part of a quoted name.
    'WITH a AS (SELECT 1) SELECT t.a FROM t',
    'WITH a AS (SELECT 1) SELECT 1 AS a',
    'WITH a AS (SELECT 1) SELECT * FROM A',
    'WITH a AS (SELECT 1) SELECT `a.b`',
    // A part of an expression can be used by its alias.
    'WITH (1 AS part) + 2 AS whole SELECT part',
    'WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a), b AS (SELECT 1) SELECT * FROM a',
    'WITH a AS (SELECT 1), 2 SELECT 3',
  ])('keeps what may be used: %s', (sql) => expect(new Query(sql).withoutUnused.sql).toBe(sql))
})
