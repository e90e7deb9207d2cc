import { expect, test } from 'vitest'
import { wordCompletion } from './sql-dialect.ts'

test.each([
  ['TOSTARTOFMINUTE', 'variable', 'toStartOfMinute'],
  ['DATETIME64', 'type', 'DateTime64'],
  ['select', 'keyword', 'SELECT'],
])('%s is offered in the letters that the engine takes', (word, type, label) => {
  expect(wordCompletion(word, type).label).toBe(label)
})
