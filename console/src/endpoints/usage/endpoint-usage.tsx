import { useQuery } from '@tanstack/react-query'
import { queries } from '../../api/queries.ts'
import type { Requests } from '../../api/shapes.ts'
import { ZoneChoice } from '../../ui/choices.tsx'
import { ago, count } from '../../ui/format.ts'
import { Part } from '../../ui/part.tsx'
import { Table } from '../../ui/table.tsx'
import { Callers, descriptionsOf } from './callers.tsx'
import { ErrorHelp } from './error-help.tsx'
import { HitRatioChart, LatencyChart, RequestsChart, StatisticsOff } from './request-charts.tsx'
import { SlowRequests, toneOf } from './slow-requests.tsx'
import { RangeChoice, rangeWords, useRange } from './time-range.tsx'

/** How an endpoint is used, and which of its requests are slow or fail. */
export function EndpointUsage({ name }: { name: string }) {
  const [range, setRange] = useRange('_range')
  const requests = useQuery(queries.requests(range, name))
  const slow = useQuery(queries.slowCalls(name))
  if (requests.data === null) return <StatisticsOff />
  const query = { ...requests, data: requests.data }
  return (
    <>
      <div className="tabs-line">
        <RangeChoice range={range} onChange={setRange} />
        <ZoneChoice />
      </div>
      <div className="parts three">
        <RequestsChart query={query} range={range} />
        <LatencyChart query={query} range={range} percentiles={['p50', 'p95', 'p99']} />
        <HitRatioChart query={query} range={range} />
      </div>
      <div className="parts two">
        <Part title={`Callers in the ${rangeWords(range)}`} query={query} height={120}>
          {(data) => <Callers requests={data} />}
        </Part>
        <Part title={`Errors in the ${rangeWords(range)}`} query={query} height={120}>
          {(data) => <ErrorCodes requests={data} />}
        </Part>
      </div>
      <SlowRequests query={slow} callers={descriptionsOf(requests.data)} />
    </>
  )
}

function ErrorCodes({ requests: { codes } }: { requests: Requests }) {
  if (codes.length === 0) return <p className="card-body soft">No errors.</p>
  return (
    <Table columns={[['Code'], ['Requests', 'right'], ['Last', 'right']]}>
      {codes.map(({ code, status, requests, last_at }) => (
        <tr key={`${status} ${code}`}>
          <td>
            <span className={`badge ${toneOf(status)}`}>
              {status} {code}
            </span>
            <div className="under">
              <ErrorHelp code={code} />
            </div>
          </td>
          <td className="right">{count(requests)}</td>
          <td className="right">{ago(last_at)}</td>
        </tr>
      ))}
    </Table>
  )
}
