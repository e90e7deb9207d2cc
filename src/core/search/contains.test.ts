import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonPaths } from '../base/json/json-paths.ts'
import { contains, entryMatch } from './condition-match.ts'
import { StoredEntry } from './stored-entry.ts'

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
