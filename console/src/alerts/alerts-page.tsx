import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { pageOf } from '../definitions/definition.ts'
import { ListPage } from '../definitions/list-page.tsx'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago } from '../ui/text/format.ts'
import { useAddress, useCreating } from '../ui/use-address.ts'
import { isMuted, StateBadge } from './alert-badges.tsx'
import { type AlertDraft, alertKind } from './alert-draft.ts'
import { AlertForm } from './alert-form.tsx'

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
  const mayChange = useMayChange()
  const query = useQuery(queries.alerts())
  const [address, setAddress] = useAddress()
  const [creating, setCreating] = useCreating()
  const start = startOf(address)
  const close = () =>
    setAddress({ _new: undefined, endpoint: undefined, when: undefined, parameters: undefined }, 'replace')
  return (
    <ListPage
      title="Alerts"
      about="Endpoints that are evaluated at intervals, and who is notified."
      create={mayChange ? ['New alert', () => setCreating(true)] : undefined}
      query={query}
      textOf={({ name, description, endpoint, state }) => `${name} ${description} ${endpoint} ${state}`}
      hint="name, description, endpoint or state"
      empty={
        <Empty title="No alerts yet">
          <p>Create one here, or with “Alert on this” beside the result of an endpoint.</p>
        </Empty>
      }
      below={
        mayChange &&
        (creating || start) && <AlertForm {...(start && { start })} onClose={close} onSaved={close} />
      }
    >
      {(alerts) => (
        <Table columns={columns}>
          {alerts
            .toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
            .map((alert) => (
              <AlertRow key={alert.id} alert={alert} />
            ))}
        </Table>
      )}
    </ListPage>
  )
}

/** What “Alert on this” puts into the address. */
function startOf(address: URLSearchParams): Partial<AlertDraft> | undefined {
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
        <NameLink href={pageOf(alertKind, name)} name={name} />
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
