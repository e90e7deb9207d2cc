import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseIsoTimestamp } from '../base/timestamps.ts'
import { readEntry } from './entry.ts'
import { readTimestamp } from './entry-timestamp.ts'
import { parseJson } from './faithful-json.ts'

const now = Date.UTC(2026, 10, 14, 12)
const read = (entry: unknown) => {
  const reading = readEntry(entry, now)
  return 'line' in reading ? (JSON.parse(reading.line.toString()) as Record<string, unknown>) : reading.reason
}

describe('an entry', () => {
  test('that says nothing has the time of arrival, a new id and empty fields', () => {
    expect(read({})).toEqual({
      project: '',
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      timestamp: '1794657600.000000',
      event_message: '',
      metadata: {},
    })
  })

  test('keeps its other keys inside of metadata, and beside what is there already', () => {
    expect(read({ level: 'info', a: 1, metadata: { a: 2 } })).toMatchObject({
      metadata: { level: 'info', a: 2, _other: { a: 1 } },
    })
    expect(read({ message: 'm' })).toMatchObject({ event_message: 'm', metadata: {} })
    expect(read({ message: 'm', event_message: 'e' })).toMatchObject({
      event_message: 'e',
      metadata: { message: 'm' },
    })
    expect(read({ event_message: { a: 1 } })).toMatchObject({ event_message: '{"a":1}' })
    expect(read({ metadata: 'text' })).toMatchObject({ metadata: { metadata: 'text' } })
  })

  test.each([[null], ['text'], [[1]], [7]])('%j is rejected', (value) => {
    expect(read(value)).toBe('an entry must be a JSON object')
  })

  test.each([
    [{ id: {} }, 'id must be text'],
    [{ project: [] }, 'project must be text'],
    [{ timestamp: now + 3_600_001 }, 'timestamp is more than an hour ahead'],
    [{ timestamp: true }, 'timestamp is neither ISO 8601 nor an integer in s, ms, µs or ns'],
    [{ metadata: { n: Number.NaN } }, 'a number is outside of what 64 bits can hold'],
  ])('%j is rejected with a reason', (entry, reason) => {
    expect(read(entry)).toBe(reason)
  })

  test('of a sender with one project is of that project, or rejected', () => {
    const project = (entry: unknown) => {
      const reading = readEntry(entry, now, 'mine')
      return 'line' in reading ? JSON.parse(reading.line.toString()).project : reading.reason
    }
    const foreign = 'the token may only send entries of its own project'
    expect(project({})).toBe('mine')
    expect(project({ project: 'mine' })).toBe('mine')
    expect(project({ project: null, metadata: { project_ref: 'mine' } })).toBe('mine')
    expect(project({ project: '' })).toBe('mine')
    expect(project({ project: 'theirs' })).toBe(foreign)
    expect(project({ metadata: { project_ref: 'theirs' } })).toBe(foreign)
    expect(project({ metadata: { project: 7 } })).toBe(foreign)
  })

  test('whatever JSON it holds, it is stored as that or rejected with a reason', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (metadata) => {
        const sent = JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>
        const reading = read({ metadata: sent })
        if (typeof reading === 'object') expect(reading.metadata).toEqual(sent)
        else expect(reading).toMatch(/surrogate|%2E|project|levels/)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('numbers of JSON', () => {
  test('keep 64 bits and lose nothing', () => {
    expect(parseJson('[9007199254740993, 1.5, 18446744073709551615, -9223372036854775808]')).toEqual([
      9007199254740993n,
      1.5,
      18446744073709551615n,
      -9223372036854775808n,
    ])
    expect(parseJson('[123456789012345678901234567890]')).toEqual([Number.NaN])
  })
})

describe('the timestamp of an entry', () => {
  const micros = BigInt(now) * 1000n
  test.each([
    [now / 1000],
    [now],
    [now * 1000],
    [BigInt(now) * 1_000_000n],
    [String(now)],
    ['2026-11-14T12:00:00Z'],
    ['2026-11-14T13:00:00+01:00'],
    ['2026-11-14 12:00:00'],
  ])('%s is the same instant', (value) => {
    expect(readTimestamp(value)).toBe(micros)
  })

  test('is the same whichever way it is read', () => {
    const day = fc.date({ min: new Date('1900-01-01'), max: new Date('2299-12-30'), noInvalidDate: true })
    fc.assert(
      fc.property(day, fc.integer({ min: 0, max: 999_999 }), (date, micros) => {
        const text = `${date.toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`
        expect(readTimestamp(text)).toBe(parseIsoTimestamp(text))
      }),
    )
    for (const text of ['2026-02-29T10:00:00Z', '2026-11-14T24:00:00Z', '2026-13-01T00:00:00.5Z']) {
      expect(readTimestamp(text)).toBeUndefined()
    }
  })

  test('may be seconds with a fraction', () => {
    expect(readTimestamp(1794657600.25)).toBe(1794657600250000n)
  })

  test.each([['yesterday'], [''], ['2026-02-30T00:00:00Z'], [{}], [Number.POSITIVE_INFINITY], [10n ** 30n]])(
    '%s is none',
    (value) => {
      expect(readTimestamp(value)).toBeUndefined()
    },
  )
})
