import type { Requests } from '../api/shapes.ts'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, count, counted, milliseconds } from '../ui/text/format.ts'

export type Descriptions = ReadonlyMap<string, string | null>

export function callerName(id: string, descriptions: Descriptions): string {
  return id === 'admin' ? 'Admin token' : descriptions.get(id) || id.slice(0, 8)
}

export function descriptionsOf(requests: Requests | null | undefined): Descriptions {
  return new Map(requests?.callers.map(({ token_id, description }) => [token_id, description]))
}

const columns = [
  ['Caller'],
  ['Requests', 'right'],
  ['Errors', 'right optional'],
  ['p95', 'right optional'],
  ['Last request', 'right optional'],
] as const

/** Tokens by their number of requests. */
export function Callers({ requests }: { requests: Requests }) {
  const names = descriptionsOf(requests)
  if (requests.callers.length === 0) return <p className="card-body soft">No requests.</p>
  return (
    <Table columns={columns}>
      {requests.callers.slice(0, 10).map(({ token_id: id, requests: n, errors, p95_ms, last_at }) => (
        <tr key={id}>
          <td>
            {id === 'admin' ? (
              callerName(id, names)
            ) : (
              <NameLink href={`/console/tokens/${id}`} name={callerName(id, names)} />
            )}
            <div className="under narrow-only">
              {errors > 0 && `${counted(errors, 'error')} · `}p95 {milliseconds(p95_ms)} · {ago(last_at)}
            </div>
          </td>
          <td className="right">{count(n)}</td>
          <td className="right optional">{count(errors)}</td>
          <td className="right optional">{milliseconds(p95_ms)}</td>
          <td className="right optional">{ago(last_at)}</td>
        </tr>
      ))}
    </Table>
  )
}
