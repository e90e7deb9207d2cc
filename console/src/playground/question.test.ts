import { expect, test } from 'vitest'
import { examples } from './examples.ts'
import { declaredParameters, triedParameters } from './question.ts'

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

test('offers examples with different titles, bounded in time and ordered', () => {
  expect(new Set(examples.map(({ title }) => title)).size).toBe(3)
  for (const { query } of examples) expect(query).toMatch(/@now - INTERVAL[\s\S]+ORDER BY/)
})
