import { describe, expect, test } from 'vitest'
import { chartSeriesOf } from './chart-series.ts'

const minute = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString().slice(0, 19)
const ms = (n: number) => Date.UTC(2026, 0, 1, 0, n)
const columns = [
  { name: 'timestamp', type: 'DateTime' },
  { name: 'function', type: 'String' },
  { name: 'calls', type: 'UInt64' },
  { name: 'errors', type: 'UInt64' },
]

test('sorts rows by time', () => {
  const rows = [5, 1, 2, 6].map((n) => ({ timestamp: minute(n), calls: n }))
  expect(chartSeriesOf(rows, columns)).toEqual({
    timestamps: [1, 2, 5, 6].map(ms),
    series: [{ name: 'calls', values: [1, 2, 5, 6] }],
    split: undefined,
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
    const { series, split } = chartSeriesOf(rows, columns) ?? {}
    expect(series).toEqual([
      { name: 'b', values: [10, 20, null] },
      { name: 'a', values: [1, null, 3] },
    ])
    expect(split).toEqual({ by: 'function', measure: 'calls', measures: ['calls', 'errors'], left: 0 })
    const errors = chartSeriesOf(rows, columns, 'errors')
    expect(errors?.series).toContainEqual({ name: 'b', values: [1, 1, null] })
  })

  test('are split by a number with few values where no text distinguishes them', () => {
    const rows = [0, 1, 2].flatMap((n) => [
      { timestamp: minute(n), status: 200, calls: 5 + n },
      { timestamp: minute(n), status: 500, calls: n },
    ])
    const drawn = chartSeriesOf(rows, [{ name: 'timestamp', type: 'DateTime' }])
    expect(drawn?.split).toMatchObject({ by: 'status', measures: ['calls'] })
    expect(drawn?.series.map(({ name }) => name)).toEqual(['200', '500'])
  })

  test('are limited to twelve lines', () => {
    const rows = [0, 1, 2].flatMap((n) =>
      Array.from({ length: 40 }, (_, index) => row(n, `f${index}`, index)),
    )
    const { series, split } = chartSeriesOf(rows, columns) ?? {}
    expect([series?.length, series?.[0]?.name, split?.left]).toEqual([12, 'f39', 28])
  })

  test('are not drawn where nothing distinguishes them, or every row is unique', () => {
    expect(chartSeriesOf([row(0, 'a', 1), row(0, 'a', 2), row(1, 'a', 1)], columns)).toBeUndefined()
    const ids = [0, 0, 1, 1].map((n, index) => row(n, `id-${index}`, 1000 + index))
    expect(chartSeriesOf(ids, columns.slice(0, 3))).toBeUndefined()
  })
})

test('draws nothing without a time column, without numbers, or with one row', () => {
  expect(chartSeriesOf([{ a: 1 }, { a: 2 }], [])).toBeUndefined()
  expect(chartSeriesOf([{ timestamp: minute(0) }, { timestamp: minute(1) }], columns)).toBeUndefined()
  expect(chartSeriesOf([{ timestamp: minute(0), calls: 1 }], columns)).toBeUndefined()
})
