import { expect, test } from 'vitest'
import { definitionShape } from '../definition/definition.ts'
import { bindQuery } from '../definition/parameters.ts'
import { resultTag } from './call.ts'

const fields = { id: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11', name: 'usage', query: 'SELECT 1 AS n' }
const n = { name: 'n', type: 'UInt8' }
const tagOf = (change: object, columns = [n]) => {
  const definition = definitionShape.parse({ ...fields, ...change })
  return resultTag({ definition, columns, compiled: bindQuery(definition.query, definition.parameters) })
}

test.each([
  { name: 'renamed' },
  { description: 'Usage.' },
  { published: false },
  { chart: { type: 'number' } },
])('%o keeps cached results', (change) => {
  expect(tagOf(change)).toBe(tagOf({}))
})

test.each([
  { query: 'SELECT 2 AS n' },
  { parameters: { a: {} } },
  { max_rows: 5 },
  { cache_seconds: 60 },
  { cache_seconds: 60, warm_seconds: 30 },
  { timeout_seconds: 5 },
  { json: ['n'] },
  { sandbox: true },
])('%o makes other results', (change) => {
  expect(tagOf(change)).not.toBe(tagOf({}))
})

test('other columns make other results', () => {
  expect(tagOf({}, [n, { name: 'm', type: 'String' }])).not.toBe(tagOf({}))
})
