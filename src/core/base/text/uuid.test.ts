import { expect, test } from 'vitest'
import { uuidsAt } from './uuid.ts'

test('creates UUIDs of version 7 with their time, each of them once', () => {
  const msecs = Date.UTC(2026, 0, 1)
  const made = Array.from({ length: 2_000 }, uuidsAt(msecs))
  expect(new Set(made).size).toBe(2_000)
  const time = msecs.toString(16).padStart(12, '0')
  for (const uuid of made) {
    expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(uuid.replaceAll('-', '').slice(0, 12)).toBe(time)
  }
  expect(new Set(made.map((uuid) => uuid.slice(14))).size).toBe(2_000)
  // Entries of one request keep their order.
  expect(made).toEqual(made.toSorted())
  // Those of another request do not tell how many there were.
  expect(uuidsAt(msecs)().slice(-12)).not.toBe(made[0]?.slice(-12))
})
