import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { queries } from '../api/queries.ts'
import type { Requests } from '../api/shapes.ts'
import { ErrorCodes } from './error-codes.tsx'
import { Part } from './part.tsx'
import { RequestCharts, StatisticsOff } from './request-charts.tsx'
import { RangeChoice, rangeWords, useRange } from './time-range.tsx'

interface UsageReportProps {
  /** Undefined: all endpoints that the own token can see. */
  endpoint?: string | undefined
  token?: string | undefined
  /** What a request costs the service is not the concern of its customers. */
  isCustomer?: boolean
  /** The heading of the table beside the errors. */
  title: string
  table: (requests: Requests) => ReactNode
  below?: (requests: Requests | undefined) => ReactNode
}

/** Requests over time, and by error. */
export function UsageReport({ endpoint, token, isCustomer, title, table, below }: UsageReportProps) {
  const [range, setRange] = useRange('_range')
  const requests = useQuery(queries.requests(range, endpoint, token))
  if (requests.data === null) return <StatisticsOff />
  const query = { ...requests, data: requests.data }
  return (
    <>
      <div className="tabs-line">
        <RangeChoice range={range} onChange={setRange} />
      </div>
      <div className={isCustomer ? 'parts two' : 'parts three'}>
        <RequestCharts
          query={query}
          range={range}
          percentiles={['p50', 'p95', 'p99']}
          hasHits={!isCustomer}
        />
      </div>
      <div className="parts two">
        <Part title={`${title} in the ${rangeWords(range)}`} query={query} height={120}>
          {table}
        </Part>
        <Part title={`Errors in the ${rangeWords(range)}`} query={query} height={120}>
          {(data) => <ErrorCodes requests={data} namesEndpoints={endpoint === undefined} />}
        </Part>
      </div>
      {below?.(query.data)}
    </>
  )
}
