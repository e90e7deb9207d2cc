import { expect, test } from 'vitest'
import { LivePlaces } from './live-places.ts'

test('a place goes through its id and back, in this process alone', () => {
  const [places, others] = [new LivePlaces(), new LivePlaces()]
  for (const place of [0, 1, 1_767_225_600_000_123, Number.MAX_SAFE_INTEGER]) {
    const id = places.idOf(place)
    expect([places.placeOf(id), places.idOf(place), others.placeOf(id)]).toEqual([place, id, undefined])
  }
})

test('ids of neighbours have nothing in common', () => {
  const places = new LivePlaces()
  const ids = Array.from({ length: 1_000 }, (_, i) => places.idOf(i).slice(0, 8))
  expect(new Set(ids).size).toBeGreaterThan(990)
  expect([...ids].sort()).not.toEqual(ids)
})

test.each(['', 'nonsense', '0'.repeat(32), 'f'.repeat(10_000)])('%.20j is no place', (id) => {
  const places = new LivePlaces()
  expect(places.placeOf(id)).toBeUndefined()
  expect(places.placeOf(places.idOf(7))).toBe(7)
})
