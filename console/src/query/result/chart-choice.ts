import type { Column, Endpoint, Row } from '../../api/shapes.ts'
import type { Unit } from '../../charts/series.ts'
import { columnsOf, type Labels, type ShownColumn } from './result-columns.ts'

/** What is kept with an endpoint. Null or empty parts are chosen from the columns. */
export type Chart = NonNullable<Endpoint['chart']>

/** Columns that a chart can use, by what they can be used as. */
export interface ChartColumns {
  times: ShownColumn[]
  numbers: ShownColumn[]
  texts: ShownColumn[]
}

export type Choice =
  | { type: 'table' }
  | { type: 'number'; y: string[] }
  | { type: 'lines' | 'bars' | 'stacked'; x: ShownColumn; isTime: boolean; y: string[]; series?: string }
  | { type: 'none'; why: string }

/** More series cannot be distinguished. */
export const maxSeries = 12
/** Numbers that identify a row, such as a status, have few values. */
const maxNumberValues = 20

export function chartColumnsOf(rows: readonly Row[], known: readonly Column[]): ChartColumns {
  const columns = columnsOf(rows, known)
  const times = columns.filter(({ name, instant }) => rows.some((row) => instant(row[name]) !== undefined))
  const others = columns.filter((column) => !times.includes(column))
  const isNumber = ({ name, type, right }: ShownColumn) =>
    right || /^(?:Nullable\()?(?:U?Int|Float|Decimal)/.test(type) || isEvery(rows, name, 'number')
  const numbers = others.filter(isNumber)
  const texts = others.filter((column) => !numbers.includes(column) && isEvery(rows, column.name, 'text'))
  return { times, numbers, texts }
}

/** What to draw: as chosen by hand, and otherwise from the columns. */
export function choiceOf(rows: readonly Row[], known: readonly Column[], chart: Chart | null): Choice {
  if (chart?.type === 'table') return { type: 'table' }
  const { times, numbers, texts } = chartColumnsOf(rows, known)
  const all = [...times, ...numbers, ...texts]
  const missing = [chart?.x, chart?.series, ...(chart?.y ?? [])].find(
    (name) => typeof name === 'string' && !all.some((column) => column.name === name),
  )
  if (typeof missing === 'string') {
    return none(
      `The result has no column "${missing}" that can be drawn. Choose another in the chart settings.`,
    )
  }
  if (numbers.length === 0) return none('No column has numbers. Add one to the query, such as count().')
  if (chart?.type === 'number' || (chart === null && rows.length === 1)) {
    return { type: 'number', y: chart?.y.length ? chart.y : numbers.map(({ name }) => name) }
  }
  const x = all.find(({ name }) => name === chart?.x) ?? axisOf(rows, { times, numbers, texts }, chart)
  if (!x) {
    return none(
      times.length > 0
        ? 'All rows have the same time. A chart over time needs at least two points.'
        : 'No column can be the x-axis. Add a time or text column to the query, such as toStartOfHour(timestamp).',
    )
  }
  const isTime = times.includes(x)
  const drawn = isTime ? rows.filter((row) => x.instant(row[x.name]) !== undefined) : rows
  const type = chart?.type ?? (isTime ? 'lines' : 'bars')
  const rest = numbers.filter((column) => column !== x)
  const series = chart?.series ?? splitterOf(drawn, x, texts, chart?.y.length ? [] : rest)
  const y = measuresOf(
    rest.filter(({ name }) => name !== series),
    chart?.y ?? [],
  )
  if (y.length === 0) return none('No column of numbers is left for the y-axis. Change the chart settings.')
  if (hasTwice(drawn, x, series)) {
    return none(
      series === undefined
        ? `Several rows have the same ${x.name}, and no column with recurring values tells them apart. Group the query by ${x.name}, or choose a series in the chart settings.`
        : `Several rows have the same ${x.name} and ${series}. Group the query by both.`,
    )
  }
  // Each value is a series, so only one measure can be drawn.
  return {
    type,
    x,
    isTime,
    y: series === undefined ? y : y.slice(0, 1),
    ...(series !== undefined && { series }),
  }
}

const none = (why: string): Choice => ({ type: 'none', why })

/** The measures chosen by hand, or those that share a unit with the first one and so an axis. */
function measuresOf(numbers: readonly ShownColumn[], chosen: readonly string[]): string[] {
  const names = numbers.map(({ name }) => name)
  if (chosen.length > 0) return chosen.filter((name) => names.includes(name))
  return names.filter((name) => unitOf(name) === unitOf(names[0] ?? ''))
}

/** A time with several points or that of the only row, or else a text, or else a number that is different in each row. */
function axisOf(rows: readonly Row[], { times, numbers, texts }: ChartColumns, chart: Chart | null) {
  const isFree = ({ name }: ShownColumn) => name !== chart?.series && !chart?.y.includes(name)
  const size = ({ name }: ShownColumn) => new Set(rows.map((row) => textAt(row, name))).size
  return (
    times.find((column) => isFree(column) && (size(column) > 1 || rows.length === 1)) ??
    texts.find((column) => isFree(column) && size(column) > 1) ??
    texts.find(isFree) ??
    (numbers.length > 1 && rows.length > 1
      ? numbers.find((column) => isFree(column) && size(column) === rows.length)
      : undefined)
  )
}

/** The column whose values distinguish rows with the same x, or a text with few values. */
function splitterOf(
  rows: readonly Row[],
  x: ShownColumn,
  texts: readonly ShownColumn[],
  numbers: readonly ShownColumn[],
): string | undefined {
  const repeats = hasTwice(rows, x)
  const few = repeats ? numbers.filter((column) => valuesOf(rows, column).size <= maxNumberValues) : []
  return [...texts, ...few].find((column) => {
    const { size } = valuesOf(rows, column)
    // An id is different in every row and makes no series.
    if (column === x || size * 2 > rows.length) return false
    if (!repeats && (size < 2 || size > maxSeries)) return false
    return !hasTwice(rows, x, column.name)
  })?.name
}

const valuesOf = (rows: readonly Row[], { name }: ShownColumn) =>
  new Set(rows.map((row) => textAt(row, name)))

function hasTwice(rows: readonly Row[], x: ShownColumn, series?: string): boolean {
  const keys = rows.map((row) =>
    series === undefined ? textAt(row, x.name) : JSON.stringify([textAt(row, x.name), textAt(row, series)]),
  )
  return new Set(keys).size < keys.length
}

function isEvery(rows: readonly Row[], name: string, kind: 'number' | 'text'): boolean {
  const filled = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined)
  return (
    filled.length > 0 &&
    filled.every((value) => (kind === 'number' ? typeof value === 'number' : typeof value !== 'object'))
  )
}

