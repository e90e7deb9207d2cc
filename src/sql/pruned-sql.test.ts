import { describe, expect, test } from 'vitest'
import { certainColumns, pruned } from './pruned-sql.ts'
import { Query } from './query.ts'

const columnsOf = (source: string) =>
  source === 'logs' ? [{ name: 'status', path: 'status', type: 'number' } as const] : undefined
const sent = (sql: string) => pruned(new Query(sql), columnsOf).sql.replace(/\s+/g, ' ').trim()

describe('columns that nobody reads', () => {
  test.each([
    [
      'WITH a AS (SELECT id, status FROM logs LIMIT 1) SELECT id FROM a',
      'WITH a AS (SELECT id FROM logs LIMIT 1) SELECT id FROM a',
    ],
    [
      'WITH a AS (SELECT k, count() AS n, countIf(x > 1) AS m FROM logs GROUP BY k LIMIT 9) SELECT k, n FROM a',
      'WITH a AS (SELECT k, count() AS n FROM logs GROUP BY k LIMIT 9) SELECT k, n FROM a',
    ],
    [
      'SELECT x FROM (SELECT a AS x, b AS y FROM logs) WHERE x > 1',
      'SELECT x FROM (SELECT a AS x FROM logs) WHERE x > 1',
    ],
    // What only an unused column reads is unused, too.
    [
      'WITH a AS (SELECT x, y FROM logs LIMIT 1), b AS (SELECT x, y AS z FROM a LIMIT 1) SELECT x FROM b',
      'WITH a AS (SELECT x FROM logs LIMIT 1), b AS (SELECT x FROM a LIMIT 1) SELECT x FROM b',
    ],
    [
      'SELECT count(*) * 2 AS n FROM (SELECT a, b FROM logs WHERE a = 1)',
      'SELECT count(*) * 2 AS n FROM (SELECT a FROM logs WHERE a = 1)',
    ],
  ])('are left out: %s', (sql, expected) => expect(sent(sql)).toBe(expected))

  test.each([
    'SELECT * FROM (SELECT a, b FROM logs)',
    'SELECT x.* FROM (SELECT a, b FROM logs) AS x',
    'SELECT tuple(*) FROM (SELECT a, b FROM logs)',
    "SELECT COLUMNS('a') FROM (SELECT a, b FROM logs)",
    'SELECT a FROM (SELECT DISTINCT a, b FROM logs)',
    'SELECT a FROM (SELECT a, b FROM logs UNION ALL SELECT c, d FROM logs)',
    'SELECT a FROM (SELECT a, b FROM logs ORDER BY 2 LIMIT 1)',
    'SELECT a FROM (SELECT a, count() AS n FROM logs GROUP BY 1)',
    'SELECT a FROM (SELECT a, b, count() AS n FROM logs GROUP BY ALL)',
    'SELECT one FROM (SELECT 1 AS one, count() AS n FROM logs)',
    'SELECT a FROM (SELECT a, arrayJoin(b) AS c FROM logs)',
    'SELECT a FROM (SELECT a, count(arrayJoin(b)) AS c FROM logs GROUP BY a)',
    'SELECT a FROM (SELECT a, max(throwIf(b)) AS c FROM logs GROUP BY a)',
    'SELECT a, d FROM (SELECT a, max(b AS d) AS c FROM logs GROUP BY a)',
    'SELECT a FROM logs WHERE (1, 2) IN (SELECT c, e FROM logs)',
    'WITH s AS (SELECT c, e FROM logs) SELECT a FROM logs WHERE (a, 2) IN s',
    'SELECT (SELECT c, e FROM logs LIMIT 1) AS pair',
    'SELECT a FROM (SELECT a, b FROM logs) NATURAL JOIN logs',
    'SELECT a, x.y FROM (SELECT a, b AS `x.y` FROM logs)',
    'SELECT x FROM (SELECT a AS x, b y FROM logs)',
    'SELECT y FROM (SELECT a, b FROM logs) AS t(x, y)',
    'SELECT A.B FROM (SELECT 1 AS a, 2 AS b) AS a',
    'WITH RECURSIVE r AS (SELECT 1 AS a, 2 AS b UNION ALL SELECT a, b FROM r) SELECT a FROM r',
  ])('may be used: %s', (sql) => expect(sent(sql)).toBe(sql))
})

