import { expect, test } from 'vitest'
import { endpoints } from '../core/endpoints/manage/endpoint-kind.ts'
import { loadKinds } from '../kinds.ts'
import { problemOf, warningsOf } from './check-workspace.ts'

await loadKinds()

const file = 'endpoints/sample.sql'
const read = (content: string) => {
  const reading = endpoints.file.read(file, 'sample', content)
  if ('problems' in reading) throw new Error(reading.problems[0]?.message)
  return { kind: endpoints, file, ...reading }
}
const id = '11111111-2222-4333-8444-555555555555'
const endpoint = read(`/*\nid: ${id}\ntimeout: 5s\n*/  SELECT nothing,\n  1\nFROM nosuch`)

test.each([
  ['sample: Syntax error.', { line: 1, column: 3 }, '4:7 Syntax error.'],
  ['sample: Syntax error.', { line: 3, column: 3, parameter: 'endpoints.0.query' }, '6:3 Syntax error.'],
  ['sample: The id is taken.', { parameter: 'endpoints.0.id' }, '2:1 The id is taken.'],
  [
    'Unknown source "nosuch".',
    {},
    '4:5 Unknown source "nosuch". To declare it, create sources/nosuch.yaml, for example with: wellhead source init nosuch --from',
  ],
  ['SETTINGS is not allowed in this SQL.', {}, '4:5 SETTINGS'],
])('translates the position of %j in the SQL to the file', (message, at, expected) => {
  const error = { code: 'invalid_query', message, definition: 'endpoints/sample', ...at }
  const problem = problemOf([endpoint], error)
  expect(`${problem?.line}:${problem?.column} ${problem?.message}`).toContain(expected)
  expect(problemOf([endpoint], { ...error, definition: 'alerts/sample' })).toBeUndefined()
})

test('translates the position of a warning, and points at the declaration of an unused parameter', () => {
  const other = read(`/*\nid: ${id}\nparameters:\n  used: {}\n  spare: {}\n*/\n   SELECT @used`)
  const positionOf = (code: string, message: string) => {
    const warnings = [{ code, message, line: 1, column: 8 }]
    return warningsOf(other, [{ name: 'sample', warnings }]).map(({ line, column }) => [line, column])
  }
  expect(positionOf('unused_parameter', 'The parameter spare is not used.')).toEqual([[5, 3]])
  expect(positionOf('unused_parameter', 'The parameter gone is not used.')).toEqual([[7, 11]])
  expect(positionOf('no_order', 'The parameter used varies.')).toEqual([[7, 11]])
})
