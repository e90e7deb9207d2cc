import type { Row } from '../../api/shapes.ts'
import { highest, type Series } from '../../charts/series.ts'
import { type Choice, labelsOf, maxSeries, textAt, unitOf } from './chart-choice.ts'
import type { Labels } from './result-columns.ts'

type Drawing = Extract<Choice, { x: unknown }>

interface ChartSeries {
  /** Milliseconds, sorted, or names in the order of the rows. */
  points: number[] | string[]
  /** At most 12, the largest first if they are values of a column. */
  series: Series[]
  /** Names of the series that are not shown. */
  left: string[]
  /** How many points are not shown. */
  leftPoints: number
}

/** Names on an axis that can still be told apart. */
const maxNames = 60

/** The rows as series of a chart. */
export function chartSeriesOf(rows: readonly Row[], choice: Drawing, labels?: Labels): ChartSeries {
  const { x, isTime, y, series: by } = choice
  const placed = rows.flatMap((row) => {
    const at = isTime ? x.instant(row[x.name]) : textAt(row, x.name)
    return at === undefined ? [] : [{ row, at }]
  })
  const all = [...new Set(placed.map(({ at }) => at))]
  const points = isTime ? (all as number[]).sort((one, other) => one - other) : all.slice(0, maxNames)
  const place = new Map<string | number, number>(points.map((at, index) => [at, index]))
  const lines = new Map<string, Series>()
  const names = labelsOf(y, labels)
  for (const { row, at } of placed) {
    const index = place.get(at)
    if (index === undefined) continue
    for (const [at, measure] of y.entries()) {
      const key = by === undefined ? measure : textAt(row, by)
      const name = by === undefined ? (names[at] as string) : key
      const line = lines.get(key) ?? { name, values: points.map(() => null), unit: unitOf(measure) }
      line.values[index] = numberAt(row, measure)
      lines.set(key, line)
    }
  }
  const sorted = [...lines.values()]
  if (by !== undefined) sorted.sort((one, other) => sizeOf(other) - sizeOf(one))
  return {
    points: points as number[] | string[],
    series: sorted.slice(0, maxSeries),
    left: sorted.slice(maxSeries).map(({ name }) => name),
    leftPoints: all.length - points.length,
  }
}

/** The measures of the row to show as numbers: the latest one, or the first without a time. */
export function figuresOf(
  rows: readonly Row[],
  y: readonly string[],
  time: ((row: Row) => number) | undefined,
) {
  const latest = time && highest(rows.map(time))
  const row = (time && rows.find((one) => time(one) === latest)) ?? rows[0] ?? {}
  return y.map((name) => ({ name, value: numberAt(row, name), unit: unitOf(name) }))
}

const sizeOf = ({ values }: Series) => values.reduce<number>((size, value) => size + Math.abs(value ?? 0), 0)

/** Large decimals are texts in JSON. */
function numberAt(row: Row, name: string): number | null {
  const value = row[name]
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
