import { expect, test } from 'vitest'
import { definitionShape } from '../endpoints/definition/definition.ts'
import { problemOf } from './check-workspace.ts'

const query = 'SELECT nothing,\n  file(1)\nFROM nosuch'
const endpoint = {
  file: 'endpoints/sample.sql',
  content: '',
  definition: definitionShape.parse({ id: '11111111-2222-4333-8444-555555555555', name: 'sample', query }),
  queryAt: { line: 4, column: 4 },
}
const told = (message: string, at = {}) => {
  const problem = problemOf(endpoint, { code: 'invalid_query', message, ...at })
  return `${problem.line}:${problem.column} ${problem.message}`
}

test('a place in the SQL is told as one in the file', () => {
  expect(told('sample: Syntax error.', { line: 1, column: 3 })).toBe('4:6 Syntax error.')
  expect(told('sample: Syntax error.', { line: 3, column: 3 })).toBe('6:3 Syntax error.')
})

test('where there is none, it is that of the first name that the message has in common with the SQL', () => {
  expect(told('Unknown expression identifier `nothing` in scope SELECT nothing')).toMatch(/^4:11 /)
  expect(told('The function file is not allowed.')).toMatch(/^5:3 /)
  expect(told('Unknown source "nosuch".')).toMatch(/^6:6 /)
  expect(told('SETTINGS is not allowed in this SQL.')).toMatch(/^4:4 /)
})
