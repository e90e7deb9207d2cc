import type { Usage } from '../../api/shapes.ts'
import { counted, short, sum } from '../../ui/text/format.ts'
import { ChartPart } from '../chart-part.tsx'
import type { PartQuery } from '../part.tsx'
import type { Range } from '../time-range.tsx'
import { entriesInRange, largest } from './entries-in-range.ts'

/** The legend of more takes the space of the chart. */
const maxSeries = 4

/** Entries of each source over time, by timestamp. */
export function EntriesChart({ query, range }: { query: PartQuery<Usage>; range: Range }) {
  return (
    <ChartPart
      title="Entries"
      kind="stacked"
      query={query}
      range={range}
      bucketSeconds={({ entries }) => entries.bucket_seconds}
      draw={(usage) => {
        const { timestamps, sources } = entriesInRange(usage, range)
        if (sources.length === 0) return undefined
        const total = sum(sources.map((one) => one.total))
        const each = sources.map((one) => `${one.name} ${short(one.total)}`).join(', ')
        return {
          timestamps,
          total: short(total),
          note: `in ${counted(sources.length, 'source')}`,
          words: `${counted(total, 'entry', 'entries')} (${each})`,
          series: largest(sources, maxSeries).map(({ name, counts }) => ({ name, values: counts })),
        }
      }}
    />
  )
}