export function textAt(row: Row, name: string): string {
  const value = row[name]
  return value === null || value === undefined || value === '' ? '(empty)' : String(value)
}

const units: readonly (readonly [RegExp, Unit])[] = [
  [/(?:^|_)(?:ms|millis|milliseconds)$/i, 'ms'],
  [/(?:^|_)(?:us|micros|microseconds)$/i, 'us'],
  [/(?:^|_)(?:s|secs|seconds)$/i, 's'],
  [/(?:^|_)bytes$/i, 'bytes'],
  [/(?:^|_)ratio$/i, 'ratio'],
]

/** The unit that a column's name ends with. */
export function unitOf(name: string): Unit | undefined {
  return units.find(([form]) => form.test(name))?.[1]
}

/** What columns are called beside values that have their unit: `p95_ms` is "p95", unless another column is, too. */
export function labelsOf(names: readonly string[], labels: Labels): string[] {
  if (!labels) return [...names]
  const words = (name: string) => name.replaceAll('_', ' ').trim()
  const short = (name: string) => {
    const [unit] = units.find(([form]) => form.test(name)) ?? []
    return words(unit ? name.replace(unit, '') : name) || words(name)
  }
  const isShared = (name: string) => names.some((other) => other !== name && short(other) === short(name))
  return names.map((name) => labels[name] ?? (isShared(name) ? words(name) : short(name)))
}
