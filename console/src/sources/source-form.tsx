import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../api/api.ts'
import type { Source } from '../api/api-types.ts'
import { queryClient } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/states.tsx'

export function NewSource({ onClose }: { onClose: () => void }) {
  const id = useId()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  const create = useMutation({
    mutationFn: () => api<Source>('/api/sources', { body: { name, retention_days: Number(days) } }),
    onSuccess: (made) => {
      queryClient.invalidateQueries({ queryKey: ['sources'] })
      queryClient.invalidateQueries({ queryKey: ['usage'] })
      navigate(`/console/sources/${made.name}`)
    },
  })
  return (
    <Dialog title="New source" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate()
        }}
      >
        <div className="field">
          <label htmlFor={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            className="input mono"
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <span className="note">
            Small letters, digits and _, beginning with a letter. It is the name of the table in SQL.
          </span>
        </div>
        <div className="field">
          <label htmlFor={`${id}-days`}>Keep entries, days</label>
          <input
            id={`${id}-days`}
            className="input"
            inputMode="numeric"
            required
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </div>
        {create.error && <Failure error={create.error} />}
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={create.isPending || name === ''}>
            Create source
          </button>
        </div>
      </form>
    </Dialog>
  )
}

export function Retention({ source }: { source: Source }) {
  const id = useId()
  const [days, setDays] = useState(String(source.retention_days))
  const change = useMutation({
    mutationFn: () =>
      api<Source>(`/api/sources/${source.name}`, { method: 'PATCH', body: { retention_days: Number(days) } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['sources'] }),
  })
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault()
        change.mutate()
      }}
    >
      <div className="field">
        <label htmlFor={id}>Keep entries, days</label>
        <input
          id={id}
          className="input"
          inputMode="numeric"
          value={days}
          onChange={(event) => setDays(event.target.value)}
        />
      </div>
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
