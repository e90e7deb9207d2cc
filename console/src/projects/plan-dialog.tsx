import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, at } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Project } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { SelectField } from '../ui/fields.tsx'

interface PlanDialogProps {
  project: Project
  onClose: () => void
}

export function PlanDialog({ project: { project, plan: current }, onClose }: PlanDialogProps) {
  const { data = [] } = useQuery(queries.plans())
  const [plan, setPlan] = useState(current)
  const names = [...new Set(['default', current, ...data.map(({ name }) => name)])]
  const assign = useMutation({
    mutationFn: () => api(`/api/projects/${at(project)}`, { method: 'PUT', body: { plan } }),
    onSuccess: () => {
      onClose()
      invalidate('projects')
    },
  })
  return (
    <FormDialog
      title={`Plan of ${project}`}
      action="Set plan"
      disabled={assign.isPending}
      error={assign.error}
      onSubmit={() => assign.mutate()}
      onClose={onClose}
    >
      <p>A plan holds at once. Plans are created in a workspace, or with the API.</p>
      <SelectField label="Plan" value={plan} options={names.map((name) => [name])} onChange={setPlan} />
    </FormDialog>
  )
}
