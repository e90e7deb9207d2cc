import type { Requests } from '../api/shapes.ts'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, count } from '../ui/text/format.ts'
import { ErrorHelp } from './error-help.tsx'

const columns = [['Error'], ['Requests', 'right'], ['Last', 'right']] as const

/** The color of a status: failed or refused. */
export const toneOf = (status: number): string => (status >= 500 ? 'bad' : status >= 400 ? 'warn' : '')

interface ErrorCodesProps {
  requests: Requests
  /** For requests to several endpoints. */
  namesEndpoints: boolean
}

export function ErrorCodes({ requests: { codes }, namesEndpoints }: ErrorCodesProps) {
  if (codes.length === 0) return <p className="card-body soft">No errors.</p>
  return (
    <Table columns={columns} className="plain">
      {codes.map(({ code, status, endpoint, requests, last_at }) => (
        <tr key={`${status} ${code} ${endpoint}`}>
          <td>
            <span className={`badge ${toneOf(status)}`}>
              {status} {code}
            </span>{' '}
            {namesEndpoints && <EndpointName name={endpoint} />}
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

export function EndpointName({ name }: { name: string }) {
  return <NameLink href={`/console/endpoints/${encodeURIComponent(name)}`} name={name} />
}
