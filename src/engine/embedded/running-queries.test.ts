import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../test/support/manual-clock.ts'
import type { Blame } from '../engine.ts'
import { CrashGuard } from './running-queries.ts'

const minute = 60_000
const day = 24 * 60 * minute
const bounds = { windowMs: day, refusalMs: minute, growth: 4, maxRefusalMs: 6 * 60 * minute }

function createGuard({ maxEntries = 100 } = {}) {
  const clock = manualClock()
  const guard = new CrashGuard({ clock, ...bounds, maxEntries })
  return { clock, guard }
}

describe('blame for a crash', () => {
  const anna = { key: 'anna', crashes: 1 }
  const bert = { key: 'bert', crashes: 1 }
  const endpoint = { key: 'endpoint', crashes: 3 }
  const query = (...blame: Blame[]) => blame

  test('refuses every query of the caller, whatever its text', () => {
    const { guard } = createGuard()
    expect(guard.refusedForMs([anna, endpoint])).toBe(0)
    expect(guard.recordCrash(query(anna, endpoint))).toEqual([{ key: 'anna', forMs: minute }])
    expect(guard.refusedForMs([anna, endpoint])).toBe(minute)
    expect(guard.refusedForMs([bert, endpoint])).toBe(0)
    expect(guard.refusedForMs([])).toBe(0)
  })

  test('lasts four times as long for each further crash within a day, at most six hours', () => {
    const { clock, guard } = createGuard()
    const minutes: number[] = []
    for (let i = 0; i < 6; i++) {
      guard.recordCrash(query(anna))
      const forMs = guard.refusedForMs([anna])
      minutes.push(forMs / minute)
      clock.advance(forMs - 1)
      expect(guard.refusedForMs([anna])).toBe(1)
      clock.advance(1)
      expect(guard.refusedForMs([anna])).toBe(0)
    }
    expect(minutes).toEqual([1, 4, 16, 64, 256, 360])
    clock.advance(day)
    guard.recordCrash(query(anna))
    expect(guard.refusedForMs([anna])).toBe(minute)
  })

  test('is forgotten for those who were blamed longest ago, if there are too many', () => {
    const { guard } = createGuard({ maxEntries: 2 })
    const blamed = ['old', 'recent', 'new'].map((key) => ({ key, crashes: 1 }))
    for (const each of blamed) guard.recordCrash([each])
    expect(blamed.map((each) => guard.refusedForMs([each]))).toEqual([0, minute, minute])
  })

  test.each([
    ['just inside the window counts', day - 1, minute],
    ['as old as the window does not count', day, 0],
  ])('has a crash that %s', (_, ageMs, refusedForMs) => {
    const { clock, guard } = createGuard()
    const twice = { key: 'twice', crashes: 2 }
    guard.recordCrash([twice])
    clock.advance(ageMs)
    guard.recordCrash([twice])
    expect(guard.refusedForMs([twice])).toBe(refusedForMs)
  })

  test('falls on nobody for a crash without a query', () => {
    const { guard } = createGuard()
    expect(guard.suspect([])).toEqual([])
  })

  test('falls on an endpoint only when several callers crash the engine through it', () => {
    const { guard } = createGuard()
    guard.recordCrash(query(anna, endpoint))
    guard.recordCrash(query(bert, endpoint))
    expect(guard.refusedForMs([endpoint])).toBe(0)
    const refusals = guard.recordCrash(query({ key: 'carl', crashes: 1 }, endpoint))
    expect(refusals).toContainEqual({ key: 'endpoint', forMs: minute })
  })

  test.each([
    ['is shared by all running queries', 4, () => [query(anna), query(bert), query(), query()], [0.25, 0.25]],
    ['needs two crashes of a query that ran alone', 2, () => [query(anna)], [0.5, 0]],
    [
      'is never certain, however many queries a caller has',
      2,
      () => [1, 2, 3].map(() => query(anna)),
      [0.5, 0],
    ],
    [
      'is not less for a caller with many queries',
      2,
      () => [query(bert), ...Array.from({ length: 9 }, () => query(anna))],
      [0.5, 0.1],
    ],
  ])('%s', (_, crashes, running, [ofAnna = 0, ofBert = 0]) => {
    const { guard } = createGuard()
    for (let i = 1; i < crashes; i++) expect(guard.suspect(running())).toEqual([])
    const refusals = guard.suspect(running())
    const shares = { anna: ofAnna * crashes, bert: ofBert * crashes }
    const expected = Object.entries(shares).flatMap(([key, sum]) =>
      sum >= 1 ? [{ key, forMs: minute }] : [],
    )
    expect(refusals).toEqual(expected)
    expect(guard.refusedForMs([anna])).toBe(minute)
  })
})
