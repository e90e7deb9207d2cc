import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Dashboard, NewDashboardLink, Parameters } from '../api/shapes.ts'
import { ParameterForm } from '../query/run/parameter-form.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog, DialogForm } from '../ui/dialog.tsx'
import { CheckField, TextField } from '../ui/fields.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { ago } from '../ui/text/format.ts'
import { fromLocalInput, showDay, useZone } from '../ui/text/instants.ts'

const columns = [['Project'], ['Fixed', 'optional'], ['Expires'], ['Created', 'optional'], ['']] as const

/** Parameters that a link can fix, all of them optional: viewers choose the others. The project is a field of its own. */
function fixableOf({ parameters }: Dashboard): Parameters {
  const own = Object.entries(parameters).filter(([name]) => name !== 'project')
  return Object.fromEntries(
    own.map(([name, { default: _, required: _required, ...parameter }]) => [name, parameter]),
  )
}

/** Links that open the dashboard without signing in. */
export function LinksDialog({ dashboard, onClose }: { dashboard: Dashboard; onClose: () => void }) {
  const path = `/api/dashboards/${at(dashboard.name)}/links`
  const query = useQuery(queries.dashboardLinks(dashboard.name))
  const zone = useZone()
  const [project, setProject] = useState('')
  const [isForAll, setForAll] = useState(false)
  const [expires, setExpires] = useState('')
  const [parameters, setParameters] = useState<Record<string, string>>({})
  const create = useMutation({
    mutationFn: () => {
      const endMs = fromLocalInput(expires && `${expires}T23:59:59`, zone)
      const expires_at = endMs === undefined ? null : new Date(endMs).toISOString()
      const scope = isForAll ? { all_projects: true } : { project }
      return api<NewDashboardLink>(path, { body: { ...scope, parameters, expires_at } })
    },
    onSuccess: () => invalidate('dashboard-links'),
    // The response contains a secret, which must not be cached.
    gcTime: 0,
  })
  const fixable = fixableOf(dashboard)
  const end = useMutation({
    mutationFn: (id: string) => api(`${path}/${at(id)}`, { method: 'DELETE' }),
    onSuccess: () => invalidate('dashboard-links'),
  })
  return (
    <Dialog title={`Share ${dashboard.title || dashboard.name}`} isWide onClose={onClose}>
      <p>
        Anyone with a link sees the dashboard without signing in. A link ends with the token or person that
        created it.
      </p>
      {create.data && (
        <div className="note-box stack" role="status">
          <p>Copy the link now. It is not shown again.</p>
          <p className="mono">{create.data.url}</p>
          <CopyButton text={create.data.url} label="Copy link" />
        </div>
      )}
      <Loaded query={query} what="the links">
        {(links) =>
          links.length === 0 ? (
            <p className="faint">No links yet.</p>
          ) : (
            <Table label="Links" columns={columns}>
              {links.map(({ id, project: of, parameters, expires_at, created_at }) => (
                <tr key={id}>
                  <td>{of ?? 'all projects'}</td>
                  <td className="optional mono">
                    {Object.entries(parameters)
                      .map((pair) => pair.join('='))
                      .join(' ')}
                  </td>
                  <td>{showDay(expires_at, zone)}</td>
                  <td className="optional">{ago(created_at)}</td>
                  <td className="right">
                    <Button look="small danger" disabled={end.isPending} onClick={() => end.mutate(id)}>
                      End link
                    </Button>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {end.error && <Failure error={end.error} />}
      <DialogForm
        action="Create link"
        disabled={create.isPending || (!isForAll && project === '')}
        error={create.error}
        onSubmit={() => create.mutate()}
        onClose={onClose}
      >
        <div className="form-grid">
          <TextField label="Project" value={project} disabled={isForAll} onChange={setProject} />
          <TextField label="Expires on" type="date" value={expires} onChange={setExpires} />
        </div>
        <CheckField label="Show all projects" checked={isForAll} onChange={setForAll} />
        {Object.keys(fixable).length > 0 && (
          <fieldset className="field">
            <legend>Fixed parameters</legend>
            <span className="note">
              People with the link cannot change them. They choose those that are not set.
            </span>
            <div className="form-grid">
              <ParameterForm
                parameters={fixable}
                values={parameters}
                seenAt={() => undefined}
                onChange={(name, value) => {
                  const { [name]: _, ...others } = parameters
                  setParameters(value === undefined ? others : { ...others, [name]: value })
                }}
              />
            </div>
          </fieldset>
        )}
      </DialogForm>
    </Dialog>
  )
}
