import { expect, test } from 'vitest'
import type { SavedAlert } from './alert.ts'
import { type AlertEntry, newState } from './alert-state.ts'
import { dropExcess } from './deliveries.ts'

/** An alert with notifications of these lengths, the oldest first. */
function entryWith(name: string, ...lengths: number[]): AlertEntry {
  const state = newState('', name, 0)
  state.outbox = lengths.map((length, n) => ({
    ...{ id: `${name}${n}`, type: 'alert.firing', createdMs: n, to: new Map() },
    bodies: { webhook: 'x'.repeat(length) },
  }))
  return { alert: {} as SavedAlert, state, dueMs: 0 }
}

const limits = { count: 3, length: 100, total: 200 }
const droppedOf = (...entries: AlertEntry[]) =>
  dropExcess(entries, limits).map(({ notification }) => notification.id)

test('the oldest notifications of an alert with too many are dropped and counted', () => {
  const many = entryWith('a', 1, 1, 1, 1, 1)
  expect(droppedOf(many, entryWith('b', 1, 1, 1))).toEqual(['a0', 'a1'])
  expect([many.state.dropped, many.state.outbox.length]).toEqual([2, 3])
  expect(droppedOf(many)).toEqual([])
})

test('the oldest of too long ones are dropped, but never the only one', () => {
  expect(droppedOf(entryWith('a', 60, 60), entryWith('b', 101))).toEqual(['a0'])
})

test('if all together are too long, alerts with the most lose theirs', () => {
  const noisy = entryWith('noisy', 40, 40, 10)
  expect(droppedOf(entryWith('one', 60), noisy, entryWith('two', 60))).toEqual(['noisy0'])
  expect(droppedOf(entryWith('a', 150), entryWith('b', 100))).toEqual(['a0'])
})

test('one that is being sent is kept, so that the next one does not overtake it', () => {
  const busy = entryWith('a', 1, 1, 1, 1)
  busy.state.outbox[0]?.to.set('key', { count: 0, nextMs: Infinity })
  expect(droppedOf(busy)).toEqual(['a1'])
})
