import { expect, test } from 'vitest'
import { isoInstant } from './validation.ts'

test.each([
  ['2026-01-31T12:00:00Z'],
  ['2026-01-31T12:00:00.123456789+02:00'],
  ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T12:00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31 12:00:00,123456+0200', '2026-01-31T10:00:00.123456Z'],
  ['2026-01-31T12:00:00.0000000001Z', '2026-01-31T12:00:00.000000000Z'],
])('accepts %s in a form that Date reads', (sent, text = sent) => {
  expect(isoInstant.parse(sent)).toBe(text)
})

test.each(['soon', '30d', '2026-01-31', '2026-02-30T12:00:00Z', 5])('refuses %s', (sent) => {
  const [issue] = isoInstant.safeParse(sent).error?.issues ?? []
  expect(issue?.message).toBe('must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z')
})
