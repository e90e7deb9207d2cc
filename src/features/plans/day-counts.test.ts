import { expect, test } from 'vitest'
import { DayCounts } from './day-counts.ts'

const noonMs = Date.UTC(2026, 0, 1, 12)

test('the memory of counts is bounded, however many projects are new', () => {
  const counts = new DayCounts(100)
  counts.begin(noonMs)
  const writers = new Set<string>()
  for (let n = 0; n < 10_000; n++) {
    // As senders wait for room.
    if (counts.isFull) counts.take()
    const count = counts.of(`project-${n % 1_000}`)
    writers.add(count.writer)
    counts.change(count)
  }
  expect(counts.list().length).toBeLessThanOrEqual(201)
  // What was forgotten continues as another writer, so that no total is lost.
  expect(writers.size).toBeGreaterThan(1_000)
})

test('what the engine lacks and what is being stored is never forgotten', () => {
  const counts = new DayCounts(10)
  counts.begin(noonMs)
  const [changed, reserved] = [counts.of('changed'), counts.of('reserved')]
  counts.change(changed)
  reserved.reserved.entries = 1
  for (let n = 0; n < 100; n++) counts.of(`project-${n}`)
  expect([counts.of('changed'), counts.of('reserved')]).toEqual([changed, reserved])
})

test('the day stays when the clock is set back over midnight, but not when it was days ahead', () => {
  const counts = new DayCounts(10)
  const dayAt = (days: number) => {
    counts.begin(noonMs + days * 86_400_000)
    return counts.day
  }
  expect([0, 1, 0.4, 400, 1].map(dayAt)).toEqual([
    ...['2026-01-01', '2026-01-02', '2026-01-02', '2027-02-05', '2026-01-02'],
  ])
})
