import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatMicros, parseIsoTimestamp } from './timestamps.ts'

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
  ])('%s is %s', (text, iso) => {
    expect(parseIsoTimestamp(text)).toBe(micros(iso))
  })

  test('a plus that arrived as a space is a plus', () => {
    expect(parseIsoTimestamp('2026-01-31T12:34:56 02:00')).toBe(micros('2026-01-31T10:34:56Z'))
    expect(parseIsoTimestamp('2026-01-31T12:34:56.5 0200')).toBe(micros('2026-01-31T10:34:56.500Z'))
    expect(parseIsoTimestamp('2026-01-31 12:34 02')).toBe(micros('2026-01-31T10:34:00Z'))
  })

  test('fractions go to the microsecond, and what is finer is cut off', () => {
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
  ])('%j is no timestamp', (text) => {
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
  ])('%s is on no calendar or clock', (text) => {
    expect(parseIsoTimestamp(text)).toBeUndefined()
  })

  test('reads back whatever Date writes', () => {
    const date = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(date, (value) => {
        expect(parseIsoTimestamp(value.toISOString())).toBe(BigInt(value.getTime()) * 1000n)
      }),
    )
  })

  test('an offset moves the time by itself and by nothing else', () => {
    const offset = fc.record({
      sign: fc.constantFrom('+', '-', ' '),
      hours: fc.integer({ min: 0, max: 23 }),
      minutes: fc.integer({ min: 0, max: 59 }),
    })
    const two = (value: number) => String(value).padStart(2, '0')
    fc.assert(
      fc.property(offset, ({ sign, hours, minutes }) => {
        const moved = BigInt(hours * 60 + minutes) * 60_000_000n * (sign === '-' ? -1n : 1n)
        const text = `2026-03-29T01:30:00.123456${sign}${two(hours)}:${two(minutes)}`
        expect(parseIsoTimestamp(text)).toBe(micros('2026-03-29T01:30:00Z') + 123_456n - moved)
      }),
    )
  })
})

describe('formatMicros', () => {
  test.each([
    [0n, '0.000000'],
    [1n, '0.000001'],
    [1_767_225_600_123_456n, '1767225600.123456'],
    [-1_000_000n, '-1.000000'],
    [-1_500_000n, '-1.500000'],
    [253_402_300_799_999_999n, '253402300799.999999'],
  ])('%s is %s', (value, text) => {
    expect(formatMicros(value)).toBe(text)
  })

  test('the second before 1970 is a date, since the engine loses the sign of a number like -0.5', () => {
    expect(formatMicros(-1n)).toBe('1969-12-31 23:59:59.999999')
    expect(formatMicros(-500_000n)).toBe('1969-12-31 23:59:59.500000')
    expect(formatMicros(-999_999n)).toBe('1969-12-31 23:59:59.000001')
  })

  test('loses nothing', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), (value) => {
        fc.pre(value >= 0n || value <= -1_000_000n)
        expect(BigInt(formatMicros(value).replace('.', ''))).toBe(value)
      }),
    )
  })
})
