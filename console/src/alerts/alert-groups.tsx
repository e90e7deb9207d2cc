import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { Button } from '../ui/button.tsx'
import { Empty, Failure, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { isMuted, StateBadge } from './alert-badges.tsx'
import { bySeverity, keyOf } from './group-order.ts'

const hourMs = 3_600_000
const columns = [['Group'], ['State'], ['Value', 'right'], ['Since'], ['Mute']] as const

/** The groups of an alert, each with its state. */
export function AlertGroups({ alert }: { alert: Alert }) {
  const query = useQuery(queries.alertGroups(alert.name))
  const zone = useZone()
  const mayChange = useMayChange()
  const mute = useMutation({
    mutationFn: ({ id, until }: { id: string; until: string | null }) =>
      api(`/api/alerts/${alert.id}/groups/${id}/mute`, { method: 'POST', body: { until } }),
    onSuccess: () => invalidate('alerts'),
  })
  return (
    <section className="stack">
      <h2>Groups by {alert.by.join(', ')}</h2>
      {mute.error && <Failure error={mute.error} />}
      {(alert.groups_left_out ?? 0) > 0 && (
        <p role="status">{alert.groups_left_out} more groups are not evaluated.</p>
      )}
      <Loaded query={query} what="groups" height={120}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty title="No groups yet">They appear after an evaluation that returned rows.</Empty>
          ) : (
            <Table label="Groups" columns={columns}>
              {bySeverity(groups).map((group) => {
                const { id, key, state, value, since, muted_until } = group
                const until = isMuted({ muted_until }) ? null : new Date(Date.now() + hourMs).toISOString()
                return (
                  <tr key={id}>
                    <td className="mono any-break">{keyOf(key)}</td>
                    <td>
                      <StateBadge alert={{ state, enabled: true }} />
                    </td>
                    <td className="right">{value ?? ''}</td>
                    <td className="nowrap">{showInstant(Date.parse(since), zone, 'seconds')}</td>
                    <td>
                      {mayChange && (
                        <Button disabled={mute.isPending} onClick={() => mute.mutate({ id, until })}>
                          {until === null ? 'Unmute' : 'Mute for an hour'}
                        </Button>
                      )}
                    </td>
                  </tr>
                )
              })}
            </Table>
          )
        }
      </Loaded>
    </section>
  )
}
