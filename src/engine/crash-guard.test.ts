import { describe, expect, test } from 'vitest'
import { manualClock } from '../base/clock.ts'
import { CrashGuard } from './crash-guard.ts'

const windowMs = 60_000
const refusalMs = 600_000

function createGuard({ maxEntries = 100 } = {}) {
  const clock = manualClock()
  const guard = new CrashGuard({ clock, crashes: 3, windowMs, refusalMs, maxEntries })
  const crashWith = (...queries: string[]) => guard.blame(queries)
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
    for (let i = 0; i < 3; i++) guard.blame(queries)
    const refused = queries.filter((query) => guard.refusedForMs(query) > 0)
    expect(refused.length).toBeLessThanOrEqual(2)
    expect(crashWith('query 0')).toEqual([])
  })
})
