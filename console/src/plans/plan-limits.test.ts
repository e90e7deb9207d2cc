import { expect, test } from 'vitest'
import { lastDays, limitsText, usedText } from './plan-limits.ts'

const plan = { retention_days: 7, requests_per_minute: null, entries_per_day: 1_000, bytes_per_day: null }

test('describes the limits of a plan, and what was used of one', () => {
  expect(limitsText(plan as Parameters<typeof limitsText>[0])).toBe(
    '7 days of entries, 1,000 entries per day',
  )
  expect(limitsText(undefined)).toBe('No limits')
  expect([usedText(250, 1_000), usedText(1_200, 1_000), usedText(5, null)]).toEqual([
    '250 of 1,000 (25 %)',
    '1,200 of 1,000 (120 %)',
    '5, no limit',
  ])
})

test('lists the last days, also those without a row', () => {
  const rows = [{ day: '2026-02-28', entries: 3 }]
  const days = lastDays(rows, 3, Date.UTC(2026, 2, 1, 23))
  expect(days.map(({ atMs, row }) => [new Date(atMs).toISOString().slice(0, 10), row?.entries])).toEqual([
    ['2026-02-27', undefined],
    ['2026-02-28', 3],
    ['2026-03-01', undefined],
  ])
})
