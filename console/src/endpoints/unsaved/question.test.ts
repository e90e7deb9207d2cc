import { expect, test } from 'vitest'
import { examples } from './examples.ts'
import { askedBy, declaredParameters, questionFor, triedParameters } from './question.ts'

test('declares the parameters of the query, with those declared by hand first and projects as text', () => {
  const asked = { query: 'SELECT @a, @project, @b', parameters: { b: { type: 'string' as const } } }
  const values = { a: '1', b: '2', project: '3', other: '4' }
  expect(declaredParameters(asked, values)).toEqual({
    b: { type: 'string' },
    a: { type: 'integer', required: true },
    project: { type: 'string', required: true },
  })
})

test('checks with the values, and without a guess where there is none', () => {
  const parameters = { b: { type: 'integer' as const, required: true } }
  expect(triedParameters({ query: 'SELECT @a, @b, @d', parameters }, { a: '1', b: 'x' })).toEqual({
    a: { type: 'integer', required: true, example: '1' },
    b: { type: 'integer', required: true },
  })
})

test('a link has the types of parameters that were declared by hand', () => {
  const asked = { query: 'SELECT @a', parameters: { a: { type: 'integer' as const, required: true }, b: {} } }
  const question = questionFor(asked, { a: '1' })
  expect(question).toEqual({ query: 'SELECT @a', values: { a: '1' }, types: { a: 'integer' } })
  expect(askedBy(question)).toEqual({
    query: 'SELECT @a',
    parameters: { a: { type: 'integer', required: true } },
  })
})

test('offers examples with different titles, bounded in time and ordered', () => {
  expect(new Set(examples.map(({ title }) => title)).size).toBe(3)
  for (const { query } of examples) expect(query).toMatch(/@now - INTERVAL[\s\S]+ORDER BY/)
})
