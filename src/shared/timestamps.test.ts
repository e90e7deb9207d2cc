import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatMicros, isoText, parseIsoTimestamp } from './timestamps.ts'

const micros = (iso: string) => BigInt(Date.parse(iso)) * 1000n

describe('parseIsoTimestamp', () => {
  test.each([
    ['2026-01-31T12:34:56Z', '2026-01-31T12:34:56Z'],
    ['2026-01-31T12:34:56z', '2026-01-31T12:34:56Z'],
    ['2026-01-31t12:34:56Z', '2026-01-31T12:34:56Z'],
    ['2026-01-31 12:34:56Z', '2026-01-31T12:34:56Z'],
    ['2026-01-31T12:34:56', '2026-01-31T12:34:56Z'],
    ['2026-01-31T12:34Z', '2026-01-31T12:34:00Z'],
    ['2026-01-31T12:34', '2026-01-31T12:34:00Z'],
    ['2026-01-31T12:34:56+02:00', '2026-01-31T10:34:56Z'],
    ['2026-01-31T12:34:56+0200', '2026-01-31T10:34:56Z'],
    ['2026-01-31T12:34:56+02', '2026-01-31T10:34:56Z'],
    ['2026-01-31T12:34:56-05:30', '2026-01-31T18:04:56Z'],
    ['2026-01-31T12:34:56-00:00', '2026-01-31T12:34:56Z'],
    ['2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['1969-12-31T23:59:59Z', '1969-12-31T23:59:59Z'],
  ])('reads %s as %s', (text, iso) => {
    expect(parseIsoTimestamp(text)).toBe(micros(iso))
  })

  test('reads a space before the offset as an unescaped plus', () => {
    expect(parseIsoTimestamp('2026-01-31T12:34:56 02:00')).toBe(micros('2026-01-31T10:34:56Z'))
    expect(parseIsoTimestamp('2026-01-31T12:34:56.5 0200')).toBe(micros('2026-01-31T10:34:56.500Z'))
    expect(parseIsoTimestamp('2026-01-31 12:34 02')).toBe(micros('2026-01-31T10:34:00Z'))
  })

  test('cuts fractions off after the microseconds', () => {
    const second = micros('2026-01-31T12:34:56Z')
    expect(parseIsoTimestamp('2026-01-31T12:34:56.1Z')).toBe(second + 100_000n)
    expect(parseIsoTimestamp('2026-01-31T12:34:56,1Z')).toBe(second + 100_000n)
    expect(parseIsoTimestamp('2026-01-31T12:34:56.000001Z')).toBe(second + 1n)
    expect(parseIsoTimestamp('2026-01-31T12:34:56.999999999Z')).toBe(second + 999_999n)
    expect(parseIsoTimestamp('1969-12-31T23:59:59.9999999Z')).toBe(-1n)
  })

  test.each([
    '',
    'yesterday',
    '1767225600',
    '2026-01-31',
    '2026-01-31T',
    '2026-01-31T12',
    '2026-01-31T12Z',
    '12:34:56Z',
    '2026-1-31T12:34:56Z',
    '26-01-31T12:34:56Z',
    '2026-01-31T12:34:56.Z',
    '2026-01-31T12:34:56.1234567890Z',
    '2026-01-31T12:34:56 Z',
    '2026-01-31T12:34:56  02:00',
    '2026-01-31T12:34:56+2:00',
    '2026-01-31T12:34:56+02:0',
    '2026-01-31T12:34:56UTC',
    '2026-01-31T12:34:56Z ',
    ' 2026-01-31T12:34:56Z',
    '2026-01-31T12:34:56Z\n',
    '+2026-01-31T12:34:56Z',
    '２０２６-01-31T12:34:56Z',
  ])('rejects %j', (text) => {
    expect(parseIsoTimestamp(text)).toBeUndefined()
  })

  test.each([
    '2026-02-30T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T23:60:00Z',
    '2026-01-31T23:59:60Z',
    '2026-01-31T23:59:59+24:00',
    '2026-01-31T23:59:59+00:60',
  ])('rejects %s, which does not exist', (text) => {
    expect(parseIsoTimestamp(text)).toBeUndefined()
  })
})

test.each([
  [0n, '1970-01-01T00:00:00.000Z'],
  [1_767_225_600_123_456n, '2026-01-01T00:00:00.123456Z'],
  [-1n, '1969-12-31T23:59:59.999999Z'],
  [-1_000n, '1969-12-31T23:59:59.999Z'],
])('writes %d as %s', (micros, text) => {
  expect(isoText(micros)).toBe(text)
  expect(parseIsoTimestamp(text)).toBe(micros)
})

describe('formatMicros', () => {
  test.each([
    [0n, '0.000000'],
    [1n, '0.000001'],
    [1_767_225_600_123_456n, '1767225600.123456'],
    [-1_000_000n, '-1.000000'],
    [-1_500_000n, '-1.500000'],
    [253_402_300_799_999_999n, '253402300799.999999'],
  ])('formats %s as %s', (value, text) => {
    expect(formatMicros(value)).toBe(text)
  })

  test('formats the second before 1970 as a date, since the engine loses the sign of -0.5', () => {
    expect(formatMicros(-1n)).toBe('1969-12-31 23:59:59.999999')
    expect(formatMicros(-500_000n)).toBe('1969-12-31 23:59:59.500000')
    expect(formatMicros(-999_999n)).toBe('1969-12-31 23:59:59.000001')
  })
})

const anyMicros = fc.bigInt({ min: micros('0000-01-03T00:00:00Z'), max: micros('9999-12-29T00:00:00Z') })
const two = (value: number) => String(value).padStart(2, '0')

/** The same instant in the form of another time zone. */
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

test('reads the same instant in any time zone and style', () => {
  fc.assert(
    fc.property(anyMicros, fc.integer({ min: -1439, max: 1439 }), style, (value, offset, form) => {
      const text = written(value, offset, form)
      // Years beyond four digits have no such form.
      fc.pre(/^\d{4}-/.test(text))
      expect(parseIsoTimestamp(text)).toBe(value)
      expect(parseIsoTimestamp(text.replace('+', ' '))).toBe(value)
    }),
    { numRuns: 500 },
  )
})

test('reads no text that is not a date and time', () => {
  const unit = fc.constantFrom(...'0123456789-:.,TtZz+ \n\0é'.split(''))
  const mangled = fc
    .tuple(anyMicros, fc.nat(32), fc.nat(3), fc.string({ unit, maxLength: 3 }))
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

test('formats every instant so that the engine reads the same one', () => {
  const read = (text: string) =>
    text.startsWith('1969-')
      ? BigInt(Date.parse('1969-12-31T23:59:59Z')) * 1000n + BigInt(text.slice(-6))
      : BigInt(text.replace('.', ''))
  const near = fc.bigInt({ min: -3_000_000n, max: 3_000_000n })
  fc.assert(
    fc.property(fc.oneof(anyMicros, near), (value) => {
      const text = formatMicros(value)
      expect(text).toMatch(/^(?:-?\d+\.\d{6}|1969-12-31 23:59:59\.\d{6})$/)
      expect(read(text)).toBe(value)
    }),
    { numRuns: 500 },
  )
})
