import { expect, test } from 'vitest'
import { barRange, isBetterAsBars, isSparse, slotOf, stacksFor, stacksOf } from './bars.ts'
import { colorsOf, summaryOf, valueText } from './series.ts'

test('writes small, large and negative numbers, durations and bytes readably', () => {
  expect(
    [0, 0.00123, 12.345, 9999, 1_250_000, -4_300_000_000, 2 ** 64, null].map((n) => valueText(n, undefined)),
  ).toEqual(['0', '0.0012', '12.3', '9,999', '1.25M', '−4.3B', '1.84e+19', '–'])
  expect([0, 12, 5_000, 12_500, 7_200_000].map((n) => valueText(n, 'ms'))).toEqual([
    '0 ms',
    '12 ms',
    '5 s',
    '12.5 s',
    '2 h',
  ])
  expect([900, 4_000].map((n) => valueText(n, 'us'))).toEqual(['900 µs', '4 ms'])
  expect([0, 2_000, -1_500_000].map((n) => valueText(n, 'bytes'))).toEqual(['0 B', '2 kB', '−1.5 MB'])
  expect(valueText(0.5, 'ratio')).toBe('50 %')
})

test('describes a chart in words', () => {
  expect(
    summaryOf([
      { name: 'calls', values: [3, null, 1, 2] },
      { name: 'none', values: [null] },
    ]),
  ).toBe('calls: 1 to 3, last 2; none: no values')
})

test('stacks positive values upwards and negative ones downwards', () => {
  const [one, two] = stacksOf([{ values: [1, -2, null] }, { values: [4, -3, 5] }])
  expect([one?.tops, two?.bases, two?.tops]).toEqual([
    [1, -2, null],
    [1, -2, 0],
    [5, -5, 5],
  ])
})

test('the room of a bar is the smallest distance', () => {
  expect([slotOf([0, 60, 90, 300], true), slotOf([5], false)]).toEqual([30, 1])
})

test('the bar of the only bucket is as wide as a unit of time that begins there, among empty buckets', () => {
  const at = Date.UTC(2026, 10, 19) / 1000
  expect([at, at + 7200, at + 120, at + 7].map((point) => slotOf([point], true))).toEqual([
    86_400, 3_600, 60, 1,
  ])
  const range = barRange({ points: [at], isTime: true, slot: 3_600, least: 0 })
  // The library makes an axis of a day of one point.
  expect(range(at, at + 86_400)).toEqual([at - 3 * 3_600, at + 3 * 3_600])
  expect(barRange({ points: [0], isTime: false, slot: 1, least: 0 })(0, 0)).toEqual([-0.6, 0.6])
})

test('an axis has room for the first and the last bar, however narrow their buckets are', () => {
  const points = Array.from({ length: 101 }, (_, index) => index)
  expect(barRange({ points, isTime: true, slot: 1, least: 0 })(0, 100)).toEqual([-0.6, 100.6])
  expect(barRange({ points, isTime: true, slot: 1, least: 0.04 })(0, 100)).toEqual([-2, 102])
})

test('draws failures red, and further ones and a seventh series pale', () => {
  const named = (names: string[]) => colorsOf(names.map((name) => ({ name, values: [] })))
  const looks = (names: string[]) =>
    named(names).map(({ color, isPale }) => `${color}${isPale ? ' pale' : ''}`)
  expect(looks(['requests', 'error_rate', '5xx', '500', 'terrors'])).toEqual([
    'series-1',
    'danger',
    'danger pale',
    'danger pale',
    'series-2',
  ])
  expect(looks(['a', 'b', 'c', 'd', 'e', 'f', 'g']).slice(-2)).toEqual(['series-6', 'series-1 pale'])
})

test('widens bars where few of many buckets have values', () => {
  const minutes = Array.from({ length: 60 }, (_, at) => at * 60)
  const values = (filled: number) => Array.from({ length: 60 }, (_, at) => (at < filled ? 1 : 0))
  expect([1, 6, 7, 60].map((filled) => isSparse([{ values: values(filled) }], minutes))).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(isSparse([{ values: [1, null] }], [0, 60])).toBe(false)
  // Rows that the query left out are empty buckets, too.
  expect(isSparse([{ values: [1, 2, null, 3] }], [0, 60, 120, 60_000])).toBe(true)
})

test('draws bars in place of a line that would be one or two dots', () => {
  const minutes = Array.from({ length: 60 }, (_, at) => at * 60)
  const last = (...values: (number | null)[]) => [
    { values: [...minutes.slice(values.length).map(() => null), ...values] },
  ]
  expect([last(3), last(3, 4), last(3, 4, 5)].map((one) => isBetterAsBars(one, minutes))).toEqual([
    true,
    true,
    false,
  ])
  expect(isBetterAsBars([{ values: [3] }], [60])).toBe(true)
  expect(isBetterAsBars([{ values: [3, 4] }], [0, 60])).toBe(false)
  // A bar of nothing cannot be seen.
  expect(isBetterAsBars(last(0), minutes)).toBe(false)
})

test('stacks areas of several series, unless one has negative values', () => {
  const tops = (kind: 'area' | 'lines', ...values: number[][]) =>
    stacksFor(
      kind,
      values.map((each) => ({ values: each })),
    ).map((stack) => stack.tops)
  expect(tops('area', [1, 2], [3, 4])).toEqual([
    [1, 2],
    [4, 6],
  ])
  expect(tops('area', [1, 2])).toEqual([])
  expect(tops('area', [1, 2], [3, -4])).toEqual([])
  expect(tops('lines', [1, 2], [3, 4])).toEqual([])
})
