import { expect, test } from 'vitest'
import { definitionShape } from '../endpoints/definition/definition.ts'
import type { WarningCode } from '../sql/warnings/warning.ts'
import { problemOf, warningOf } from './check-workspace.ts'

const query = 'SELECT nothing,\n  1\nFROM nosuch'
const endpoint = {
  file: 'endpoints/sample.sql',
  content: '',
  definition: definitionShape.parse({ id: '11111111-2222-4333-8444-555555555555', name: 'sample', query }),
  queryAt: { line: 4, column: 4 },
}

test.each([
  ['sample: Syntax error.', { line: 1, column: 3 }, '4:6 Syntax error.'],
  ['sample: Syntax error.', { line: 3, column: 3 }, '6:3 Syntax error.'],
  [
    'Unknown source "nosuch".',
    {},
    '4:4 Unknown source "nosuch". To declare it, create sources/nosuch.yaml, for example with: wellhead source init nosuch --from',
  ],
  ['SETTINGS is not allowed in this SQL.', {}, '4:4 SETTINGS'],
])('translates the position of %j in the SQL to the file', (message, at, expected) => {
  const problem = problemOf(endpoint, { code: 'invalid_query', message, ...at })
  expect(`${problem.line}:${problem.column} ${problem.message}`).toContain(expected)
})

test('translates the position of a warning, and points at the declaration of an unused parameter', () => {
  const content = '/*\nparameters:\n  used: {}\n  spare: {}\n*/\n   SELECT @used'
  const at = { line: 1, column: 8 }
  const positionOf = (code: WarningCode, message: string) => {
    const { line, column } = warningOf({ ...endpoint, content }, { code, message, ...at })
    return { line, column }
  }
  expect(positionOf('unused_parameter', 'The parameter spare is not used.')).toEqual({ line: 4, column: 3 })
  expect(positionOf('unused_parameter', 'The parameter gone is not used.')).toEqual({ line: 4, column: 11 })
  expect(positionOf('no_order', 'The parameter used varies.')).toEqual({ line: 4, column: 11 })
})
