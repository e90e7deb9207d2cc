import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'
import { ago } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { useAddress } from '../ui/use-address.ts'
import { isMuted, StateBadge } from './alert-badges.tsx'
import { AlertForm, type AlertStart } from './alert-form.tsx'

const columns = [
  ['Alert'],
  ['State'],
  ['Value', 'right'],
  ['Condition', 'optional'],
  ['Evaluated', 'optional right'],
] as const

/** Firing alerts first. */
const order = ['firing', 'failing', 'pending', 'ok']

export default function Alerts() {
  const query = useQuery(queries.alerts())
  const [address, setAddress] = useAddress()
  const [creating, setCreating] = useState(false)
  const start = startOf(address)
  const close = () => {
    setCreating(false)
    setAddress({ endpoint: undefined, when: undefined, parameters: undefined }, 'replace')
  }
  return (
    <div className="page">
      <PageHead
        title="Alerts"
        actions={
          <button type="button" className="button primary" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            New alert
          </button>
        }
      >
        <p>Endpoints that are evaluated at intervals, and who is notified.</p>
      </PageHead>
      <Loaded query={query} what="the alerts" height={240}>
        {(alerts) =>
          alerts.length === 0 ? (
            <Empty title="No alerts yet">
              <p>Create one here, or with “Alert on this” beside the result of an endpoint.</p>
            </Empty>
          ) : (
            <Table columns={columns}>
              {alerts
                .toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
                .map((alert) => (
                  <AlertRow key={alert.id} alert={alert} />
                ))}
            </Table>
          )
        }
      </Loaded>
      {(creating || start) && <AlertForm {...(start && { start })} onClose={close} onSaved={close} />}
    </div>
  )
}

/** What “Alert on this” puts into the address. */
function startOf(address: URLSearchParams): AlertStart | undefined {
  const endpoint = address.get('endpoint')
  if (endpoint === null) return undefined
  return {
    endpoint,
    when: address.get('when') ?? 'rows > 0',
    parameters: parametersIn(address.get('parameters')),
  }
}

function parametersIn(text: string | null): Record<string, string> {
  try {
    const read: unknown = JSON.parse(text ?? '{}')
    return Object.fromEntries(Object.entries(read ?? {}).map(([name, value]) => [name, String(value)]))
  } catch {
    return {}
  }
}

function AlertRow({ alert }: { alert: Alert }) {
  const { name, value, when, endpoint, evaluated_at, error } = alert
  return (
    <tr>
      <td>
        <Link className="name" href={`/console/alerts/${encodeURIComponent(name)}`}>
          {name}
        </Link>
        <div className="under">{endpoint}</div>
      </td>
      <td>
        <div className="row">
          <StateBadge alert={alert} />
          {isMuted(alert) && <span className="badge">muted</span>}
        </div>
        {error !== null && <div className="under">{error}</div>}
      </td>
      <td className="right">{value ?? '–'}</td>
      <td className="optional mono">{when}</td>
      <td className="optional right">{ago(evaluated_at)}</td>
    </tr>
  )
}
