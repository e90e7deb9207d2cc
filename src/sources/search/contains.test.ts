import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonPaths } from '../../base/json/json-paths.ts'
import { lowerCase } from '../../base/text/lower-case.ts'
import { StoredEntry } from '../../catalog/stored-entry.ts'
import { contains, entryMatch } from './condition-match.ts'

test('finds a long text like includes', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
  const long = fc.tuple(few, fc.integer({ min: 0, max: 400 })).map(([part, times]) => part.repeat(times))
  fc.assert(
    fc.property(long, few, long, long, (start, middle, end, more) => {
      const wanted = start + middle + end
      for (const text of [wanted, more + wanted + more, more + start + end, wanted.slice(1) + more]) {
        expect(contains(text, wanted)).toBe(text.includes(wanted))
      }
    }),
  )
})

/** If the time were the product of both lengths, it would exceed the time limit by far. */
test('a long word that nearly occurs everywhere is searched in linear time', { timeout: 60_000 }, () => {
  const value = `${'a'.repeat(2_000)}b${'a'.repeat(2_000)}`
  const [isMet] = entryMatch({ kind: 'word', value, text: value }).tests
  const messages = ['a'.repeat(1_000_000), `${'a'.repeat(100_000)}${value}`]
  for (const [index, message] of messages.entries()) {
    for (let times = 0; times < 30; times++) {
      const entry = new StoredEntry(() => message, Buffer.from('{}'), new JsonPaths())
      expect(isMet?.(entry)).toBe(index === 1)
    }
  }
})

test('lower case changes upper-case letters one by one', () => {
  // No letter beyond has a case.
  for (let code = 0x80; code < 0x2_0000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const letter = String.fromCodePoint(code)
    const lower = letter.toLowerCase()
    const isChanged = /\p{Lu}/u.test(letter) && lower.length === letter.length
    if (lowerCase(`A${letter}`) !== `a${isChanged ? lower : letter}`) expect(letter).toBe(lower)
  }
  expect(lowerCase('ΟΔΟΣ \ud801\udc00\ud801 İ')).toBe('οδοσ \ud801\udc28\ud801 İ')
})
