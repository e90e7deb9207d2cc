import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api/queries.ts'
import type { Plan } from '../api/shapes.ts'
import { DeleteDialog } from '../definitions/delete-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { Breakable, Table } from '../ui/table.tsx'
import { PlanForm, planKind } from './plan-form.tsx'
import { limitsText } from './plan-limits.ts'

const columns = [['Plan'], ['Limits', 'optional'], ['', 'right']] as const

/** All plans with their limits. Admins create, change and delete them. */
export function PlansCard({ isAdmin }: { isAdmin: boolean }) {
  const query = useQuery(queries.plans())
  const [dialog, setDialog] = useState<['new'] | ['edit' | 'delete', Plan]>()
  const close = () => setDialog(undefined)
  const [action, plan] = dialog ?? []
  return (
    <Card
      title="Plans"
      aside={
        isAdmin && (
          <Button look="small" onClick={() => setDialog(['new'])}>
            New plan
          </Button>
        )
      }
    >
      <Loaded query={query} what="the plans" height={120}>
        {(plans) =>
          plans.length === 0 ? (
            <p className="card-body soft">No plans yet. Projects have no limits.</p>
          ) : (
            <Table columns={columns} className="plain">
              {plans.map((one) => (
                <tr key={one.id}>
                  <td className="any-break">
                    <Breakable text={one.name} />
                    <div className="under narrow-only">{limitsText(one)}</div>
                  </td>
                  <td className="optional">{limitsText(one)}</td>
                  <td className="right">
                    {isAdmin && (
                      <div className="actions">
                        <Button
                          look="small"
                          aria-label={`Edit plan ${one.name}`}
                          onClick={() => setDialog(['edit', one])}
                        >
                          Edit
                        </Button>
                        <Button
                          look="small danger"
                          aria-label={`Delete plan ${one.name}`}
                          onClick={() => setDialog(['delete', one])}
                        >
                          Delete
                        </Button>
                      </div>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {action === 'new' && <PlanForm onClose={close} />}
      {action === 'edit' && plan && <PlanForm plan={plan} onClose={close} />}
      {action === 'delete' && plan && (
        <DeleteDialog kind={{ ...planKind, page: 'projects' }} saved={plan} onClose={close}>
          <p>Projects that have it get the plan default.</p>
        </DeleteDialog>
      )}
    </Card>
  )
}
