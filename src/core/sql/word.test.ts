import { expect, test } from 'vitest'
import { foldCase, neededTokens } from './word.ts'

test.each([
  ['queen', ['queen'], true],
  ['οδοσ', ['οδοσ'], true],
  ['t0ken', ['t0ken'], true],
  ['connect econnrefused 10.0.0.7', ['econnrefused', 'connect'], false],
  ['über/straße_1007', ['straße', 'über'], false],
  ['-queen', ['queen'], false],
  // Numbers and constants are in the searched text, but words do not find parts of them.
  ['500', ['500'], false],
  ['1e', ['1e'], false],
  ['rue', ['rue'], false],
  ['null', ['null'], false],
  ['nulls', ['nulls'], true],
  ['":/\n', [], false],
])('looks %j up by its longest tokens', (word, needed, isCertain) => {
  expect(neededTokens(word)).toEqual({ needed, isCertain })
})

test('folds letters whose lower case has another length or depends on the place, and no letter to i', () => {
  const same = [
    ['ẞ', 'ß'],
    ['\u212a', 'k'],
    ['ΟΔΟΣ', 'οδοσ', 'οδος'],
    ['İ', 'i\u0307'],
    ['Ა', 'ა'],
    ['Ꭰ', 'ꭰ'],
    ['𞤀', '𞤢'],
  ]
  for (const [first = '', ...others] of same) {
    for (const other of others) expect([other, foldCase(other)]).toEqual([other, foldCase(first)])
  }
})
