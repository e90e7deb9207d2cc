import type { Usage } from '../api/shapes.ts'
import { TimeSeries } from '../charts/time-series.tsx'
import { Part } from '../endpoints/usage/part.tsx'
import {
  BucketNote,
  chartHeight,
  chartPartHeight,
  NoPoints,
  Totals,
} from '../endpoints/usage/request-charts.tsx'
import { type Range, rangeWords } from '../endpoints/usage/time-range.tsx'
import { counted, short, sum } from '../ui/format.ts'
import { entriesInRange, largest } from './entries-in-range.ts'

interface EntriesChartProps {
  query: {
    data: Usage | undefined
    error: Error | null
    refetch: () => unknown
    isPlaceholderData: boolean
  }
  range: Range
}

/** The legend of more takes the space of the chart. */
const maxSeries = 4

/** New entries of each source over time. */
export function EntriesChart({ query, range }: EntriesChartProps) {
  const { data } = query
  return (
    <Part
      title="Entries"
      className="chart-part"
      query={query}
      height={chartPartHeight}
      aside={data && <BucketNote bucketSeconds={data.entries.bucket_seconds} />}
    >
      {(usage) => {
        const { timestamps, sources } = entriesInRange(usage, range)
        if (sources.length === 0) return <NoPoints>No entries in the {rangeWords(range)}.</NoPoints>
        const total = sum(sources.map((one) => one.total))
        const each = sources.map((one) => `${one.name} ${short(one.total)}`).join(', ')
        return (
          <>
            <Totals value={short(total)}>in {counted(sources.length, 'source')}</Totals>
            <TimeSeries
              label={`Entries in the ${rangeWords(range)}: ${counted(total, 'entry', 'entries')} (${each})`}
              timestamps={timestamps}
              series={largest(sources, maxSeries).map(({ name, counts }) => ({ name, values: counts }))}
              kind="stacked"
              height={chartHeight}
            />
          </>
        )
      }}
    </Part>
  )
}
