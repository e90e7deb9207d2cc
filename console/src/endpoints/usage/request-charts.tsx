import type { ReactNode } from 'react'
import type { Requests } from '../../api/shapes.ts'
import { TimeSeries } from '../../charts/time-series.tsx'
import { count, counted, milliseconds, percent, seconds, sum } from '../../ui/format.ts'
import { Empty } from '../../ui/states.tsx'
import { Part } from './part.tsx'
import { type Range, rangeWords } from './time-range.tsx'

export interface RequestsQuery {
  data: Requests | undefined
  error: Error | null
  refetch: () => unknown
  isPlaceholderData: boolean
}

export const chartHeight = 168
/** The height of the figures above a chart and of the legend. */
const aroundChart = 92
export const chartPartHeight = chartHeight + aroundChart

interface ChartProps {
  query: RequestsQuery
  range: Range
}

export function RequestsChart({ query, range }: ChartProps) {
  return (
    <ChartPart title="Requests" query={query} range={range}>
      {({ buckets, totals: { requests, errors } }) => (
        <>
          <Totals value={count(requests)}>
            {counted(errors, 'error')}
            {requests > 0 && errors > 0 && `, ${percent(errors / requests)}`}
          </Totals>
          <TimeSeries
            label={`Requests in the ${rangeWords(range)}: ${count(requests)}, ${counted(errors, 'error')}`}
            timestamps={buckets.map(({ timestamp }) => timestamp / 1000)}
            series={[
              { name: 'Successful', values: buckets.map((one) => one.requests - one.errors) },
              { name: 'Errors', values: buckets.map((one) => one.errors), color: 'danger' },
            ]}
            kind="stacked"
            height={chartHeight}
          />
        </>
      )}
    </ChartPart>
  )
}

type Percentile = 'p50' | 'p95' | 'p99'

interface LatencyChartProps extends ChartProps {
  percentiles: readonly Percentile[]
}

export function LatencyChart({ query, range, percentiles }: LatencyChartProps) {
  return (
    <ChartPart title="Latency" query={query} range={range}>
      {({ buckets, totals }) => (
        <>
          <Totals value={milliseconds(totals.p95_ms)}>
            p95
            {percentiles
              .filter((name) => name !== 'p95')
              .map((name) => `, ${name} ${milliseconds(totals[`${name}_ms`])}`)}
          </Totals>
          <TimeSeries
            label={`Latency in the ${rangeWords(range)}: ${percentiles.map((name) => `${name} ${milliseconds(totals[`${name}_ms`])}`).join(', ')}`}
            timestamps={buckets.map(({ timestamp }) => timestamp / 1000)}
            series={percentiles.map((name) => ({
              name,
              unit: 'ms',
              values: buckets.map((one) => one[`${name}_ms`]),
            }))}
            kind="lines"
            height={chartHeight}
          />
        </>
      )}
    </ChartPart>
  )
}

export function HitRatioChart({ query, range }: ChartProps) {
  return (
    <ChartPart title="Cache hits" query={query} range={range}>
      {({ buckets, totals: { requests, hits } }) => (
        <>
          <Totals value={percent(requests > 0 ? hits / requests : null)}>
            {count(hits)} of {counted(requests, 'request')}
          </Totals>
          <TimeSeries
            label={`Cache hits in the ${rangeWords(range)}: ${count(hits)} of ${counted(requests, 'request')}`}
            timestamps={buckets.map(({ timestamp }) => timestamp / 1000)}
            series={[
              {
                name: 'Cache hits',
                unit: 'ratio',
                values: buckets.map((one) => (one.requests > 0 ? one.hits / one.requests : null)),
              },
            ]}
            kind="lines"
            height={chartHeight}
          />
        </>
      )}
    </ChartPart>
  )
}

interface ChartPartProps extends ChartProps {
  title: string
  children: (requests: Requests) => ReactNode
}

function ChartPart({ title, query, range, children }: ChartPartProps) {
  const { data } = query
  return (
    <Part
      title={title}
      className="chart-part"
      query={query}
      height={chartPartHeight}
      aside={data && <BucketNote bucketSeconds={data.bucket_seconds} />}
    >
      {(requests) =>
        sum(requests.buckets.map((one) => one.requests)) === 0 ? (
          <NoPoints>No requests in the {rangeWords(range)}.</NoPoints>
        ) : (
          children(requests)
        )
      }
    </Part>
  )
}

/** How long a bar or a point of a chart lasts. */
export function BucketNote({ bucketSeconds }: { bucketSeconds: number }) {
  return (
    <span className="faint">One point per {bucketSeconds === 60 ? 'minute' : seconds(bucketSeconds)}</span>
  )
}

export function Totals({ value, children }: { value: string; children: ReactNode }) {
  return (
    <p className="totals">
      <b className="number">{value}</b> <span className="soft">{children}</span>
    </p>
  )
}

/** Takes the place of a chart. */
export function NoPoints({ children }: { children: ReactNode }) {
  return <p className="no-points soft">{children}</p>
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
