import { describe, expect, test } from 'vitest'
import type { Column, Row } from '../../api/shapes.ts'
import { type Chart, choiceOf, unitOf } from './chart-choice.ts'
import { chartSeriesOf, figuresOf } from './chart-series.ts'

const minute = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString().slice(0, 19)
const ms = (n: number) => Date.UTC(2026, 0, 1, 0, n)
const timed: Column[] = [{ name: 'timestamp', type: 'DateTime' }]
const chart = (fields: Partial<Chart>): Chart => ({ type: 'lines', x: null, y: [], series: null, ...fields })

function drawnOf(rows: Row[], known: Column[] = timed, chosen: Chart | null = null) {
  const choice = choiceOf(rows, known, chosen)
  if (!('x' in choice)) throw new Error(JSON.stringify(choice))
  const { type, x, series: by, y } = choice
  return { type, x: x.name, y, by, ...chartSeriesOf(rows, choice) }
}

const why = (rows: Row[], chosen: Chart | null = null) => {
  const choice = choiceOf(rows, timed, chosen)
  return choice.type === 'none' ? choice.why : choice.type
}

describe('a time with numbers', () => {
  test('is drawn as lines, sorted by time', () => {
    const rows = [5, 1, 2, 6].map((n) => ({ timestamp: minute(n), calls: n }))
    expect(drawnOf(rows)).toEqual({
      type: 'lines',
      x: 'timestamp',
      y: ['calls'],
      by: undefined,
      points: [1, 2, 5, 6].map(ms),
      series: [{ name: 'calls', values: [1, 2, 5, 6], unit: undefined }],
      left: [],
      leftPoints: 0,
    })
  })

  test('draws only measures of the same unit, unless they are chosen', () => {
    const rows = [0, 1].map((n) => ({ timestamp: minute(n), calls: 5, p95_ms: 90, errors: 1 }))
    expect(drawnOf(rows).y).toEqual(['calls', 'errors'])
    expect(drawnOf(rows, timed, chart({ type: 'bars', y: ['p95_ms'] }))).toMatchObject({
      type: 'bars',
      series: [{ name: 'p95_ms', unit: 'ms' }],
    })
  })

  test('leaves gaps where a value is null, and skips rows without a time', () => {
    const rows = [
      { timestamp: minute(0), calls: 1 },
      { timestamp: minute(1), calls: null },
      { timestamp: null, calls: 7 },
      { timestamp: minute(2), calls: '18446744073709551616' },
      { timestamp: null, calls: 8 },
    ]
    expect(drawnOf(rows, [...timed, { name: 'calls', type: 'Decimal(38, 0)' }]).series[0]?.values).toEqual([
      1,
      null,
      2 ** 64,
    ])
  })
})

describe('several rows of the same time', () => {
  const row = (n: number, name: string, calls: number) => ({
    timestamp: minute(n),
    function: name,
    calls,
    errors: 1,
  })

  test('are split by the text that distinguishes them, largest first, one measure at a time', () => {
    const rows = [row(0, 'a', 1), row(0, 'b', 10), row(1, 'b', 20), row(2, 'a', 3)]
    const { series, by, y } = drawnOf(rows)
    expect(series).toMatchObject([
      { name: 'b', values: [10, 20, null] },
      { name: 'a', values: [1, null, 3] },
    ])
    expect([by, y]).toEqual(['function', ['calls']])
    const errors = drawnOf(rows, timed, chart({ type: 'stacked', y: ['errors'] }))
    expect(errors.series[1]).toMatchObject({ name: 'b', values: [1, 1, null] })
  })

  test('are split by a number with few values where no text distinguishes them', () => {
    const rows = [0, 1, 2].flatMap((n) => [
      { timestamp: minute(n), status: 200, calls: 5 + n },
      { timestamp: minute(n), status: 500, calls: n },
    ])
    const { by, y, series } = drawnOf(rows)
    expect([by, y, series.map(({ name }) => name)]).toEqual(['status', ['calls'], ['200', '500']])
  })

  test('show twelve series and name the rest', () => {
    const rows = [0, 1, 2].flatMap((n) =>
      Array.from({ length: 40 }, (_, index) => row(n, `f${index}`, index)),
    )
    const { series, left } = drawnOf(rows)
    expect([series.length, series[0]?.name, left.length, left[0]]).toEqual([12, 'f39', 28, 'f27'])
  })

  test('are not drawn where nothing distinguishes them, or every row is unique', () => {
    expect(why([row(0, 'a', 1), row(0, 'a', 2), row(1, 'a', 1)])).toMatch(
      /^Several rows have the same timestamp/,
    )
    const ids = [0, 0, 1, 1].map((n, index) => ({
      timestamp: minute(n),
      id: `id-${index}`,
      calls: 1000 + index,
    }))
    expect(why(ids)).toMatch(/^Several rows have the same timestamp/)
    const twice = [row(0, 'a', 1), row(0, 'a', 2)]
    expect(why(twice, chart({ series: 'function', x: 'timestamp' }))).toBe(
      'Several rows have the same timestamp and function. Group the query by both.',
    )
  })
})

