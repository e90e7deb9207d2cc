import { textOfValue } from '../../../../src/shared/list-text.ts'
import { referenceIn } from '../../../../src/shared/names.ts'
import { hasFeature } from '../../api/features.ts'
import type { Dashboard, Parameter, Row } from '../../api/shapes.ts'

type DashboardRow = Dashboard['rows'][number]
export type Item = DashboardRow['items'][number]
type Values = Readonly<Record<string, string>>

/** Columns of twelve that each item of a row takes. Those without a width share what the others leave. */
export function widthsOf(items: readonly Pick<Item, 'width'>[]): number[] {
  const given = items.reduce((sum, { width = 0 }) => sum + width, 0)
  const open = items.filter(({ width }) => width === undefined).length
  const share = Math.floor((12 - given) / Math.max(1, open))
  return items.map(({ width }) => width ?? (share >= 1 ? share : 12))
}

export interface TimeRange {
  /** Names of the parameters with the beginning and the end. */
  start: string
  end: string | undefined
}

/** The parameters of type timestamp that are a range. */
export function timeRangeOf(parameters: Readonly<Record<string, Parameter>>): TimeRange | undefined {
  const times = Object.keys(parameters).filter((name) => parameters[name]?.type === 'timestamp')
  const isEnd = (name: string) => /(?:^|_)(?:end|to|until|before)$/i.test(name)
  const start = times.find((name) => !isEnd(name))
  return start === undefined ? undefined : { start, end: times.find(isEnd) }
}

export const ranges: readonly (readonly [value: string, text: string, seconds: number])[] = [
  ['15m', 'Last 15 minutes', 900],
  ['1h', 'Last hour', 3_600],
  ['6h', 'Last 6 hours', 21_600],
  ['1d', 'Last 24 hours', 86_400],
  ['7d', 'Last 7 days', 604_800],
  ['30d', 'Last 30 days', 2_592_000],
]

/** Rounded, so that viewers share results. */
function rangeValues(
  { start, end }: TimeRange,
  range: string,
  isEndRequired: boolean,
  nowMs: number,
): Values {
  const seconds = ranges.find(([value]) => value === range)?.[2]
  if (seconds === undefined) return {}
  const stepMs = Math.max(60, seconds / 100) * 1000
  const toMs = Math.ceil(nowMs / stepMs) * stepMs
  const iso = (ms: number) => new Date(ms).toISOString()
  return {
    [start]: iso(toMs - seconds * 1000),
    ...(end !== undefined && isEndRequired && { [end]: iso(toMs) }),
  }
}

/**
 * How often panels are loaded again. In the address: `off`, `live` or seconds. Otherwise as the dashboard says. A service
 * without live results loads panels on request instead.
 */
export function refreshOf(
  chosen: string | null,
  preset: Dashboard['refresh'],
  has = hasFeature,
): Dashboard['refresh'] {
  if (chosen === 'off') return null
  const seconds = Number(chosen)
  const isSeconds = chosen !== null && seconds >= 5 && seconds <= 86_400
  const refresh = chosen === 'live' ? chosen : isSeconds ? seconds : preset
  return refresh === 'live' && !has('live') ? null : refresh
}

/** The value of each parameter: fixed, from the address, or its default. */
export function valuesOf(
  parameters: Readonly<Record<string, Parameter>>,
  address: URLSearchParams,
  fixed: Values,
  nowMs: number,
): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, { default: preset }] of Object.entries(parameters)) {
    const value = fixed[name] ?? address.get(name) ?? preset
    if (value !== undefined && value !== null) values[name] = textOfValue(value)
  }
  const range = timeRangeOf(parameters)
  if (!range) return values
  const required = (name: string | undefined) => name !== undefined && parameters[name]?.required === true
  const chosen = address.get('_range') ?? (required(range.start) && !values[range.start] ? '1d' : '')
  const free = Object.entries(rangeValues(range, chosen, required(range.end), nowMs)).filter(
    ([name]) => !Object.hasOwn(fixed, name),
  )
  return { ...values, ...Object.fromEntries(free) }
}

interface Call {
  values: Record<string, string>
  /** Required parameters of the dashboard without a value. */
  missing: string[]
}

/** What a panel sends. */
export function callOf(
  { parameters = {} }: Item,
  { parameters: declared }: Pick<Dashboard, 'parameters'>,
  values: Values,
): Call {
  const call: Call = { values: {}, missing: [] }
  for (const [name, value] of Object.entries(parameters)) {
    const reference = referenceIn(value)
    const chosen = reference === undefined ? value : values[reference]
    if (chosen !== undefined) call.values[name] = chosen
    else if (reference !== undefined && declared[reference]?.required) call.missing.push(reference)
  }
  return call
}

/** The time range first, then intervals, then the rest. */
export function orderedNames(parameters: Readonly<Record<string, Parameter>>): string[] {
  const rank = (name: string) =>
    parameters[name]?.type === 'timestamp'
      ? 0
      : /^(?:interval|range|window|period|hours|days)$/.test(name)
        ? 1
        : 2
  return Object.keys(parameters).toSorted((one, other) => rank(one) - rank(other))
}

/** The latest value, and how it differs from the first one of the window. */
export function changeOf(rows: readonly Row[], column: string, instant?: (row: Row) => number | undefined) {
  const number = (row: Row | undefined) => {
    const value = row?.[column]
    const read = typeof value === 'string' && value !== '' ? Number(value) : value
    return typeof read === 'number' && Number.isFinite(read) ? read : null
  }
  const sorted = instant ? rows.toSorted((one, other) => (instant(one) ?? 0) - (instant(other) ?? 0)) : rows
  if (!instant || sorted.length < 2) return { value: number(sorted[0]), change: undefined }
  const [first, last] = [number(sorted[0]), number(sorted.at(-1))]
  const change = first === null || last === null || first === 0 ? undefined : (last - first) / Math.abs(first)
  return { value: last, change, sinceMs: instant(sorted[0] as Row) }
}

export type Place = readonly [row: number, item: number]

const withItems = (rows: readonly DashboardRow[]) => rows.filter(({ items }) => items.length > 0)

/** Moves an item to another place. A row beyond the last one is new, and an empty row goes away. */
export function movedItem(
  rows: readonly DashboardRow[],
  [row, index]: Place,
  [toRow, toIndex]: Place,
): DashboardRow[] {
  const item = rows[row]?.items[index]
  if (!item) return [...rows]
  const next = rows.map(({ items }) => ({ items: [...items] }))
  next[row]?.items.splice(index, 1)
  const target = next[toRow]
  if (target) target.items.splice(Math.min(toIndex, target.items.length), 0, item)
  else if (toRow < 0) next.unshift({ items: [item] })
  else next.push({ items: [item] })
  return withItems(next)
}

/** Where an item is after it was moved. */
export function placeOf(rows: readonly DashboardRow[], item: Item): Place | undefined {
  for (const [row, { items }] of rows.entries()) {
    const index = items.indexOf(item)
    if (index >= 0) return [row, index]
  }
  return undefined
}

export function changedItem(
  rows: readonly DashboardRow[],
  [row, index]: Place,
  item: Item | undefined,
): DashboardRow[] {
  return withItems(
    rows.map(({ items }, at) => ({
      items: at === row ? items.toSpliced(index, 1, ...(item ? [item] : [])) : items,
    })),
  )
}
