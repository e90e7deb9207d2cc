import type { Requests } from '../api/shapes.ts'
import { Empty } from '../ui/states.tsx'
import { count, counted, milliseconds, percent } from '../ui/text/format.ts'
import { ChartPart } from './chart-part.tsx'
import type { PartQuery } from './part.tsx'
import type { Range } from './time-range.tsx'

type Percentile = 'p50' | 'p95' | 'p99'

interface RequestChartsProps {
  query: PartQuery<Requests>
  range: Range
  percentiles: readonly Percentile[]
  hasHits?: boolean
}

/** Requests, their latency, and cache hits over time. */
export function RequestCharts({ query, range, percentiles, hasHits = false }: RequestChartsProps) {
  const common = { query, range, bucketSeconds: (data: Requests) => data.bucket_seconds }
  /** Undefined without requests. */
  const drawn =
    <T,>(draw: (data: Requests) => T) =>
    (data: Requests) =>
      data.totals.requests === 0
        ? undefined
        : { timestamps: data.buckets.map(({ timestamp }) => timestamp / 1000), ...draw(data) }
  return (
    <>
      <ChartPart
        {...common}
        title="Requests"
        kind="stacked"
        draw={drawn(({ buckets, totals: { requests, errors } }) => ({
          total: count(requests),
          note: `${counted(errors, 'error')}${errors > 0 ? `, ${percent(errors / requests)}` : ''}`,
          words: `${count(requests)}, ${counted(errors, 'error')}`,
          series: [
            { name: 'Successful', values: buckets.map((one) => one.requests - one.errors) },
            { name: 'Errors', values: buckets.map((one) => one.errors), color: 'danger' },
          ],
        }))}
      />
      <ChartPart
        {...common}
        title="Latency"
        kind="lines"
        draw={drawn(({ buckets, totals }) => {
          const text = (name: Percentile) => `${name} ${milliseconds(totals[`${name}_ms`])}`
          return {
            total: milliseconds(totals.p95_ms),
            note: ['p95', ...percentiles.filter((name) => name !== 'p95').map(text)].join(', '),
            words: percentiles.map(text).join(', '),
            series: percentiles.map((name) => ({
              name,
              unit: 'ms' as const,
              values: buckets.map((one) => one[`${name}_ms`]),
            })),
          }
        })}
      />
      {hasHits && (
        <ChartPart
          {...common}
          title="Cache hits"
          kind="lines"
          draw={drawn(({ buckets, totals: { requests, hits } }) => {
            const words = `${count(hits)} of ${counted(requests, 'request')}`
            const values = buckets.map((one) => (one.requests > 0 ? one.hits / one.requests : null))
            return {
              total: percent(hits / requests),
              note: words,
              words,
              series: [{ name: 'Cache hits', unit: 'ratio' as const, values }],
            }
          })}
        />
      )}
    </>
  )
}

export function StatisticsOff() {
  return (
    <Empty title="Statistics are off">
      <p>
        This service does not record requests. Start it with <code>--statistics on</code> or{' '}
        <code>WELLHEAD_STATISTICS=on</code>.
      </p>
    </Empty>
  )
}
