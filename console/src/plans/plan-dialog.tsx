import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { ContractChange, Project } from '../api/shapes.ts'
import { HidingDialog } from '../definitions/hiding-dialog.tsx'
import { breakingChanges } from '../definitions/requests.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { SelectField } from '../ui/fields.tsx'
import { limitsText } from './plan-limits.ts'

interface PlanDialogProps {
  project: Pick<Project, 'project' | 'plan'>
  onClose: () => void
}

/** Sets the plan. The service refuses one that hides entries until somebody confirms it. */
export function PlanDialog({ project: { project, plan: current }, onClose }: PlanDialogProps) {
  const { data = [] } = useQuery(queries.plans())
  const [plan, setPlan] = useState(current)
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const names = [...new Set(['default', current, ...data.map(({ name }) => name)])]
  const assign = useMutation({
    mutationFn: (breaking: boolean) =>
      api(`/api/projects/${at(project)}${breaking ? '?breaking=true' : ''}`, {
        method: 'PUT',
        body: { plan },
      }),
    onSuccess: () => {
      onClose()
      invalidate('projects')
    },
    onError: (error) => setChanges(breakingChanges(error)),
  })
  if (changes) {
    return (
      <HidingDialog
        name={project}
        changes={changes}
        action="Set plan"
        isPending={assign.isPending}
        error={breakingChanges(assign.error) ? null : assign.error}
        onConfirm={() => assign.mutate(true)}
        onClose={() => setChanges(undefined)}
      />
    )
  }
  return (
    <FormDialog
      title={`Plan of ${project}`}
      action="Set plan"
      disabled={assign.isPending}
      error={breakingChanges(assign.error) ? null : assign.error}
      onSubmit={() => assign.mutate(false)}
      onClose={onClose}
    >
      <SelectField
        label="Plan"
        value={plan}
        options={names.map((name) => [name])}
        note={limitsText(data.find(({ name }) => name === plan))}
        onChange={setPlan}
      />
      <p>A plan takes effect immediately.</p>
    </FormDialog>
  )
}
