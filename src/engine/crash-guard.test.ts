import { describe, expect, test } from 'vitest'
import { manualClock } from '../base/clock.ts'
import { CrashGuard } from './crash-guard.ts'
import type { Blame } from './engine.ts'

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

describe('the crash guard', () => {
  test('a query that nobody blamed may run', () => {
    expect(createGuard().guard.refusedForMs('SELECT 1')).toBe(0)
  })

  test('a query is refused from its third crash within the window on, and not before', () => {
    const { clock, guard, crashWith } = createGuard()
    expect(crashWith('bad')).toEqual([])
    clock.advance(20_000)
    expect(crashWith('bad')).toEqual([])
    expect(guard.refusedForMs('bad')).toBe(0)
    clock.advance(20_000)
    expect(crashWith('bad')).toEqual(['bad'])
    expect(guard.refusedForMs('bad')).toBe(refusalMs)
  })

  test('a refusal ends when its time is over', () => {
    const { clock, guard, crashWith } = createGuard()
    for (let i = 0; i < 3; i++) crashWith('bad')
    clock.advance(refusalMs - 1)
    expect(guard.refusedForMs('bad')).toBe(1)
    clock.advance(1)
    expect(guard.refusedForMs('bad')).toBe(0)
    clock.advance(1)
    expect(guard.refusedForMs('bad')).toBe(0)
  })

  test('after a refusal a query has its three crashes again', () => {
    const { clock, guard, crashWith } = createGuard()
    for (let i = 0; i < 3; i++) crashWith('bad')
    clock.advance(refusalMs)
    expect(crashWith('bad')).toEqual([])
    expect(crashWith('bad')).toEqual([])
    expect(guard.refusedForMs('bad')).toBe(0)
    expect(crashWith('bad')).toEqual(['bad'])
  })

  test.each([
    ['just inside the window counts', windowMs - 1, ['bad']],
    ['as old as the window is forgotten', windowMs, []],
  ])('a crash %s', (_, ageMs, refused) => {
    const { clock, crashWith } = createGuard()
    crashWith('bad')
    clock.advance(ageMs)
    crashWith('bad')
    expect(crashWith('bad')).toEqual(refused)
  })

  test('a query that runs many times at once is blamed once for each crash', () => {
    const { guard, crashWith } = createGuard()
    expect(crashWith('bad', 'bad', 'bad', 'bad')).toEqual([])
    expect(guard.refusedForMs('bad')).toBe(0)
  })

  test('only the query that is there each time is refused', () => {
    const { guard, crashWith } = createGuard()
    crashWith('bad', 'one')
    crashWith('two', 'bad')
    expect(crashWith('bad', 'one')).toEqual(['bad'])
    expect(guard.refusedForMs('one')).toBe(0)
    expect(guard.refusedForMs('two')).toBe(0)
  })

  test('several queries that are there each time are all refused', () => {
    const { crashWith } = createGuard()
    crashWith('left', 'right')
    crashWith('left', 'right')
    expect(crashWith('left', 'right')).toEqual(['left', 'right'])
  })

  test('a query that finishes in between is cleared of earlier crashes', () => {
    const { guard, crashWith } = createGuard()
    crashWith('good', 'bad')
    crashWith('good', 'bad')
    guard.clear('good')
    expect(crashWith('good', 'bad')).toEqual(['bad'])
    expect(guard.refusedForMs('good')).toBe(0)
  })

  test('clearing a query that was never blamed does nothing', () => {
    const { guard, crashWith } = createGuard()
    guard.clear('good')
    crashWith('bad')
    guard.clear('good')
    crashWith('bad')
    expect(crashWith('bad')).toEqual(['bad'])
  })

  test('a crash with nothing running blames nobody', () => {
    expect(createGuard().crashWith()).toEqual([])
  })

  test('no more queries are remembered than allowed, and the one blamed longest ago is forgotten first', () => {
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

  test('a crash with more queries than can be remembered keeps the bound', () => {
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
  /** Another text each time. */
  const sent = (...blame: Blame[]) => ({ statement: `SELECT ${count++}`, blame })

  test('refuses every statement of the one whose statement ended the engine, whatever its text', () => {
    const { guard } = createGuard()
    expect(guard.blamedForMs([anna, endpoint])).toBe(0)
    expect(guard.convict(sent(anna, endpoint))).toEqual([{ key: 'anna', forMs: minute }])
    expect(guard.blamedForMs([anna, endpoint])).toBe(minute)
    expect(guard.blamedForMs([bert, endpoint])).toBe(0)
    expect(guard.blamedForMs([])).toBe(0)
  })

  test('lasts four times as long for each further crash within a day, and six hours at most', () => {
    const { clock, guard } = createGuard()
    const minutes: number[] = []
    for (let i = 0; i < 6; i++) {
      guard.convict(sent(anna))
      const forMs = guard.blamedForMs([anna])
      minutes.push(forMs / minute)
      clock.advance(forMs - 1)
      expect(guard.blamedForMs([anna])).toBe(1)
      clock.advance(1)
      expect(guard.blamedForMs([anna])).toBe(0)
    }
    expect(minutes).toEqual([1, 4, 16, 64, 256, 360])
    clock.advance(day)
    guard.convict(sent(anna))
    expect(guard.blamedForMs([anna])).toBe(minute)
  })

  test('stays when another statement finishes', () => {
    const { guard } = createGuard()
    const bad = sent(anna)
    guard.convict(bad)
    guard.clear(bad.statement)
    expect(guard.blamedForMs([anna])).toBe(minute)
  })

  test('falls on an endpoint only when several callers end the engine through it', () => {
    const { guard } = createGuard()
    guard.convict(sent(anna, endpoint))
    guard.convict(sent(bert, endpoint))
    expect(guard.blamedForMs([endpoint])).toBe(0)
    expect(guard.convict(sent({ key: 'carl', crashes: 1 }, endpoint))).toContainEqual({
      key: 'endpoint',
      forMs: minute,
    })
  })

  test('is shared by all statements that ran when nobody knows which one it was', () => {
    const { guard } = createGuard()
    const others = [sent(bert), sent(), sent()]
    for (let i = 0; i < 3; i++) guard.suspect([sent(anna), ...others])
    expect(guard.blamedForMs([anna])).toBe(0)
    guard.suspect([sent(anna), ...others])
    expect(guard.blamedForMs([anna])).toBe(minute)
  })

  test('needs two crashes where a statement ran alone and nobody knows whether it was that', () => {
    const { guard } = createGuard()
    expect(guard.suspect([sent(anna)])).toEqual([])
    expect(guard.suspect([sent(anna)])).toEqual([{ key: 'anna', forMs: minute }])
  })

  test('weighs no less for a caller who runs many statements at once', () => {
    const { guard } = createGuard()
    const many = () => Array.from({ length: 9 }, () => sent(anna))
    expect(guard.suspect([...many(), sent(bert)])).toEqual([])
    expect(guard.suspect([...many(), sent(bert)])).toEqual([{ key: 'anna', forMs: minute }])
    expect(guard.blamedForMs([bert])).toBe(0)
  })

  test('is never certain, however many statements a caller has', () => {
    const { guard } = createGuard()
    guard.suspect([sent(anna), sent(anna), sent(anna), sent(anna)])
    expect(guard.blamedForMs([anna])).toBe(0)
  })
})
