import { expect, test } from 'vitest'
import { likelyType, parametersIn } from './sql-parameters.ts'

test.each([
  ['SELECT @a, @b FROM x WHERE y = @a', ['a', 'b']],
  ['SELECT @now - INTERVAL 1 HOUR', []],
  ["SELECT 'a@b', '\\'@c', \"@d\", `@e` -- @f\n, /* @g\n */ @h # @i", ['h']],
  ['SELECT @@version, @_x, @1', ['_x']],
  ['SELEC @typo FRM', ['typo']],
  ["SELECT 'not closed @a", ['a']],
  ['', []],
])('finds the parameters of %j', (query, names) => {
  expect(parametersIn(query)).toEqual(names)
})

test.each([
  ['500', 'integer'],
  ['-1', 'integer'],
  ['0', 'integer'],
  ['0.95', 'number'],
  ['true', 'boolean'],
  ['2026-01-31T12:00:00Z', 'timestamp'],
  ['2026-01-31T12:00:00.5+01:00', 'timestamp'],
  ['007', 'string'],
  ['1234567890123456789', 'string'],
  ['1e3', 'string'],
  ['2026-01-31', 'string'],
  [' 5', 'string'],
  ['', 'string'],
])('reads %j as %s', (value, type) => {
  expect(likelyType('x', value)).toBe(type)
})

test('finds parameters in a megabyte of SQL', () => {
  expect(parametersIn(`SELECT ${"'@a', ".repeat(150_000)} @b`)).toEqual(['b'])
})
