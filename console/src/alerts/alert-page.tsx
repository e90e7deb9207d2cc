import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Alert, AlertTest } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { pageOf } from '../definitions/definition.ts'
import { DeleteDialog } from '../definitions/delete-dialog.tsx'
import { Versions } from '../definitions/versions.tsx'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { type Fact, Facts } from '../ui/facts.tsx'
import { Existing, PageHead } from '../ui/page-head.tsx'
import { Empty, Failure, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { ago, counted, seconds } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { useAddress } from '../ui/use-address.ts'
import { isMuted, StateBadge } from './alert-badges.tsx'
import { alertKind, type Target } from './alert-draft.ts'
import { AlertForm } from './alert-form.tsx'
import { AlertGroups } from './alert-groups.tsx'
import { AlertOutcome } from './alert-preview.tsx'
import { keyOf } from './group-order.ts'

const hourMs = 3_600_000

interface Event extends Pick<Alert, 'state' | 'value'> {
  kind: 'state' | 'groups' | 'delivery' | 'dropped'
  /** Of a group. */
  key?: Record<string, unknown>
  groups_left_out?: number
  changes_left_out?: number
  previous_state?: string
  type?: string
  target?: Target['type']
  target_key?: string
  host?: string
  status?: number | null
  error?: string | null
  response?: string
}

const tabs = [
  ['events', 'What happened'],
  ['versions', 'Versions'],
] as const

/** One alert: its state, what can be done with it, what happened, and its versions. */
export default function AlertPage({ name }: { name: string }) {
  const query = useQuery(queries.alert(name))
  const mayChange = useMayChange()
  const [address, setAddress] = useAddress()
  const tab = address.get('_tab') === 'versions' ? 'versions' : 'events'
  return (
    <Existing query={query} kind={alertKind} name={name}>
      {(alert) => (
        <div className="page">
          <PageHead
            title={alert.name}
            badge={<StateBadge alert={alert} />}
            actions={<AlertActions alert={alert} />}
          >
            {alert.description && <p>{alert.description}</p>}
          </PageHead>
          <AlertFacts alert={alert} />
          {alert.by.length > 0 && <AlertGroups alert={alert} />}
          {mayChange && <AlertOutcome alert={alert} />}
          <Choices
            label="Part of the alert"
            options={tabs}
            value={tab}
            onChange={(chosen) => setAddress({ _tab: chosen === 'events' ? undefined : chosen })}
          />
          {tab === 'versions' ? <Versions kind={alertKind} saved={alert} /> : <AlertEvents alert={alert} />}
        </div>
      )}
    </Existing>
  )
}

const targetNames = { slack: 'Slack', webhook: 'Webhook', email: 'Email' }

/** Where a notification was sent: the target as it is listed above, or what is known of one that was removed. */
function targetOf({ target = 'webhook', target_key: key, host }: Event, { notify }: Alert): string {
  const saved = notify.find((one) => one.key === key)
  return `${targetNames[target]} ${saved?.url ?? saved?.to ?? host}`
}

function AlertFacts({ alert }: { alert: Alert }) {
  const { endpoint, parameters, when, value, since, evaluated_at, error, muted_until } = alert
  const zone = useZone()
  const values = Object.entries(parameters).map(([key, text]) => `${key}=${text}`)
  const facts: Fact[] = [
    ['Condition', when],
    ['Value', value === null ? 'none' : String(value)],
    ['State since', showInstant(Date.parse(since), zone, 'seconds')],
    ['Evaluated', `${ago(evaluated_at)}, every ${seconds(alert.every_seconds)}`],
    ['Holds for', seconds(alert.for_seconds)],
    ['Repeats', alert.repeat_seconds === null ? 'never' : `after ${seconds(alert.repeat_seconds)}`],
    ...(isMuted(alert)
      ? [['Muted until', showInstant(Date.parse(muted_until ?? ''), zone, 'seconds')] as Fact]
      : []),
    ...alert.notify.map(
      ({ type, url, to, switched_off: isOff }): Fact => [
        targetNames[type],
        `${url ?? to}${isOff ? ' (switched off: it responded 410)' : ''}`,
      ],
    ),
  ]
  return (
    <>
      {error !== null && <Failure error={new Error(error)} />}
      <p>
        <Link href={`/console/endpoints/${encodeURIComponent(endpoint)}`}>{endpoint}</Link>{' '}
        <span className="mono">{values.join(' ')}</span>
      </p>
      <Facts facts={facts} />
    </>
  )
}

function AlertActions({ alert }: { alert: Alert }) {
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const [, navigate] = useLocation()
  const mayChange = useMayChange()
  const path = `/api/alerts/${alert.id}`
  const close = () => setOpen(undefined)
  const change = useMutation({
    mutationFn: (body: Partial<Alert>) => api(path, { method: 'PATCH', body }),
    onSuccess: () => invalidate('alerts'),
  })
  const test = useMutation({
    mutationFn: (notify: boolean) => api<AlertTest>(`${path}/test?notify=${notify}`, { method: 'POST' }),
    onSuccess: () => invalidate('alerts'),
  })
  const mute = isMuted(alert) ? null : new Date(Date.now() + hourMs).toISOString()
  const failure = change.error ?? test.error
  const actions: [string, () => void][] = [
    [mute === null ? 'Unmute' : 'Mute for an hour', () => change.mutate({ muted_until: mute })],
    ['Test now', () => test.mutate(false)],
    ...(alert.notify.length > 0 ? [['Send a test', () => test.mutate(true)] as [string, () => void]] : []),
    [alert.enabled ? 'Disable' : 'Enable', () => change.mutate({ enabled: !alert.enabled })],
    ['Edit', () => setOpen('edit')],
  ]
  if (!mayChange) return null
  return (
    <>
      {actions.map(([label, act]) => (
        <Button key={label} disabled={test.isPending} onClick={act}>
          {label}
        </Button>
      ))}
      <Button look="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      <p className="cost" role="status">
        {test.data && tested(test.data)}
      </p>
      {failure && <Failure error={failure} />}
      {open === 'edit' && (
        <AlertForm
          alert={alert}
          onClose={close}
          onSaved={(next) => {
            close()
            if (next.name !== alert.name) navigate(pageOf(alertKind, next.name))
          }}
        />
      )}
      {open === 'delete' && (
        <DeleteDialog kind={alertKind} saved={alert} onClose={close}>
          <p>If it fires, it is resolved. Its past stays in the source alert_events.</p>
        </DeleteDialog>
      )}
    </>
  )
}

function tested({ state, value, deliveries = [] }: AlertTest): string {
  const sent = deliveries.map(
    ({ type, url, to, status, error }) => `${targetNames[type]} ${url ?? to}: ${status ?? error}`,
  )
  return [`Now ${state}${value === null ? '' : `, value ${value}`}.`, ...sent].join(' ')
}

function textOf(event: Event, alert: Alert): string {
  const { kind, type, host, groups_left_out = 0, changes_left_out = 0 } = event
  if (changes_left_out > 0) return `${counted(changes_left_out, 'more group')} changed`
  if (kind === 'groups') return `${counted(groups_left_out, 'group')} not evaluated`
  return `${type} ${host ? `to ${targetOf(event, alert)}` : 'dropped'}`
}

const eventColumns = [['Time'], ['What happened'], ['Value', 'right'], ['Response', 'optional']] as const

/** State changes with the values that decided, and deliveries with their responses. */
function AlertEvents({ alert }: { alert: Alert }) {
  const query = useQuery(queries.alertEvents(alert.id))
  const zone = useZone()
  return (
    <Loaded query={query} what="what happened" height={240}>
      {(events) =>
        events.length === 0 ? (
          <Empty title="Nothing happened yet">Changes of the state and deliveries appear here.</Empty>
        ) : (
          <Table label="Events" columns={eventColumns}>
            {events.map(({ id: key, timestamp, metadata }) => {
              const event = metadata as unknown as Event
              const { kind, state, previous_state, value, status, error, response } = event
              const isState = kind === 'state'
              return (
                <tr key={key}>
                  <td className="nowrap">{showInstant(timestamp / 1000, zone, 'seconds')}</td>
                  <td className="event">
                    {isState ? (
                      <>
                        <StateBadge alert={{ state, enabled: true }} />{' '}
                        {event.key && <span className="mono any-break">{keyOf(event.key)}</span>}
                      </>
                    ) : (
                      textOf(event, alert)
                    )}
                    <div className="under">{isState ? `was ${previous_state}` : (status ?? error)}</div>
                  </td>
                  <td className="right">{value ?? ''}</td>
                  <td className="optional">{isState ? error : response}</td>
                </tr>
              )
            })}
          </Table>
        )
      }
    </Loaded>
  )
}
