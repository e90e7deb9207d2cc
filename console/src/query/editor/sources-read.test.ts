import { expect, test } from 'vitest'
import { namesRead, sourcesRead } from './sources-read.ts'

const sources = new Set(['auth_logs', 'edge_logs', 'postgres_logs', 'function_edge_logs'])
const read = (query: string) => sourcesRead(query, sources)

test('finds the sources of FROM and JOIN, in subqueries as well', () => {
  expect(read('SELECT 1 FROM edge_logs')).toEqual(['edge_logs'])
  expect(read('SELECT * FROM (SELECT * FROM `auth_logs`) AS a JOIN edge_logs AS e ON 1')).toEqual([
    'auth_logs',
    'edge_logs',
  ])
})

test('puts sources first that the query reaches through the views of a WITH', () => {
  const query = `WITH 1 AS one, toIntervalDay(1) AS day,
    -- FROM postgres_logs
    a AS (SELECT 'FROM edge_logs)' FROM auth_logs),
    e AS (SELECT * FROM edge_logs WHERE (x)),
    both AS (SELECT * FROM e)
    SELECT * FROM both`
  expect(read(query)).toEqual(['edge_logs', 'auth_logs'])
})

test.each(['', 'WITH', 'WITH a AS (', 'FROM', ')))', 'WITH a AS (SELECT * FROM a) SELECT * FROM a'])(
  'finds no sources in the incomplete or invalid SQL %j',
  (query) => {
    expect(read(query)).toEqual([])
  },
)

test('tells names that rows are read of from columns with the same name', () => {
  const query = 'SELECT plans, sizes FROM a JOIN `plans` USING (id) WHERE id IN sizes -- FROM others'
  expect(namesRead(query, new Set(['plans', 'sizes', 'others']))).toEqual(['plans', 'sizes'])
  expect(namesRead('SELECT plans FROM a', new Set(['plans']))).toEqual([])
  const listed =
    'SELECT 1 AS "it\'s", others FROM (SELECT f(a, sizes) FROM a) AS x, plans WHERE (1, sizes) // FROM sizes'
  expect(namesRead(listed, new Set(['a', 'plans', 'sizes', 'others']))).toEqual(['a', 'plans'])
})