describe('a final SELECT that only picks columns', () => {
  test.each([
    [
      'WITH 1 AS since, a AS (SELECT id, status FROM logs WHERE t > since) SELECT status, id FROM a ORDER BY id LIMIT 1',
      'WITH 1 AS since SELECT status, id FROM logs WHERE t > since ORDER BY id LIMIT 1',
    ],
    [
      'WITH a AS (SELECT lower(k) AS k, count() AS n FROM logs GROUP BY k HAVING n > 1), b AS (SELECT 1) SELECT n, k FROM a',
      'SELECT count() AS n, lower(k) AS k FROM logs GROUP BY k HAVING n > 1',
    ],
    [
      'WITH a AS (SELECT k FROM logs), b AS (SELECT k, count() AS n FROM a GROUP BY k) SELECT k, n FROM b',
      'WITH a AS (SELECT k FROM logs) SELECT k, count() AS n FROM a GROUP BY k',
    ],
    // With another source, its columns are not known, but no alias is in use.
    [
      'WITH 1 AS x, a AS (SELECT id FROM other) SELECT id FROM a ORDER BY x',
      'WITH 1 AS x SELECT id FROM other ORDER BY x',
    ],
  ])('is merged: %s', (sql, expected) => expect(sent(sql)).toBe(expected))

  test.each([
    'WITH a AS (SELECT id FROM logs) SELECT id AS x FROM a',
    'WITH a AS (SELECT id FROM logs) SELECT DISTINCT id FROM a',
    'WITH a AS (SELECT id FROM logs) SELECT id FROM a WHERE id > 1',
    'WITH a AS (SELECT id FROM logs) SELECT id FROM a AS b ORDER BY b.id',
    'WITH a AS (SELECT id FROM logs) SELECT id FROM a ORDER BY a.id',
    'WITH a AS (SELECT id FROM logs) SELECT id FROM a UNION ALL SELECT 1',
    'WITH a AS (SELECT id FROM logs) SELECT id FROM a, logs',
    'WITH a AS (SELECT id FROM logs LIMIT 5) SELECT id FROM a LIMIT 3',
    'WITH a AS (SELECT id FROM logs ORDER BY id) SELECT id FROM a',
    'WITH a AS (SELECT DISTINCT id FROM logs) SELECT id FROM a',
    'WITH a AS (SELECT id FROM logs UNION ALL SELECT id FROM logs) SELECT id FROM a',
    'WITH a AS (WITH 1 AS x SELECT id FROM logs) SELECT id FROM a',
    'WITH a AS MATERIALIZED (SELECT id FROM logs) SELECT id FROM a',
    'WITH a(id) AS (SELECT x FROM logs) SELECT id FROM a',
    'WITH a AS (SELECT id FROM logs ARRAY JOIN xs AS id) SELECT id FROM a',
    'WITH a AS (SELECT k, count() AS n FROM logs GROUP BY k WITH TOTALS) SELECT k, n FROM a',
    'WITH a AS (SELECT id, n FROM logs) SELECT id, n FROM a ORDER BY id WITH FILL INTERPOLATE (n AS n + 1)',
    // In the subquery, status is a column; beside the WITH clause, it would be the alias.
    'WITH 1 AS status, a AS (SELECT id FROM logs WHERE status = 2) SELECT id FROM a',
    'WITH 1 AS x, a AS (SELECT id FROM other WHERE x = 2) SELECT id FROM a',
    'WITH 1 AS x, a AS (SELECT id AS x FROM logs) SELECT x FROM a',
    'WITH id + 1 AS x, a AS (SELECT id FROM logs WHERE x = 2) SELECT id FROM a',
  ])('is kept: %s', (sql) => expect(sent(sql)).toBe(sql))
})

test.each([
  ['SELECT count() AS n, countIf(x > (1)) AS m, uniqExact(a, b) AS u FROM logs', ['n', 'm', 'u'], []],
  ['SELECT sum(x) AS n, count() + 1 AS m, count() OVER () AS w, count() FROM logs', [], []],
  ['SELECT n FROM (SELECT count() AS n FROM logs)', [], []],
  ['SELECT count() AS n FROM logs UNION ALL SELECT x FROM logs', [], []],
  ['SELECT t, count() AS n FROM logs GROUP BY t ORDER BY t WITH FILL INTERPOLATE (n AS n * 9)', [], []],
  ['WITH 1 AS x SELECT id, metadata FROM logs WHERE JSONExtract(metadata, 1) = x', [], ['metadata']],
  ['SELECT id AS metadata FROM logs', [], []],
  ['SELECT metadata, id metadata FROM logs', [], []],
  ["WITH 'x' AS metadata SELECT metadata FROM logs", [], []],
  ['SELECT metadata FROM logs, other', [], []],
  ['SELECT metadata FROM logs LEFT JOIN other ON a = b', [], []],
  ['WITH a AS (SELECT upper(x) metadata FROM logs) SELECT metadata FROM a WHERE 1', [], []],
  ['SELECT metadata FROM (SELECT 1 AS x)', [], []],
])('knows which columns are certain: %s', (sql, counts, stored) => {
  const certain = certainColumns(new Query(sql))
  expect([[...certain.counts], [...certain.stored]]).toEqual([counts, stored])
})
