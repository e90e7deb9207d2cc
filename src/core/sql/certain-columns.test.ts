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

/** Columns of the result that are certainly UTF-8, and others. */
test.each<[sql: string, certain: string, others: string]>([
  ['SELECT id, upper(event_message) AS m, count() AS n FROM logs GROUP BY ALL', 'id m n', ''],
  ['SELECT l FROM (SELECT concat(id, project) AS l FROM logs) JOIN other USING l', 'l', ''],
  ["SELECT JSONExtract(metadata, 'a', 'Nullable(String)') AS a FROM logs WHERE @now > timestamp", 'a', ''],
  ['SELECT id, left(event_message, 3) AS l, e.project FROM logs AS e', 'id', 'l project'],
  ['SELECT *, LEFT(event_message, 3) FROM logs', 'id event_message', 'left(event_message,3)'],
  ['SELECT id, `left`(event_message, 3) AS l FROM logs', 'id', 'l'],
  ['SELECT event_message FROM logs WHERE left(event_message, 3) = @l', 'event_message', ''],
  ['SELECT left(event_message, 3) AS event_message, id FROM logs', 'id', 'event_message'],
  ['WITH left(id, 3) AS event_message SELECT event_message, id FROM logs', 'id', 'event_message'],
  ['SELECT id AS x, left(id, 3) AS l FROM logs', '', 'x l'],
  ['SELECT * REPLACE (left(id, 3) AS id) FROM logs', '', 'id'],
  ['SELECT * APPLY unhex FROM logs', '', 'id'],
  ['SELECT id FROM (SELECT left(id, 3) AS id FROM logs)', '', 'id'],
  ['WITH v AS (SELECT left(id, 3) AS id FROM logs) SELECT id FROM v', '', 'id'],
  ['SELECT id FROM logs UNION ALL SELECT left(id, 3) FROM logs', '', 'id'],
  ['SELECT left(id, 3) AS id FROM logs UNION ALL SELECT id FROM logs', '', 'id'],
  ['SELECT id FROM logs JOIN (SELECT MD5(id) AS id FROM logs) AS x ON 1', '', 'id'],
  ['SELECT id FROM logs ARRAY JOIN [unhex(id)] AS id', '', 'id'],
  ["SELECT '\\xff' AS id FROM logs", '', 'id'],
  ["SELECT x'ff' AS id, X'ff' AS m FROM logs", '', 'id m'],
  ["SELECT b'11111111' AS id FROM logs", '', 'id'],
  ["SELECT CAST(ip, 'FixedString(16)')::String AS id FROM logs", '', 'id'],
  ['SELECT CAST(ip AS BINARY(16))::String AS id FROM logs', '', 'id'],
  ['SELECT groupArrayState(id) AS id FROM logs', '', 'id'],
  ['SELECT some_new_function(id) AS id FROM logs', '', 'id'],
])('knows which texts are certainly UTF-8: %s', (sql, certain, others) => {
  const { texts } = certainColumns(new Query(sql))
  const names = (list: string) => list.split(' ').filter(Boolean)
  const isCertain = [...names(certain), ...names(others)].filter((name) => texts.has(name))
  expect(isCertain).toEqual(names(certain))
})
