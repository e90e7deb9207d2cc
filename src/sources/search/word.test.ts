import { expect, test } from 'vitest'
import { neededTexts } from './word.ts'

test('needs the longest piece of a word that JSON does not escape, or the start of an escape of its letters', () => {
  expect(neededTexts('Connect "ECONNREFUSED"')[0]).toBe('econnrefused')
  expect(neededTexts('über/Straße_1007')[0]).toBe('e_1007')
  expect(neededTexts('aaaa')).toEqual(['aaaa', '\\u006', '\\u004'])
})

test.each(['', 'abc', '"/\\\n', 'über', 'ΟΔΟΣ', 'a b c d'])('needs nothing for %j', (word) => {
  expect(neededTexts(word)).toEqual([])
})
