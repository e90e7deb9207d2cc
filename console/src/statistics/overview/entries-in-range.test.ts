import { expect, test } from 'vitest'
import type { Usage } from '../../api/shapes.ts'
import { entriesInRange, largest } from './entries-in-range.ts'

const buckets = Array.from({ length: 60 }, (_, index) => ({
  timestamp: index * 60_000_000,
  counts: { quiet: index === 0 ? 1 : 0, busy: 2, ...(index === 59 && { fresh: 3 }) },
}))
const usage = { entries: { bucket_seconds: 60, buckets } } as unknown as Usage

test('lists the sources with entries, most entries first', () => {
  const { timestamps, sources } = entriesInRange(usage, '1hr')
  expect(timestamps).toHaveLength(60)
  expect(sources.map(({ name, total }) => [name, total])).toEqual([
    ['busy', 120],
    ['fresh', 3],
    ['quiet', 1],
  ])
})

test('takes the last minutes for five minutes', () => {
  const { timestamps, sources } = entriesInRange(usage, '5min')
  expect(timestamps).toEqual([55, 56, 57, 58, 59].map((minute) => minute * 60_000))
  expect(sources.map(({ name, total }) => [name, total])).toEqual([
    ['busy', 10],
    ['fresh', 3],
  ])
})

test('sums up the smallest sources, and sorts the others by name', () => {
  const { sources } = entriesInRange(usage, '1hr')
  expect(largest(sources, 3).map(({ name }) => name)).toEqual(['busy', 'fresh', 'quiet'])
  expect(largest(sources, 2).map(({ name, total }) => [name, total])).toEqual([
    ['busy', 120],
    ['2 others', 4],
  ])
})
