import { expect, test } from 'vitest'
import { readsColumn } from './column-readers.ts'

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
  expect(readsColumn(sql, 'shop', 'route')).toBe(expected)
})
