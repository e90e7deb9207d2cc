import { describe, expect, test } from 'vitest'
import { bracketProblem, leadingWith, subqueryNames, withoutUnused } from './with.ts'

describe('names of subqueries', () => {
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
  ])('%s', (sql, names) => expect([...subqueryNames(sql)]).toEqual(names))
})

describe('the clause that a query begins with', () => {
  test('ends where the final SELECT begins', () => {
    const sql = '-- x\nWITH 1 AS one, a AS (SELECT 1) -- SELECT\n SELECT * FROM a'
    expect(leadingWith(sql)).toEqual({ text: 'WITH 1 AS one, a AS (SELECT 1) -- SELECT\n ', names: ['a'] })
  })

  test('names only what it defines itself', () => {
    expect(leadingWith('WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) FROM a SELECT 1')?.names).toEqual([
      'a',
    ])
  })

  test.each(['SELECT 1', '(WITH a AS (SELECT 1) SELECT 2)', 'WITH a AS (SELECT 1)', ''])(
    'is none in %j',
    (sql) => expect(leadingWith(sql)).toBeUndefined(),
  )
})

describe('brackets', () => {
  test.each(['', 'SELECT (1)', "SELECT ')', `(`, $x$ ) $x$ /* ) */ -- )", 'SELECT [(1)], {1}'])(
    'fit in %s',
    (sql) => expect(bracketProblem(sql, 9)).toBeUndefined(),
  )

  test.each([
    ['SELECT 1)', 8],
    ['SELECT (1]', 9],
    ['SELECT (1', 7],
    ["SELECT 'x", 7],
    ['SELECT 1 /* x', 9],
    ['(((((((((1)))))))))', 4],
  ])('do not fit in %s', (sql, offset) => expect(bracketProblem(sql, 4)?.offset).toBe(offset))
})

describe('a query without what it does not use', () => {
  const unused = (sql: string) => withoutUnused(sql).replace(/\s+/g, ' ')

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
    // A name that could mean it: a column, an alias, another case, a part of a quoted name.
    'WITH a AS (SELECT 1) SELECT t.a FROM t',
    'WITH a AS (SELECT 1) SELECT 1 AS a',
    'WITH a AS (SELECT 1) SELECT * FROM A',
    'WITH a AS (SELECT 1) SELECT `a.b`',
    // The part of an expression can be used by its own name.
    'WITH (1 AS part) + 2 AS whole SELECT part',
    'WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a), b AS (SELECT 1) SELECT * FROM a',
    'WITH a AS (SELECT 1), 2 SELECT 3',
  ])('is the same where all of it may be used: %s', (sql) => expect(withoutUnused(sql)).toBe(sql))
})
