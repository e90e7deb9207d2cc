import { expect, test } from 'vitest'
import { Query, queryOf } from './query.ts'

test('a text is read once for all who ask', () => {
  const sql = 'SELECT metadata.a FROM shop WHERE route = @route'
  const [query, same] = [queryOf(sql), queryOf(Buffer.from(sql).toString())]
  expect(same).toBe(query)
  for (const part of ['tokens', 'scopes', 'paths', 'subqueries', 'parameters', 'possibleSources'] as const) {
    expect(same[part]).toBe(query[part])
  }
})

test('finds parameters and sources in code only', () => {
  const query = new Query("SELECT @b, '@text', @a, @b /* @c */ FROM shop -- other")
  expect([...query.parameters]).toEqual([
    ['b', [1, 7]],
    ['a', [5]],
  ])
  expect([...query.possibleSources]).toEqual(['shop'])
})

test.each([
  ['SELECT route FROM shop', true],
  ['SELECT s.route FROM shop s', true],
  ['SELECT count() FROM shop WHERE "route" != \'\'', true],
  ['SELECT route AS route FROM shop', true],
  ['SELECT route FROM other', false],
  ['SELECT metadata.route::String FROM shop', false],
  ["SELECT metadata.route::String AS route FROM shop WHERE metadata.route = 'a' GROUP BY route", false],
  ["SELECT s.metadata.route, 'route' FROM shop s -- route", false],
])('finds the use of a typed column: %s', (sql, expected) => {
  expect(new Query(sql).readsColumn('shop', 'route')).toBe(expected)
})
