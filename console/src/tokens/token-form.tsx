import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { NewToken } from '../api/shapes.ts'
import { Dialog, DialogForm } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { fromLocalInput } from '../ui/instants.ts'
import { type Pair, readPairs } from './fixed-parameters.ts'
import { FixedParametersFields } from './fixed-parameters-fields.tsx'

const kinds = [
  ['query', 'Query endpoints'],
  ['ingest', 'Send logs'],
  ['both', 'Query endpoints and send logs'],
  ['admin', 'Everything (admin)'],
] as const

interface TokenFormProps {
  onClose: () => void
  onCreated: (token: NewToken) => void
}

export function TokenForm({ onClose, onCreated }: TokenFormProps) {
  const [kind, setKind] = useState<(typeof kinds)[number][0]>('query')
  const [endpoint, setEndpoint] = useState('')
  const [source, setSource] = useState('')
  const [fields, setFields] = useState({ description: '', project: '', expires: '', limit: '' })
  const [pairs, setPairs] = useState<Pair[]>([{ name: '', value: '' }])
  const [showProblem, setShowProblem] = useState(false)
  const fixed = readPairs(pairs)
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const { data: sources = [] } = useQuery(queries.sources())
  const isAdmin = kind === 'admin'
  const canQuery = kind === 'query' || kind === 'both'
  const canIngest = kind === 'ingest' || kind === 'both'
  const create = useMutation({
    mutationFn: () => {
      const expires = fromLocalInput(fields.expires)
      return api<NewToken>('/api/access-tokens', {
        body: {
          description: fields.description,
          scopes: [
            ...(isAdmin ? ['admin'] : []),
            ...(canQuery ? [endpoint === '' ? 'query' : `query:${endpoint}`] : []),
            ...(canIngest ? [source === '' ? 'ingest' : `ingest:${source}`] : []),
          ],
          ...(!isAdmin && fields.project !== '' && { project: fields.project }),
          ...(!isAdmin && fixed.parameters && { parameters: fixed.parameters }),
          ...(expires !== undefined && { expires_at: new Date(expires).toISOString() }),
          ...(fields.limit !== '' && { requests_per_minute: Number(fields.limit) }),
        },
      })
    },
    onSuccess: (created) => {
      invalidate('tokens')
      onCreated(created)
    },
    // The response contains the secret, which must not be cached.
    gcTime: 0,
  })
  const callable = endpoints.filter(({ name }) => endpoint === '' || name === endpoint)
  const parameterNames = [...new Set(callable.flatMap(({ parameters }) => Object.keys(parameters)))].filter(
    (name) => name !== 'project',
  )
  const submit = () => {
    const isWrong = !isAdmin && fixed.problem !== undefined
    setShowProblem(isWrong)
    if (!isWrong) create.mutate()
  }
  const text = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (value: string) => setFields({ ...fields, [name]: value }),
  })
  const named = (all: readonly { name: string }[]) => all.map(({ name }) => [name] as const)
  return (
    <Dialog title="New token" onClose={onClose}>
      <DialogForm
        action={create.isPending ? 'Creating …' : 'Create token'}
        disabled={create.isPending}
        error={create.error}
        onSubmit={submit}
        onClose={onClose}
      >
        <TextField label="Description" placeholder="status board" {...text('description')} />
        <div className="form-grid">
          <SelectField label="Permissions" value={kind} options={kinds} onChange={setKind} />
          {canQuery && (
            <SelectField
              label="Endpoint"
              value={endpoint}
              options={[['', 'All endpoints'], ...named(endpoints)]}
              onChange={setEndpoint}
            />
          )}
          {canIngest && (
            <SelectField
              label="Source"
              value={source}
              options={[['', 'All sources'], ...named(sources)]}
              onChange={setSource}
            />
          )}
        </div>
        {!isAdmin && (
          <>
            <TextField
              label="Project"
              note="Limits the token to entries of this project. Empty: no limit."
              {...text('project')}
            />
            <FixedParametersFields
              pairs={pairs}
              names={parameterNames}
              problem={showProblem ? fixed.problem : undefined}
              onChange={setPairs}
            />
          </>
        )}
        <div className="form-grid">
          <TextField
            label="Expires at"
            note="Empty: never expires."
            type="datetime-local"
            {...text('expires')}
          />
          <TextField
            label="Requests per minute"
            note="Empty: no limit."
            inputMode="numeric"
            pattern="[0-9]*"
            {...text('limit')}
          />
        </div>
      </DialogForm>
    </Dialog>
  )
}
