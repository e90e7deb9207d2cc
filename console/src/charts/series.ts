import { bytes, percent, seconds, short } from '../ui/text/format.ts'

/** `ratio` is shown as a percentage. */
export type Unit = 'us' | 'ms' | 's' | 'bytes' | 'ratio'

export type ChartKind = 'lines' | 'area' | 'bars' | 'stacked'

export interface Series {
  name: string
  /** Null is a gap. */
  values: (number | null)[]
  unit?: Unit | undefined
  /** A color of the console instead of the next one, such as `danger`. */
  color?: string | undefined
}

const failures =
  /(?:^|[_\s-])(?:err|errors?|fail(?:ed|ures?)|fatal|crit(?:ical)?|panics?)(?:$|[_\s-])|^5(?:xx|\d\d)$/i

/**
 * The color of each series: failures are red in every chart. There are six other colors; further series, and further
 * failures, are pale.
 */
export function colorsOf(series: readonly Series[]): { color: string; isPale: boolean }[] {
  let next = 0
  let reds = 0
  return series.map(({ name, color }) => {
    if (color !== undefined) return { color, isPale: false }
    if (failures.test(name)) return { color: 'danger', isPale: reds++ > 0 }
    return { color: `series-${(next % 6) + 1}`, isPale: next++ >= 6 }
  })
}

export function valueText(value: number | null | undefined, unit: Unit | undefined): string {
  if (value === null || value === undefined) return '–'
  if (value < 0) return `−${valueText(-value, unit)}`
  switch (unit) {
    case undefined:
      return short(value)
    case 'us':
      return value < 1000 ? `${short(value)} µs` : valueText(value / 1000, 'ms')
    case 'ms':
      return value < 1000 ? `${short(value)} ms` : valueText(value / 1000, 's')
    case 's':
      return value < 120 ? `${short(value)} s` : seconds(value)
    case 'bytes':
      return bytes(value).replace('.0 ', ' ')
    case 'ratio':
      return percent(value)
  }
}

/** The unit that all series have. */
export function commonUnit(series: readonly Series[]): Unit | undefined {
  const [first, ...rest] = series.map(({ unit }) => unit)
  return rest.every((unit) => unit === first) ? first : undefined
}

/** What a chart shows, in words. */
export function summaryOf(series: readonly Series[]): string {
  return series
    .map(({ name, values, unit }) => {
      const filled = values.filter((value) => value !== null)
      if (filled.length === 0) return `${name}: no values`
      const [low, high] = [lowest(filled), highest(filled)].map((value) => valueText(value, unit))
      return `${name}: ${low} to ${high}, last ${valueText(filled.at(-1), unit)}`
    })
    .join('; ')
}

// Arguments of Math.max are limited in number.
export const highest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value))
const lowest = (values: readonly number[]) => values.reduce((least, value) => Math.min(least, value))
