import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { ContractChange, Source } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { pageOf } from '../definitions/definition.ts'
import { HidingDialog } from '../definitions/hiding-dialog.tsx'
import { breakingChanges, changeDefinition } from '../definitions/requests.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { CheckField, Form, TextField } from '../ui/fields.tsx'
import { Failure } from '../ui/states.tsx'
import { counted } from '../ui/text/format.ts'
import { nameProblem } from '../ui/text/names.ts'
import { sourceKind } from './source-kind.ts'

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
      navigate(pageOf(sourceKind, created.name))
    },
  })
  return (
    <FormDialog
      title="New source"
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
    </FormDialog>
  )
}

export function Retention({ source }: { source: Source }) {
  const [days, setDays] = useState(String(source.retention_days))
  const [changes, setChanges] = useState<readonly ContractChange[]>()
  const change = useMutation({
    mutationFn: (breaking: boolean) =>
      changeDefinition(
        sourceKind,
        source,
        { retention_days: Number(days) },
        breaking ? { breaking: 'true' } : {},
      ),
    onSuccess: () => {
      setChanges(undefined)
      invalidate('sources', 'usage')
    },
    onError: (error) => setChanges(breakingChanges(error)),
  })
  const error = breakingChanges(change.error) ? null : change.error
  if (!useMayChange('sources'))
    return <p>Entries are deleted after {counted(source.retention_days, 'day')}.</p>
  return (
    <>
      <Form className="row" onSubmit={() => change.mutate(false)}>
        <TextField {...retention} label="Days" value={days} onChange={setDays} />
        <Button type="submit" disabled={change.isPending || days === String(source.retention_days)}>
          {change.isPending ? 'Saving …' : 'Save'}
        </Button>
        {error && !changes && <Failure error={error} />}
      </Form>
      {changes && (
        <HidingDialog
          name={source.name}
          changes={changes}
          action="Save"
          isPending={change.isPending}
          error={error}
          onConfirm={() => change.mutate(true)}
          onClose={() => setChanges(undefined)}
        />
      )}
    </>
  )
}

export function SearchIndex({ source }: { source: Source }) {
  const change = useMutation({
    mutationFn: (search_index: boolean) => changeDefinition(sourceKind, source, { search_index }),
    onSuccess: () => invalidate('sources', 'usage'),
  })
  if (!useMayChange('sources')) {
    return <p>Words are {source.search_index ? 'found by an index' : 'searched without an index'}.</p>
  }
  return (
    <>
      <CheckField
        label="Index words"
        note="Makes searches for words fast. Switch it off for entries that are only counted: they then take less disk and time to store."
        checked={change.isPending ? change.variables : source.search_index}
        onChange={(checked) => change.mutate(checked)}
      />
      {change.error && <Failure error={change.error} />}
    </>
  )
}

export function Published({ source }: { source: Source }) {
  const change = useMutation({
    // Nothing is deleted, so unchecking the box is confirmation enough.
    mutationFn: (published: boolean) =>
      changeDefinition(sourceKind, source, { published }, published ? {} : { breaking: 'true' }),
    onSuccess: () => invalidate('sources'),
  })
  if (!useMayChange('sources')) {
    return <p>Tenants {source.published ? 'can' : 'cannot'} read its entries.</p>
  }
  return (
    <>
      <CheckField
        label="Published"
        note="Tokens with a project and the scope search read the entries of their project. Endpoints read the source in either case."
        checked={change.isPending ? change.variables : source.published}
        onChange={(checked) => change.mutate(checked)}
      />
      {change.error && <Failure error={change.error} />}
    </>
  )
}
