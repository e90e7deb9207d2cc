import { expect, test } from 'vitest'
import { EventIds } from './live-tail.ts'

test('only the process that made an id can read its cursor', () => {
  const [ids, others] = [new EventIds(), new EventIds()]
  for (const cursor of [0, 1, 1_767_225_600_000_123, Number.MAX_SAFE_INTEGER]) {
    const id = ids.idOf(cursor)
    expect([ids.cursorOf(id), ids.idOf(cursor), others.cursorOf(id)]).toEqual([cursor, id, undefined])
  }
})

test('ids of consecutive cursors are unrelated', () => {
  const ids = new EventIds()
  const starts = Array.from({ length: 1_000 }, (_, i) => ids.idOf(i).slice(0, 8))
  expect(new Set(starts).size).toBeGreaterThan(990)
  expect([...starts].sort()).not.toEqual(starts)
})

test.each(['', 'nonsense', '0'.repeat(32), 'f'.repeat(10_000)])('rejects what is not an id (%#)', (id) => {
  const ids = new EventIds()
  expect(ids.cursorOf(id)).toBeUndefined()
  expect(ids.cursorOf(ids.idOf(7))).toBe(7)
})
