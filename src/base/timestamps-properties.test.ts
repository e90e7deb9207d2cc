import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatMicros, parseIsoTimestamp } from './timestamps.ts'

const micros = fc.bigInt({
  min: BigInt(Date.UTC(0, 0, 3)) * 1000n,
  max: BigInt(Date.UTC(9999, 11, 29)) * 1000n,
})
const two = (value: number) => String(value).padStart(2, '0')

/** The same moment, as clocks of other zones write it. */
function written(value: bigint, offsetMinutes: number, style: { t: string; dot: string; colon: string }) {
  const local = value + BigInt(offsetMinutes) * 60_000_000n
  const ms = (local >= 0n ? local : local - 999n) / 1000n
  const [date, time = ''] = new Date(Number(ms)).toISOString().split('T') as [string, string]
  const fraction = String(((local % 1_000_000n) + 1_000_000n) % 1_000_000n).padStart(6, '0')
  const size = Math.abs(offsetMinutes)
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${style.colon}${two(size % 60)}`
  return `${date}${style.t}${time.slice(0, 8)}${style.dot}${fraction}${zone}`
}

const style = fc.record({
  t: fc.constantFrom('T', 't', ' '),
  dot: fc.constantFrom('.', ','),
  colon: fc.constantFrom(':', ''),
})

test('a moment is the same moment in whatever zone and style it is written', () => {
  fc.assert(
    fc.property(micros, fc.integer({ min: -1439, max: 1439 }), style, (value, offset, form) => {
      const text = written(value, offset, form)
      // Every year of four digits is one; beyond them there is no such text.
      fc.pre(/^\d{4}-/.test(text))
      expect(parseIsoTimestamp(text)).toBe(value)
      expect(parseIsoTimestamp(text.replace('+', ' '))).toBe(value)
    }),
    { numRuns: 500 },
  )
})

test('any text is a moment of the calendar or none, and never a surprise', () => {
  const unit = fc.constantFrom(...'0123456789-:.,TtZz+ \n\0é'.split(''))
  const mangled = fc
    .tuple(micros, fc.nat(32), fc.nat(3), fc.string({ unit, maxLength: 3 }))
    .map(([value, at, cut, put]) => {
      const text = written(value, 0, { t: 'T', dot: '.', colon: ':' })
      return text.slice(0, at) + put + text.slice(at + cut)
    })
  fc.assert(
    fc.property(fc.oneof(mangled, fc.string({ unit }), fc.string({ unit: 'binary' })), (text) => {
      const value = parseIsoTimestamp(text)
      if (value === undefined) return
      const year = new Date(Number(value / 1000n)).getUTCFullYear()
      expect(year).toBeGreaterThanOrEqual(-1)
      expect(year).toBeLessThanOrEqual(10_000)
      expect(text).toMatch(/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/)
    }),
    { numRuns: 500 },
  )
})

test('what goes to the engine has a form that it reads, and keeps moments apart', () => {
  const read = (text: string) =>
    text.startsWith('1969')
      ? BigInt(Date.parse('1969-12-31T23:59:59Z')) * 1000n + BigInt(text.slice(-6))
      : BigInt(text.replace('.', ''))
  const near = fc.bigInt({ min: -3_000_000n, max: 3_000_000n })
  fc.assert(
    fc.property(fc.oneof(micros, near), (value) => {
      const text = formatMicros(value)
      expect(text).toMatch(/^(?:-?\d+\.\d{6}|1969-12-31 23:59:59\.\d{6})$/)
      expect(read(text)).toBe(value)
    }),
    { numRuns: 500 },
  )
})
