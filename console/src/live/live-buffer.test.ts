import { expect, test } from 'vitest'
import type { Entry } from '../api/shapes.ts'
import { keysOf, LiveBuffer } from './live-buffer.ts'

const entries = (...numbers: number[]): Entry[] =>
  numbers.map((n) => ({ id: `e${n}`, timestamp: n, project: '', event_message: '', metadata: {} }))
const times = (list: readonly Entry[]) => list.map(({ timestamp }) => timestamp)

test('puts new entries above older ones and holds them back until they are shown', () => {
  const buffer = new LiveBuffer(10)
  buffer.add(entries(4, 5))
  expect([buffer.waiting, times(buffer.shown)]).toEqual([2, []])
  buffer.begin(entries(3, 2, 1))
  buffer.show()
  expect([buffer.waiting, times(buffer.shown)]).toEqual([0, [5, 4, 3, 2, 1]])
})

test('shows an entry that is reported twice once', () => {
  const buffer = new LiveBuffer(10)
  buffer.add(entries(4, 5))
  buffer.begin(entries(5, 4, 3))
  buffer.add(entries(4, 5, 6))
  buffer.show()
  expect(times(buffer.shown)).toEqual([6, 5, 4, 3])
})

test('counts entries that are dropped before they are shown, and bounds the shown ones', () => {
  const buffer = new LiveBuffer(3)
  buffer.begin(entries(1))
  buffer.add(entries(2, 3))
  buffer.add(entries(4, 5, 6))
  expect([buffer.waiting, buffer.dropped]).toEqual([3, 2])
  buffer.show()
  expect([times(buffer.shown), buffer.dropped]).toEqual([[6, 5, 4], 2])
})

test('keeps the shown entries while they are read, and lets new ones wait once it is full', () => {
  const buffer = new LiveBuffer(3)
  buffer.begin(entries(2, 1))
  buffer.add(entries(3, 4, 5))
  buffer.show(true)
  expect([buffer.waiting, times(buffer.shown)]).toEqual([2, [3, 2, 1]])
  buffer.show()
  expect([buffer.waiting, times(buffer.shown)]).toEqual([0, [5, 4, 3]])
})

test('gives entries with the same timestamp and id keys of their own', () => {
  const same = { timestamp: 2, id: 'a' } as Entry
  const keys = keysOf([same, same, { ...same, timestamp: 1 }, same])
  expect(new Set(keys).size).toBe(4)
  expect(keysOf([same])).toEqual(keys.slice(0, 1))
})
