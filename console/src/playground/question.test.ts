import { expect, test } from 'vitest'
import { examples } from './examples.ts'
import { declaredParameters, likelyType, parametersIn, triedParameters } from './question.ts'

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

test('declares the parameters of the query, with chosen types first and projects as text', () => {
  const question = {
    query: 'SELECT @a, @project, @b',
    values: { a: '1', b: '2', project: '3', other: '4' },
    types: { b: 'string' as const },
  }
  expect(declaredParameters(question)).toEqual({
    a: { type: 'integer', required: true },
    project: { type: 'string', required: true },
    b: { type: 'string', required: true },
  })
})

test('checks with the values, and without a guess where there is none', () => {
  const question = {
    query: 'SELECT @a, @b, @c, @d',
    values: { a: '1', b: 'x' },
    types: { b: 'integer' as const, c: 'timestamp' as const },
  }
  expect(triedParameters(question)).toEqual({
    a: { type: 'integer', required: true, example: '1' },
    b: { type: 'integer', required: true },
    c: { type: 'timestamp', required: true },
  })
})

test('finds parameters in a megabyte of SQL', () => {
  expect(parametersIn(`SELECT ${"'@a', ".repeat(150_000)} @b`)).toEqual(['b'])
})

test('offers examples with different titles, bounded in time and ordered', () => {
  expect(new Set(examples.map(({ title }) => title)).size).toBe(3)
  for (const { query } of examples) expect(query).toMatch(/@now - INTERVAL[\s\S]+ORDER BY/)
})
