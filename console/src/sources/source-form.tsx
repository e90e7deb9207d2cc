import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Source } from '../api/shapes.ts'
import { Dialog, DialogForm } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { nameProblem } from '../ui/names.ts'
import { Failure } from '../ui/states.tsx'

const retention = { label: 'Retention, days', inputMode: 'numeric', required: true } as const

export function NewSource({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  const { data: sources } = useQuery(queries.sources())
  const problem = nameProblem('source', name, sources)
  const create = useMutation({
    mutationFn: () => api<Source>('/api/sources', { body: { name, retention_days: Number(days) } }),
    onSuccess: (created) => {
      invalidate('sources', 'usage')
      navigate(`/console/sources/${created.name}`)
    },
  })
  return (
    <Dialog title="New source" onClose={onClose}>
      <DialogForm
        action="Create source"
        disabled={create.isPending || name === '' || problem !== ''}
        error={create.error}
        onSubmit={() => create.mutate()}
        onClose={onClose}
      >
        <TextField
          label="Name"
          note="Lowercase letters, digits and _, starting with a letter. It is the table name in SQL."
          problem={problem}
          className="mono"
          required
          value={name}
          onChange={setName}
        />
        <TextField {...retention} value={days} onChange={setDays} />
      </DialogForm>
    </Dialog>
  )
}

export function Retention({ source }: { source: Source }) {
  const [days, setDays] = useState(String(source.retention_days))
  const change = useMutation({
    mutationFn: () =>
      api<Source>(`/api/sources/${source.name}`, { method: 'PATCH', body: { retention_days: Number(days) } }),
    onSuccess: () => invalidate('sources'),
  })
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault()
        change.mutate()
      }}
    >
      <TextField {...retention} label="Days" value={days} onChange={setDays} />
      <button
        type="submit"
        className="button"
        disabled={change.isPending || days === String(source.retention_days)}
      >
        {change.isPending ? 'Saving …' : 'Save'}
      </button>
      {change.error && <Failure error={change.error} />}
    </form>
  )
}
