import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { invalidate } from '../api/queries.ts'
import type { ContractChange, Plan } from '../api/shapes.ts'
import { HidingDialog } from '../definitions/hiding-dialog.tsx'
import { breakingChanges, changeDefinition, createDefinition } from '../definitions/requests.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'

export const planKind = { one: 'plan', path: 'plans' }

const limits = [
  ['retention_days', 'Days of entries', 'How far back customers see their entries.'],
  ['requests_per_minute', 'Requests per minute', 'Over all tokens of a project.'],
  ['entries_per_day', 'Entries per day', 'Per project and UTC day.'],
  ['bytes_per_day', 'Bytes per day', 'Per project and UTC day.'],
] as const

type Limit = (typeof limits)[number][0]

/** Creates a plan, or changes the limits of one. */
export function PlanForm({ plan, onClose }: { plan?: Plan; onClose: () => void }) {
  const [name, setName] = useState(plan?.name ?? '')
  const [texts, setTexts] = useState<Record<Limit, string>>(() => {
    const fields = limits.map(([field]) => [field, String(plan?.[field] ?? '')])
    return Object.fromEntries(fields) as Record<Limit, string>
  })
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const save = useMutation({
    mutationFn: (breaking: boolean) => {
      const fields = limits.map(([field]) => [field, texts[field] === '' ? null : Number(texts[field])])
      const body = Object.fromEntries(fields)
      return plan
        ? changeDefinition<Plan>(planKind, plan, body, breaking ? { breaking: 'true' } : {})
        : createDefinition<Plan>(planKind, { name, ...body }, breaking)
    },
    onSuccess: () => {
      onClose()
      invalidate('plans', 'projects')
    },
    onError: (error) => setChanges(breakingChanges(error)),
  })
  const error = breakingChanges(save.error) ? null : save.error
  if (changes) {
    return (
      <HidingDialog
        name={plan?.name ?? name}
        changes={changes}
        action={plan ? 'Save' : 'Create plan'}
        isPending={save.isPending}
        error={error}
        onConfirm={() => save.mutate(true)}
        onClose={() => setChanges(undefined)}
      />
    )
  }
  return (
    <FormDialog
      title={plan ? `Edit plan ${plan.name}` : 'New plan'}
      action={plan ? 'Save' : 'Create plan'}
      disabled={save.isPending || name === ''}
      error={error}
      onSubmit={() => save.mutate(false)}
      onClose={onClose}
    >
      {!plan && (
        <TextField
          label="Name"
          note="Such as free or pro. The plan default is for projects without another plan."
          value={name}
          onChange={setName}
        />
      )}
      <div className="form-grid">
        {limits.map(([field, label, note]) => (
          <TextField
            key={field}
            label={label}
            note={note}
            inputMode="numeric"
            placeholder="No limit"
            value={texts[field]}
            onChange={(text) => {
              if (/^\d{0,15}$/.test(text)) setTexts({ ...texts, [field]: text })
            }}
          />
        ))}
      </div>
      {plan && <p>The limits take effect immediately for all projects with this plan.</p>}
    </FormDialog>
  )
}
