import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { queries } from '../api/queries.ts'
import { edits } from '../api/rights.ts'
import type { Dashboard, Whoami } from '../api/shapes.ts'
import { DeleteDialog } from '../definitions/delete-dialog.tsx'
import { Versions } from '../definitions/versions.tsx'
import { DashboardView } from '../query/dashboard/dashboard-view.tsx'
import { Button } from '../ui/button.tsx'
import { Existing, PageHead } from '../ui/page-head.tsx'
import { Empty } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'
import { dashboardKind } from './dashboard-draft.ts'
import { DashboardEditor } from './dashboard-editor.tsx'
import { LinksDialog } from './links-dialog.tsx'

/** One dashboard: to look at, to change and to share. */
export default function DashboardPage({ who, name }: { who: Whoami; name: string }) {
  const query = useQuery(queries.dashboard(name))
  const [address, setAddress] = useAddress()
  const isEditing = address.has('_edit') && edits(who)
  return (
    <Existing query={query} kind={dashboardKind} name={name}>
      {(dashboard) =>
        isEditing ? (
          <DashboardEditor
            key={dashboard.id}
            dashboard={dashboard}
            who={who}
            onDone={() => setAddress({ _edit: undefined })}
          />
        ) : (
          <Shown dashboard={dashboard} who={who} />
        )
      }
    </Existing>
  )
}

function Shown({ dashboard, who }: { dashboard: Dashboard; who: Whoami }) {
  const [address, setAddress] = useAddress()
  const [open, setOpen] = useState<'delete' | 'links'>()
  const close = () => setOpen(undefined)
  const isEditor = edits(who)
  const hasVersions = address.get('_tab') === 'versions'
  const fixed = useMemo(() => who.parameters, [who.parameters])
  const { title, name, description, rows } = dashboard
  return (
    <div className="page">
      <PageHead
        title={title || name}
        actions={
          <>
            <Button onClick={() => window.print()}>Print</Button>
            {isEditor && <Button onClick={() => setOpen('links')}>Share</Button>}
            {who.role !== null && (
              <Button onClick={() => setAddress({ _tab: hasVersions ? undefined : 'versions' })}>
                {hasVersions ? 'Dashboard' : 'Versions'}
              </Button>
            )}
            {isEditor && (
              <>
                <Button look="danger" onClick={() => setOpen('delete')}>
                  Delete
                </Button>
                <Button look="primary" onClick={() => setAddress({ _edit: '1' })}>
                  Edit
                </Button>
              </>
            )}
          </>
        }
      >
        {description && <p>{description}</p>}
      </PageHead>
      {hasVersions ? (
        <Versions kind={dashboardKind} saved={dashboard} />
      ) : rows.length === 0 ? (
        <Empty title="No panels yet">
          <p>{isEditor ? 'Choose Edit, and add a panel from an endpoint.' : 'Nothing was added so far.'}</p>
        </Empty>
      ) : (
        <DashboardView
          dashboard={dashboard}
          address={address}
          onAddress={(changes) => setAddress(changes, 'replace')}
          fixed={fixed}
        />
      )}
      {open === 'delete' && (
        <DeleteDialog kind={dashboardKind} saved={dashboard} onClose={close}>
          <p>Its links and frames stop working.</p>
        </DeleteDialog>
      )}
      {open === 'links' && <LinksDialog dashboard={dashboard} onClose={close} />}
    </div>
  )
}
