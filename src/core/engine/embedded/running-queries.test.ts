import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../../test/support/manual-clock.ts'
import type { Blame } from '../engine.ts'
import { CrashGuard } from './running-queries.ts'

const windowMs = 60_000
const refusalMs = 600_000
const minute = 60_000
const day = 24 * 60 * minute
const blamed = { windowMs: day, refusalMs: minute, growth: 4, maxRefusalMs: 6 * 60 * minute }

function createGuard({ maxEntries = 100 } = {}) {
  const clock = manualClock()
  const guard = new CrashGuard({ clock, crashes: 3, windowMs, refusalMs, blamed, maxEntries })
  const crashWith = (...queries: string[]) =>
    guard.suspect(queries.map((statement) => ({ statement, blame: [] }))).map(({ key }) => key)
  return { clock, guard, crashWith }
}

describe('a query', () => {
  test('is refused from its third crash within the window on', () => {
    const { clock, guard, crashWith } = createGuard()
    expect(guard.refusedForMs('bad')).toBe(0)
    expect(crashWith('bad')).toEqual([])
    clock.advance(20_000)
    expect(crashWith('bad')).toEqual([])
    expect(guard.refusedForMs('bad')).toBe(0)
    clock.advance(20_000)
    expect(crashWith('bad')).toEqual(['bad'])
    expect(guard.refusedForMs('bad')).toBe(refusalMs)
  })

  test('may run again after the refusal, and needs three more crashes', () => {
    const { clock, guard, crashWith } = createGuard()
    for (let i = 0; i < 3; i++) crashWith('bad')
    clock.advance(refusalMs - 1)
    expect(guard.refusedForMs('bad')).toBe(1)
    clock.advance(1)
    expect(guard.refusedForMs('bad')).toBe(0)
    clock.advance(1)
    expect(guard.refusedForMs('bad')).toBe(0)
    expect([crashWith('bad'), crashWith('bad')]).toEqual([[], []])
    expect(guard.refusedForMs('bad')).toBe(0)
    expect(crashWith('bad')).toEqual(['bad'])
  })

  test.each([
    ['just inside the window counts', windowMs - 1, ['bad']],
    ['as old as the window is forgotten', windowMs, []],
  ])('has a crash that %s', (_, ageMs, refused) => {
    const { clock, crashWith } = createGuard()
    crashWith('bad')
    clock.advance(ageMs)
    crashWith('bad')
    expect(crashWith('bad')).toEqual(refused)
  })

  test.each([
    ['each crash counts once for concurrent runs', [['bad', 'bad', 'bad', 'bad']], []],
    ['no query is blamed for a crash without one', [[], [], []], []],
    [
      'the query of every crash is refused',
      [
        ['bad', 'one'],
        ['two', 'bad'],
        ['bad', 'one'],
      ],
      ['bad'],
    ],
    ['several queries of every crash are refused', Array(3).fill(['left', 'right']), ['left', 'right']],
  ])('%s', (_, crashes: string[][], refused) => {
    const { guard, crashWith } = createGuard()
    const results = crashes.map((queries) => crashWith(...queries))
    expect(results.at(-1)).toEqual(refused)
    const all = [...new Set(crashes.flat())]
    expect(all.filter((query) => guard.refusedForMs(query) > 0)).toEqual(refused)
  })

  test('that finishes in between is cleared, and no other', () => {
    const { guard, crashWith } = createGuard()
    guard.clear('good')
    crashWith('good', 'bad')
    crashWith('good', 'bad')
    guard.clear('good')
    guard.clear('another')
    expect(crashWith('good', 'bad')).toEqual(['bad'])
    expect(guard.refusedForMs('good')).toBe(0)
  })

  test('that was blamed longest ago is evicted first', () => {
    const { crashWith } = createGuard({ maxEntries: 2 })
    crashWith('old', 'recent')
    crashWith('old', 'recent')
    // A third entry is one too many.
    crashWith('new')
    expect(crashWith('recent')).toEqual(['recent'])
    crashWith('old')
    expect(crashWith('old')).toEqual([])
    expect(crashWith('old')).toEqual(['old'])
  })

  test('is not remembered if a crash has too many', () => {
    const { guard, crashWith } = createGuard({ maxEntries: 2 })
    const queries = Array.from({ length: 50 }, (_, i) => `query ${i}`)
    for (let i = 0; i < 3; i++) crashWith(...queries)
    const refused = queries.filter((query) => guard.refusedForMs(query) > 0)
    expect(refused.length).toBeLessThanOrEqual(2)
    expect(crashWith('query 0')).toEqual([])
  })
})

describe('blame for a crash', () => {
  const anna = { key: 'anna', crashes: 1 }
  const bert = { key: 'bert', crashes: 1 }
  const endpoint = { key: 'endpoint', crashes: 3 }
  let count = 0
  /** A query with a new text each time. */
  const query = (...blame: Blame[]) => ({ statement: `SELECT ${count++}`, blame })

  test('refuses every query of the caller, whatever its text', () => {
    const { guard } = createGuard()
    expect(guard.blamedForMs([anna, endpoint])).toBe(0)
    expect(guard.recordCrash(query(anna, endpoint))).toEqual([{ key: 'anna', forMs: minute }])
    expect(guard.blamedForMs([anna, endpoint])).toBe(minute)
    expect(guard.blamedForMs([bert, endpoint])).toBe(0)
    expect(guard.blamedForMs([])).toBe(0)
  })

  test('lasts four times as long for each further crash within a day, at most six hours', () => {
    const { clock, guard } = createGuard()
    const minutes: number[] = []
    for (let i = 0; i < 6; i++) {
      guard.recordCrash(query(anna))
      const forMs = guard.blamedForMs([anna])
      minutes.push(forMs / minute)
      clock.advance(forMs - 1)
      expect(guard.blamedForMs([anna])).toBe(1)
      clock.advance(1)
      expect(guard.blamedForMs([anna])).toBe(0)
    }
    expect(minutes).toEqual([1, 4, 16, 64, 256, 360])
    clock.advance(day)
    guard.recordCrash(query(anna))
    expect(guard.blamedForMs([anna])).toBe(minute)
  })

  test('stays when the query finishes', () => {
    const { guard } = createGuard()
    const bad = query(anna)
    guard.recordCrash(bad)
    guard.clear(bad.statement)
    expect(guard.blamedForMs([anna])).toBe(minute)
  })

  test('falls on an endpoint only when several callers crash the engine through it', () => {
    const { guard } = createGuard()
    guard.recordCrash(query(anna, endpoint))
    guard.recordCrash(query(bert, endpoint))
    expect(guard.blamedForMs([endpoint])).toBe(0)
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
    expect(guard.blamedForMs([anna])).toBe(minute)
  })
})
