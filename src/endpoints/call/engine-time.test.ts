import { expect, test } from 'vitest'
import { EngineTime } from './engine-time.ts'

test('engine time is the sum of all runs, including one in progress', () => {
  let nowMs = 1_000
  const time = new EngineTime(() => nowMs)
  expect(time.ms).toBe(0)
  time.begin()
  nowMs += 30
  expect(time.ms).toBe(30)
  time.end()
  nowMs += 500
  expect(time.ms).toBe(30)
  time.begin()
  nowMs += 12
  time.end()
  time.end()
  expect(time.ms).toBe(42)
})
