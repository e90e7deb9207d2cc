import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseIsoTimestamp } from '../base/timestamps.ts'
import { readTimestamp } from './entry-timestamp.ts'

const earliest = BigInt(Date.UTC(1900, 0, 1)) * 1000n
const latest = BigInt(Date.UTC(2299, 11, 31)) * 1000n

test('the short way for the usual form gives what the long way gives, in whatever order days come', () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'))
  const text = fc
    .tuple(fc.constantFrom('1899', '1900', '1970', '2024', '2026', '2298', '2299', '2300', '9999'), two(13))
    .chain(([year, month]) =>
      fc
        .tuple(
          two(32),
          two(25),
          two(61),
          two(61),
          fc.constantFrom('', '.', '.1', '.123456789', '.1234567890'),
        )
        .map(([day, h, m, s, rest]) => `${year}-${month}-${day}T${h}:${m}:${s}${rest}Z`),
    )
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      for (const each of texts) {
        const micros = parseIsoTimestamp(each)
        const kept = micros !== undefined && micros >= earliest && micros < latest
        expect([each, readTimestamp(each)]).toEqual([each, kept ? micros : undefined])
      }
    }),
    { numRuns: 300 },
  )
})

test('the unit of a number is told by its size, so that one moment is the same in all of them', () => {
  const seconds = fc.integer({ min: 1_000_000_000, max: 9_000_000_000 })
  fc.assert(
    fc.property(seconds, fc.nat(999_999), (second, fraction) => {
      const micros = BigInt(second) * 1_000_000n + BigInt(fraction)
      expect(readTimestamp(BigInt(second))).toBe(BigInt(second) * 1_000_000n)
      expect(readTimestamp(micros / 1000n)).toBe((micros / 1000n) * 1000n)
      expect(readTimestamp(micros)).toBe(micros)
      expect(readTimestamp(micros * 1000n + 999n)).toBe(micros)
      expect(readTimestamp(String(micros))).toBe(micros)
    }),
  )
})

test('any value is a moment that the engine can keep, or none', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.double(), fc.bigInt(), fc.maxSafeInteger()), (value) => {
      const micros = readTimestamp(value)
      if (micros === undefined) return
      expect(micros >= earliest && micros < latest).toBe(true)
    }),
    { numRuns: 500 },
  )
})
