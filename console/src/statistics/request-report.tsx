import type { Requests } from '../api/shapes.ts'
import { Table } from '../ui/table.tsx'
import { count, counted, milliseconds, percent } from '../ui/text/format.ts'
import { EndpointName } from './error-codes.tsx'
import { UsageReport } from './usage-report.tsx'

/** Requests over time, by endpoint and by error: of one token, or of everything that the own token can see. */
export function RequestReport({ token, isCustomer = false }: { token?: string; isCustomer?: boolean }) {
  return (
    <UsageReport
      token={token}
      title="Endpoints"
      isCustomer={isCustomer}
      table={(requests) => <ByEndpoint requests={requests} isCustomer={isCustomer} />}
    />
  )
}

const endpointColumns = [
  ['Endpoint'],
  ['Requests', 'right'],
  ['Errors', 'right optional'],
  ['p95', 'right optional'],
] as const
const adminColumns = [...endpointColumns, ['Cache hits', 'right optional']] as const

function ByEndpoint({ requests: { endpoints }, isCustomer }: { requests: Requests; isCustomer: boolean }) {
  if (endpoints.length === 0) return <p className="card-body soft">No requests.</p>
  return (
    <Table columns={isCustomer ? endpointColumns : adminColumns} className="plain">
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
          {!isCustomer && (
            <td className="right optional">{percent(requests > 0 ? hits / requests : null)}</td>
          )}
        </tr>
      ))}
    </Table>
  )
}
