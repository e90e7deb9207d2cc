import { expect, test } from 'vitest'
import { rangeText, readRange } from './time-range.ts'

const now = Date.UTC(2026, 0, 2)
const read = (query: string) => readRange(new URLSearchParams(query), now)
const text = (query: string) => rangeText(read(query), 'utc')

test('reads a range relative to now or between two ordered instants, and defaults to the last hour', () => {
  expect(read('range=15m')).toEqual({ fromMs: now - 900_000, toMs: now, relative: '15m' })
  const day = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T06:00:00Z' }
  expect(read(`from=${day.from}&to=${day.to}`)).toMatchObject({
    toMs: Date.parse(day.to),
    relative: undefined,
  })
  for (const wrong of ['', 'range=1y', 'range=99999m', `from=${day.to}&to=${day.from}`, 'from=x&to=y'])
    expect(read(wrong)).toEqual({ fromMs: now - 3_600_000, toMs: now, relative: '1h' })
})

test('leaves out what both instants of a range share', () => {
  expect(text('from=2026-01-01T10:00:00Z&to=2026-01-01T11:30:00Z')).toBe('01-01 10:00 – 11:30')
  expect(text('from=2026-01-01T10:00:00Z&to=2026-01-01T10:00:07Z')).toBe('01-01 10:00:00 – 10:00:07')
  expect(text('from=2026-01-01T10:00:00Z&to=2026-01-03T10:00:00Z')).toBe('01-01 10:00 – 01-03 10:00')
})
