import type { Column, Row } from '../../api/shapes.ts'
import type { Series } from '../../charts/series.ts'
import { columnsOf } from './result-columns.ts'

interface ChartSeries {
  /** Milliseconds, sorted and unique. */
  timestamps: number[]
  series: Series[]
  /** If rows are split by a column, only one of the measures is drawn at a time. */
  split: { by: string; measure: string; measures: string[]; left: number } | undefined
}

/** More lines cannot be distinguished. */
const maxSeries = 12
/** Numbers that identify a row, such as a status, have few values. */
const maxNumberValues = 20

interface Timed {
  row: Row
  at: number
}

/** The rows as lines over time; undefined without a time column or numbers. */
export function chartSeriesOf(
  rows: readonly Row[],
  known: readonly Column[],
  measure?: string,
): ChartSeries | undefined {
  if (rows.length < 2) return undefined
  const columns = columnsOf(rows, known)
  const time = columns.find(({ name, instant }) => instant(rows[0]?.[name]) !== undefined)
  if (!time) return undefined
  const others = columns.filter(({ name }) => name !== time.name)
  const isNumber = ({ name, right }: (typeof columns)[number]) =>
    right || rows.every((row) => row[name] === null || typeof row[name] === 'number')
  const drawn = others.filter(isNumber).map(({ name }) => name)
  if (drawn.length === 0) return undefined
  const timed = rows
    .map((row) => ({ row, at: time.instant(row[time.name]) }))
    .filter((one): one is Timed => one.at !== undefined)
    .sort((one, other) => one.at - other.at)
  const points = [...new Set(timed.map(({ at }) => at))]
  if (points.length < 2) return undefined
  if (points.length === timed.length) {
    const series = drawn.map((name) => ({ name, values: timed.map(({ row }) => numberAt(row, name)) }))
    return { timestamps: points, series, split: undefined }
  }
  const texts = others.filter((column) => !isNumber(column)).map(({ name }) => name)
  const by = splitterOf(timed, texts, drawn)
  if (by === undefined) return undefined
  const measures = drawn.filter((name) => name !== by)
  const chosen = measures.find((name) => name === measure) ?? measures[0]
  if (chosen === undefined) return undefined
  const { series, left } = splitSeries(timed, points, by, chosen)
  return { timestamps: points, series, split: { by, measure: chosen, measures, left } }
}

/** The column whose values distinguish rows of the same time. */
function splitterOf(timed: readonly Timed[], texts: string[], numbers: string[]): string | undefined {
  const few = numbers.filter((name) => valuesAt(timed, name).size <= maxNumberValues)
  return [...texts, ...few].find((name) => {
    const values = valuesAt(timed, name)
    // An id is unique in every row and makes no lines.
    if (values.size * 2 > timed.length) return false
    return new Set(timed.map(({ row, at }) => `${at} ${textAt(row, name)}`)).size === timed.length
  })
}

/** A line for each value, the largest first. */
function splitSeries(timed: readonly Timed[], points: readonly number[], by: string, measure: string) {
  const place = new Map(points.map((at, index) => [at, index]))
  const lines = new Map<string, { name: string; values: (number | null)[]; size: number }>()
  for (const { row, at } of timed) {
    const name = textAt(row, by)
    const value = numberAt(row, measure)
    const line = lines.get(name) ?? { name, values: points.map(() => null), size: 0 }
    line.values[place.get(at) as number] = value
    line.size += Math.abs(value ?? 0)
    lines.set(name, line)
  }
  const largest = [...lines.values()].sort((one, other) => other.size - one.size).slice(0, maxSeries)
  return {
    series: largest.map(({ name, values }) => ({ name, values })),
    left: lines.size - largest.length,
  }
}

function valuesAt(timed: readonly Timed[], name: string): Set<string> {
  return new Set(timed.map(({ row }) => textAt(row, name)))
}

function textAt(row: Row, name: string): string {
  const value = row[name]
  if (value === null || value === undefined || value === '') return '(empty)'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function numberAt(row: Row, name: string): number | null {
  const value = row[name]
  return typeof value === 'number' ? value : null
}
