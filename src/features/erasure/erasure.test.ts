import { expect, test } from 'vitest'
import { readErasure } from './erasure.ts'

test.each([
  ['2026-01-31T12:00:00.0000000001Z', '2026-01-31T12:00:00Z', 'to must be later than from.'],
  ['30 days ago', '2026-01-31T12:00:00Z', 'Field "from" must be an ISO 8601 date and time'],
  ['2026-01-31T12:00+0200', '2026-01-31T10:00:00Z', 'to must be later than from.'],
])('refuses an erasure from %s to %s', (from, to, message) => {
  expect(() => readErasure({ project: 'demo', from, to })).toThrow(message)
})
