import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { invalidate, queries } from '../api/queries.ts'
import { edits } from '../api/rights.ts'
import type { Dashboard, Whoami } from '../api/shapes.ts'
import { pageOf } from '../definitions/definition.ts'
import { ListPage } from '../definitions/list-page.tsx'
import { createDefinition } from '../definitions/requests.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, counted } from '../ui/text/format.ts'
import { useCreating } from '../ui/use-address.ts'
import { dashboardKind, newDashboard } from './dashboard-draft.ts'

const columns = [['Dashboard'], ['Panels', 'right'], ['Changed', 'optional right']] as const

export default function DashboardList({ who }: { who: Whoami }) {
  const query = useQuery(queries.dashboards())
  const [creating, setCreating] = useCreating()
  const isEditor = edits(who)
  return (
    <ListPage
      title="Dashboards"
      about="Several endpoints on one page."
      create={isEditor ? ['New dashboard', () => setCreating(true)] : undefined}
      query={query}
      textOf={({ name, title, description }) => `${name} ${title} ${description}`}
      hint="name, title or description"
      empty={
        <Empty title="No dashboards yet">
          <p>{isEditor ? 'Create one, and add panels from endpoints.' : 'None is shared with this token.'}</p>
        </Empty>
      }
      below={creating && isEditor && <NewDashboard onClose={() => setCreating(false)} />}
    >
      {(dashboards) => (
        <Table columns={columns}>
          {dashboards.map(({ id, name, title, description, rows, updated_at }) => (
            <tr key={id}>
              <td>
                <NameLink href={pageOf(dashboardKind, name)} name={name} />
                <div className="under">{[title, description].filter(Boolean).join(' · ')}</div>
              </td>
              <td className="right">{counted(rows.flatMap(({ items }) => items).length, 'item')}</td>
              <td className="optional right">{ago(updated_at)}</td>
            </tr>
          ))}
        </Table>
      )}
    </ListPage>
  )
}

function NewDashboard({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [title, setTitle] = useState('')
  const [, navigate] = useLocation()
  const create = useMutation({
    mutationFn: () => createDefinition<Dashboard>(dashboardKind, { ...newDashboard, name, title }),
    onSuccess: (made) => {
      invalidate('dashboards', 'whoami')
      navigate(`${pageOf(dashboardKind, made.name)}?_edit=1`)
    },
  })
  return (
    <FormDialog
      title="New dashboard"
      action="Create dashboard"
      disabled={create.isPending || name === ''}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        note="In addresses and scopes: letters, digits, dots, dashes."
        value={name}
        onChange={setName}
      />
      <TextField label="Title" value={title} onChange={setTitle} />
    </FormDialog>
  )
}
