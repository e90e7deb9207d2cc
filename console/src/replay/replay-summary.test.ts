import { expect, test } from 'vitest'
import type { Replay, ReplayedRequest } from '../api/shapes.ts'
import { differenceText, isNoteworthy, replaySummary } from './replay-summary.ts'

const figures = { rows: 1, duration_ms: 1, rows_read: 1_000, error: null }
const same: ReplayedRequest = {
  ...{ uses: 1, tenant: false, format: 'json', outcome: 'same', before: figures, after: figures },
  ...{ added_rows: 0, removed_rows: 0, reordered: false, unstable: false },
}
const different: ReplayedRequest = { ...same, outcome: 'different', removed_rows: 1 }
const failed: ReplayedRequest = { ...same, outcome: 'failed' }
const heavier: ReplayedRequest = { ...same, after: { ...figures, rows_read: 500_000 } }

const replay = (requests: ReplayedRequest[], skipped = 0): Replay => ({
  ...{ endpoint: 'e', version: 1, at: '2026-01-01T00:00:00.000Z', requests, skipped },
})

test.each([
  [replay([]), 'There are no recent requests to try.'],
  [replay([same]), 'The recent request returns the same rows.'],
  [replay([same, same]), 'All 2 recent requests return the same rows.'],
  [replay([same, different]), 'Of 2 recent requests, 1 returns different rows.'],
  [replay([different, different, failed]), 'Of 3 recent requests, 2 return different rows, 1 fails.'],
  [replay([heavier], 2), 'Of 1 recent request, 1 reads much more. 2 more requests took too long to try.'],
])('summarizes a replay', (replay, expected) => {
  expect(replaySummary(replay)).toBe(expected)
})

test('asks about requests that differ, fail or read much more', () => {
  expect([same, different, failed, heavier].map(isNoteworthy)).toEqual([false, true, true, true])
  const few = { ...same, after: { ...figures, rows_read: 9_000 } }
  const unknown = { ...heavier, before: { ...figures, rows_read: null } }
  expect([few, unknown].map(isNoteworthy)).toEqual([false, false])
})

test('describes what differs', () => {
  expect(differenceText({ ...same, removed_rows: 2, added_rows: 1 })).toBe('2 rows removed, 1 row added')
  expect(differenceText({ ...same, reordered: true })).toBe('different order')
})
