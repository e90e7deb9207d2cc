import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseIsoTimestamp } from '../base/timestamps.ts'
import { readTimestamp, readUsualTimestamp } from './entry-timestamp.ts'

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
        const usual = readUsualTimestamp(Buffer.from(`"${each}"`), 1, each.length + 1)
        if (!Number.isNaN(usual)) expect([each, BigInt(usual)]).toEqual([each, micros])
        else if (kept) expect(each).toMatch(/^(?:1900|1970|2298|2299)|\.Z$/)
      }
    }),
    { numRuns: 300 },
  )
})

test('a text with one character changed is read by the short way only if the long way reads the same', () => {
  const usual = '2026-02-28T10:20:30.123456Z'
  for (let at = 0; at < usual.length; at++) {
    for (const character of '0123456789TZ:.- ') {
      const text = usual.slice(0, at) + character + usual.slice(at + 1)
      const micros = readUsualTimestamp(Buffer.from(text), 0, text.length)
      if (!Number.isNaN(micros)) expect([text, BigInt(micros)]).toEqual([text, parseIsoTimestamp(text)])
    }
  }
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
