import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Requests } from '../api/shapes.ts'
import { ErrorHelp } from '../endpoints/usage/error-help.tsx'
import {
  HitRatioChart,
  LatencyChart,
  RequestsChart,
  StatisticsOff,
} from '../endpoints/usage/request-charts.tsx'
import { RangeChoice, rangeWords, useRange } from '../endpoints/usage/time-range.tsx'
import { ZoneChoice } from '../ui/choices.tsx'
import { ago, count, counted, milliseconds, percent } from '../ui/format.ts'
import { Part } from '../ui/part.tsx'
import { Breakable, Table } from '../ui/table.tsx'

/** Requests over time, by endpoint and by error: of one token, or of everything that the own token can see. */
export function RequestReport({ token }: { token?: string }) {
  const [range, setRange] = useRange('_range')
  const requests = useQuery(queries.requests(range, undefined, token))
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
        <Part title={`Endpoints in the ${rangeWords(range)}`} query={query} height={120}>
          {(data) => <ByEndpoint requests={data} />}
        </Part>
        <Part title={`Errors in the ${rangeWords(range)}`} query={query} height={120}>
          {(data) => <ByError requests={data} />}
        </Part>
      </div>
    </>
  )
}

const endpointColumns = [
  ['Endpoint'],
  ['Requests', 'right'],
  ['Errors', 'right optional'],
  ['p95', 'right optional'],
  ['Cache hits', 'right optional'],
] as const

function ByEndpoint({ requests: { endpoints } }: { requests: Requests }) {
  if (endpoints.length === 0) return <p className="card-body soft">No requests.</p>
  return (
    <Table columns={endpointColumns} className="plain">
      {endpoints.map(({ endpoint, requests, errors, hits, p95_ms }) => (
        <tr key={endpoint}>
          <td>
            <EndpointName name={endpoint} />
            <div className="under narrow-only">
              {errors > 0 && `${counted(errors, 'error')} · `}p95 {milliseconds(p95_ms)}
            </div>
          </td>
          <td className="right">{count(requests)}</td>
          <td className="right optional">{count(errors)}</td>
          <td className="right optional">{milliseconds(p95_ms)}</td>
          <td className="right optional">{percent(requests > 0 ? hits / requests : null)}</td>
        </tr>
      ))}
    </Table>
  )
}

const errorColumns = [['Error'], ['Requests', 'right'], ['Last', 'right']] as const

function ByError({ requests: { codes } }: { requests: Requests }) {
  if (codes.length === 0) return <p className="card-body soft">No errors.</p>
  return (
    <Table columns={errorColumns} className="plain">
      {codes.map(({ code, status, endpoint, requests, last_at }) => (
        <tr key={`${status} ${code} ${endpoint}`}>
          <td>
            <span className={`badge ${status >= 500 ? 'bad' : 'warn'}`}>
              {status} {code}
            </span>{' '}
            <EndpointName name={endpoint} />
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

function EndpointName({ name }: { name: string }) {
  return (
    <Link className="name" href={`/console/endpoints/${encodeURIComponent(name)}`}>
      <Breakable text={name} />
    </Link>
  )
}
