import { expect, test } from 'vitest'
import { isAggregate, isAllowedFunction, isGenerator } from '../../../src/endpoints/sql-functions.ts'
import { functions, wordCompletion } from './sql-dialect.ts'

test('what is offered may be used in saved SQL', () => {
  const refused = functions.filter(
    (name) => !(isAllowedFunction(name) || isAggregate(name) || isGenerator(name)),
  )
  expect(refused).toEqual([])
})

test.each([
  ['TOSTARTOFMINUTE', 'variable', 'toStartOfMinute'],
  ['DATETIME64', 'type', 'DateTime64'],
  ['select', 'keyword', 'SELECT'],
])('%s is offered in the letters that the engine takes', (word, type, label) => {
  expect(wordCompletion(word, type).label).toBe(label)
})