test('a text with few values makes series even where no time is repeated', () => {
  const rows = [0, 1, 2, 3].map((n) => ({ timestamp: minute(n), level: n % 2 ? 'info' : 'error', calls: n }))
  expect(drawnOf(rows).by).toBe('level')
})

describe('names with numbers', () => {
  test('are drawn as bars in the order of the rows', () => {
    const rows = [
      { path: '/b', hits: 5 },
      { path: '/a', hits: -3 },
      { path: null, hits: 1 },
    ]
    expect(drawnOf(rows, [])).toMatchObject({
      type: 'bars',
      x: 'path',
      points: ['/b', '/a', '(empty)'],
      series: [{ name: 'hits', values: [5, -3, 1] }],
    })
  })

  test('may be numbers that differ in each row', () => {
    const rows = [0, 1, 2].map((hour) => ({ hour, calls: 7 }))
    expect(drawnOf(rows, [])).toMatchObject({
      type: 'bars',
      x: 'hour',
      points: ['0', '1', '2'],
      y: ['calls'],
    })
  })

  test('are limited to 60', () => {
    const rows = Array.from({ length: 100 }, (_, n) => ({ path: `/${n}`, hits: n }))
    const { points, leftPoints } = drawnOf(rows, [])
    expect([points.length, leftPoints]).toEqual([60, 40])
  })

  test('are drawn where all rows have the same time', () => {
    const rows = ['a', 'b'].map((name) => ({ timestamp: minute(0), name, calls: 1 }))
    expect(drawnOf(rows).x).toBe('name')
  })
})

test('one row is shown as numbers', () => {
  expect(choiceOf([{ requests: 5, errors: 0, p95_ms: 8 }], [], null)).toEqual({
    type: 'number',
    y: ['requests', 'errors', 'p95_ms'],
  })
  const rows = [3, 9, 1].map((n) => ({ n, calls: n }))
  expect(figuresOf(rows, ['calls'], undefined)).toEqual([{ name: 'calls', value: 3, unit: undefined }])
  expect(figuresOf(rows, ['calls'], ({ n }) => Number(n))[0]?.value).toBe(9)
})

test('one row is shown at its time where a chart is chosen', () => {
  const row = { timestamp: minute(5), plan: 'free', calls: 3 }
  const { type, x, points, series } = drawnOf([row], timed, chart({ type: 'bars' }))
  expect({ type, x, points, values: series[0]?.values }).toEqual({
    type: 'bars',
    x: 'timestamp',
    points: [ms(5)],
    values: [3],
  })
})

test('says why there is no chart', () => {
  expect(why([{ message: 'a' }, { message: 'b' }])).toMatch(/^No column has numbers/)
  expect(why([{ calls: 1 }, { calls: 1 }])).toMatch(/^No column can be the x-axis/)
  expect(why([0, 0].map((n) => ({ timestamp: minute(n), calls: 1 })))).toMatch(/^All rows have the same time/)
  expect(why([{ a: 'x', n: 1 }], chart({ y: ['gone'] }))).toMatch(/^The result has no column "gone"/)
  expect(why([{ a: 'x', n: 1 }], chart({ type: 'table', y: ['gone'] }))).toBe('table')
})

test('finds the unit of a column by its name', () => {
  expect(
    ['p95_ms', 'ms', 'duration_us', 'cache_seconds', 'egress_bytes', 'hit_ratio', 'calls', 'items'].map(
      unitOf,
    ),
  ).toEqual(['ms', 'ms', 'us', 's', 'bytes', 'ratio', undefined, undefined])
})
