import { expect, test } from 'vitest'
import { invalidQuery } from '../../base/errors.ts'
import { inTypedText } from './typed-text.ts'

const placed = (error: unknown, typed: string) => (inTypedText(error, typed) as { details: object }).details

test('a position is that of the text as it was typed, with the white space before it', () => {
  const error = invalidQuery('Syntax error', { line: 1, column: 8 })
  expect(placed(error, 'SELECT x')).toEqual({ line: 1, column: 8 })
  expect(placed(error, '\n\n  SELECT x')).toEqual({ line: 3, column: 10 })
  const later = invalidQuery('Syntax error', { line: 2, column: 4 })
  expect(placed(later, '\n  SELECT x\nFRM')).toEqual({ line: 3, column: 4 })
})

test('a name that the engine does not know is looked for', () => {
  const typed = "SELECT 'nope', -- nope\n  nope FROM edge_logs"
  expect(placed(invalidQuery('Unknown expression identifier `nope`.'), typed)).toEqual({ line: 2, column: 3 })
  expect(placed(invalidQuery('"edge_lgs" is no source.'), 'SELECT 1 FROM edge_lgs')).toEqual({
    line: 1,
    column: 15,
  })
  expect(placed(invalidQuery('The function foo is not allowed.'), 'SELECT foo(1)')).toEqual({
    line: 1,
    column: 8,
  })
})

test('where nothing is named there is no place, and other errors stay as they are', () => {
  expect(placed(invalidQuery('Only one SELECT is allowed.'), 'x')).toEqual({})
  const other = new Error('x')
  expect(inTypedText(other, 'SELECT 1')).toBe(other)
})
