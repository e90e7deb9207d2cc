import { expect, test } from 'vitest'
import type { SavedAlert } from './alert.ts'
import { evaluateGroups, type GroupState, recordedChanges } from './alert-groups.ts'
import { parseCondition, ResultRows } from './condition.ts'

function alertOf(settings: { for_seconds?: number; keepMissingMs?: number } = {}): SavedAlert {
  const { for_seconds = 0, keepMissingMs = 60_000 } = settings
  return {
    id: 'alert',
    condition: parseCondition('any(n) > 0'),
    definition: { by: ['g'], every_seconds: 5, for_seconds },
    keepMissingMs,
  } as unknown as SavedAlert
}

/** Rows whose groups meet the condition if `n` is positive. */
const rowsOf = (prefix: string, count: number, n: number) =>
  Array.from({ length: count }, (_, index) => ({ g: `${prefix}${index}`, n }))

const keysOf = (groups: readonly GroupState[]) => groups.map(({ key }) => String(key.g))

function evaluated(
  alert: SavedAlert,
  results: readonly { g: string; n: number }[][],
  notifiedTimes = Infinity,
) {
  let groups: GroupState[] = []
  return results.map((rows, index) => {
    const outcome = evaluateGroups(alert, groups, new ResultRows(rows), index * 5_000)
    groups = outcome.groups
    const counts = { groups: groups.length, changed: outcome.changed.length, leftOut: outcome.groupsLeftOut }
    const keys = keysOf(groups)
    if (index >= notifiedTimes) return { ...counts, keys }
    for (const group of groups) group.told = group.state === 'firing' ? 'firing' : 'ok'
    return { ...counts, keys }
  })
}

test('groups that fire keep their places when each result has other groups, until they have been missing for long', () => {
  const results = ['a', 'b', 'c', 'd'].map((prefix) => rowsOf(prefix, 1_000, 1))
  const [first, second, third, fourth] = evaluated(alertOf({ keepMissingMs: 10_000 }), results)
  expect(first).toMatchObject({ groups: 1_000, changed: 1_000, leftOut: 0 })
  expect(second).toMatchObject({ groups: 1_000, changed: 0, leftOut: 1_000, keys: first?.keys })
  expect(third).toMatchObject({ groups: 1_000, changed: 0, leftOut: 1_000, keys: first?.keys })
  // Their resolution is reported before others get their places.
  expect(fourth).toMatchObject({ groups: 1_000, changed: 1_000, leftOut: 1_000, keys: first?.keys })
})

test.each([0, 1])('there are at most 1,000 groups during a mute after %i notifications', (notifiedTimes) => {
  const results = ['a', 'b', 'c'].map((prefix) => rowsOf(prefix, 2_000, 1))
  const outcomes = evaluated(alertOf({ keepMissingMs: 0 }), results, notifiedTimes)
  expect(outcomes.map(({ groups }) => groups)).toEqual([1_000, 1_000, 1_000])
})

test('groups that meet the condition come before those that do not, whatever the order of the rows', () => {
  const ok = rowsOf('ok', 1_500, 0)
  const [first, second] = evaluated(alertOf(), [
    [...ok, ...rowsOf('hot', 2, 1)],
    [...ok, ...rowsOf('new', 2, 1)],
  ])
  expect(first?.keys.slice(-3)).toEqual(['ok997', 'hot0', 'hot1'])
  expect(first).toMatchObject({ groups: 1_000, leftOut: 502 })
  expect(second?.keys.filter((key) => !key.startsWith('ok')).toSorted()).toEqual([
    'hot0',
    'hot1',
    'new0',
    'new1',
  ])
})

test('a pending group keeps its place, so that new ones do not keep it from firing', () => {
  const held = { g: 'held', n: 1 }
  const results = ['a', 'b', 'c'].map((prefix) => [...rowsOf(prefix, 2_000, 1), held])
  const [, , last] = evaluated(alertOf({ for_seconds: 10, keepMissingMs: 0 }), [[held], ...results])
  expect(last?.keys).toContain('held')
})

test('records at most 100 changes of an evaluation, those of groups that fire or fired first', () => {
  const { changed } = evaluateGroups(alertOf(), [], new ResultRows(rowsOf('g', 150, 1)), 0)
  expect(recordedChanges(changed)).toHaveLength(100)
  const pending = evaluateGroups(alertOf({ for_seconds: 60 }), [], new ResultRows(rowsOf('p', 150, 1)), 0)
  const recorded = recordedChanges([...pending.changed, ...changed.slice(0, 3)])
  expect(recorded.slice(0, 4).map(({ state }) => state)).toEqual(['firing', 'firing', 'firing', 'pending'])
})
