import { otherValues } from '../../../src/shared/counted-values.ts'
import type { Histogram } from '../api/shapes.ts'
import { sum } from '../ui/text/format.ts'
import { levelTone } from './levels.ts'
import { conditionOf, writtenField } from './search/conditions.ts'
import { valueName } from './source-fields.ts'

/** One value that the histogram is split by. */
export interface SplitSeries {
  name: string
  /** As people read it. */
  text: string
  /** The class that colors it. */
  tone: string
  total: number
}

const statusTones = new Map(
  Object.entries({
    '5xx': 'bad',
    '4xx': 'warn',
    '3xx': 'moved',
    '2xx': 'good',
    '1xx': 'series-3',
  }),
)
/** From the bottom, where the bars of all buckets begin at the same height. */
const order = ['bad', 'warn', 'moved', 'good']

/** Failures first, then by frequency, then the rest. */
export function seriesOf(buckets: Histogram['buckets'], by = ''): SplitSeries[] {
  const names = [...new Set(buckets.flatMap(({ counts = {} }) => Object.keys(counts)))]
  const series = names
    .map((name) => ({ name, total: sum(buckets.map((bucket) => countOf(bucket, name))) }))
    .toSorted((one, other) => other.total - one.total)
    .map((one, index) => {
      const text = valueName(by, one.name)
      return {
        ...one,
        text,
        tone:
          toneOf(text === one.name ? text : text.slice(one.name.length + 1)) ?? `series-${(index % 6) + 1}`,
      }
    })
  const rank = ({ tone }: SplitSeries) =>
    order.includes(tone) ? order.indexOf(tone) : tone === 'other' ? 8 : tone === 'none' ? 9 : 7
  return series.toSorted((one, other) => rank(one) - rank(other))
}

/** Values are of others: one may be named as a property of all objects. */
export function countOf({ counts = {} }: Histogram['buckets'][number], name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] as number) : 0
}

function toneOf(name: string): string | undefined {
  if (name === otherValues) return 'other'
  if (name === '') return 'none'
  return statusTones.get(name) ?? levelTone(name)
}

/** The condition that finds the entries of a series; undefined where no single condition does. */
export function seriesCondition(field: string, name: string): string | undefined {
  if (name === otherValues) return undefined
  if (name === '') return `-${writtenField(field)}:*`
  return conditionOf(field, name)
}
