import type { ReactNode } from 'react'
import type { ChartKind, Series } from '../charts/series.ts'
import { TimeSeries } from '../charts/time-series.tsx'
import { seconds } from '../ui/text/format.ts'
import { Part, type PartQuery } from './part.tsx'
import { type Range, rangeWords } from './time-range.tsx'

const chartHeight = 168
/** The height of the figures above a chart and of the legend. */
const aroundChart = 92

interface Drawing {
  /** The sum of all points, and what to say about it. */
  total: string
  note: ReactNode
  /** The same in words. */
  words: string
  /** In milliseconds. */
  timestamps: number[]
  series: Series[]
}

interface ChartPartProps<T> {
  title: string
  kind: ChartKind
  query: PartQuery<T>
  range: Range
  bucketSeconds: (data: T) => number
  /** Undefined where there is nothing to draw. */
  draw: (data: T) => Drawing | undefined
}

/** Numbers over the range, with their sum. */
export function ChartPart<T>({ title, kind, query, range, bucketSeconds, draw }: ChartPartProps<T>) {
  const step = query.data === undefined ? undefined : bucketSeconds(query.data)
  return (
    <Part
      title={title}
      className="chart-part"
      query={query}
      height={chartHeight + aroundChart}
      aside={
        step !== undefined && (
          <span className="faint">One point per {step === 60 ? 'minute' : seconds(step)}</span>
        )
      }
    >
      {(data) => {
        const drawn = draw(data)
        const what = title === 'Entries' ? 'entries' : 'requests'
        if (!drawn) {
          return (
            <p className="no-points soft">
              No {what} in the {rangeWords(range)}.
            </p>
          )
        }
        const { total, note, words, ...points } = drawn
        return (
          <>
            <p className="totals">
              <b className="number">{total}</b> <span className="soft">{note}</span>
            </p>
            <TimeSeries
              {...points}
              label={`${title} in the ${rangeWords(range)}: ${words}`}
              kind={kind}
              height={chartHeight}
            />
          </>
        )
      }}
    </Part>
  )
}
