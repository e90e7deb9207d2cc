import { expect, test } from 'vitest'
import { certainColumns } from './certain-columns.ts'
import { Query } from './query.ts'

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
