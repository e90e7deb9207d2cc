import { expect, test } from 'vitest'
import { sourcesRead } from './sources-read.ts'

const sources = new Set(['auth_logs', 'edge_logs', 'postgres_logs', 'function_edge_logs'])
const read = (query: string) => sourcesRead(query, sources)

test('a plain query reads what its FROM names, also inside of others', () => {
  expect(read('SELECT 1 FROM edge_logs')).toEqual(['edge_logs'])
  expect(read('SELECT * FROM (SELECT * FROM `auth_logs`) AS a JOIN edge_logs AS e ON 1')).toEqual([
    'auth_logs',
    'edge_logs',
  ])
})

test('of the views in a WITH those count first that are read, through others, too', () => {
  const query = `WITH 1 AS one, toIntervalDay(1) AS day,
    -- FROM postgres_logs
    a AS (SELECT 'FROM edge_logs)' FROM auth_logs),
    e AS (SELECT * FROM edge_logs WHERE (x)),
    both AS (SELECT * FROM e)
    SELECT * FROM both`
  expect(read(query)).toEqual(['edge_logs', 'auth_logs'])
})

test('text that is no SQL, or not yet, reads nothing', () => {
  for (const query of [
    '',
    'WITH',
    'WITH a AS (',
    'FROM',
    ')))',
    'WITH a AS (SELECT * FROM a) SELECT * FROM a',
  ]) {
    expect(read(query)).toEqual([])
  }
})
