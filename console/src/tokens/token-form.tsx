import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { api } from '../api/api.ts'
import type { Token } from '../api/api-types.ts'
import { queries, queryClient } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { fromLocalInput } from '../ui/instants.ts'
import { Failure } from '../ui/states.tsx'
import { type Pair, readPairs } from './fixed-parameters.ts'
import { FixedParametersFields } from './fixed-parameters-fields.tsx'

type Kind = 'query' | 'ingest' | 'both' | 'admin'

export function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: (token: Token) => void }) {
  const id = useId()
  const [kind, setKind] = useState<Kind>('query')
  const [endpoint, setEndpoint] = useState('')
  const [source, setSource] = useState('')
  const [fields, setFields] = useState({ description: '', project: '', expires: '', limit: '' })
  const [pairs, setPairs] = useState<Pair[]>([{ name: '', value: '' }])
  const [showProblem, setShowProblem] = useState(false)
  const fixed = readPairs(pairs)
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const { data: sources = [] } = useQuery(queries.sources())
  const isAdmin = kind === 'admin'
  const scopes = isAdmin
    ? ['admin']
    : [
        ...(kind === 'ingest' ? [] : [endpoint === '' ? 'query' : `query:${endpoint}`]),
        ...(kind === 'query' ? [] : [source === '' ? 'ingest' : `ingest:${source}`]),
      ]
  const create = useMutation({
    mutationFn: () => {
      const expires = fromLocalInput(fields.expires)
      return api<Token>('/api/access-tokens', {
        body: {
          description: fields.description,
          scopes,
          ...(!isAdmin && fields.project !== '' && { project: fields.project }),
          ...(!isAdmin && fixed.parameters && { parameters: fixed.parameters }),
          ...(expires !== undefined && { expires_at: new Date(expires).toISOString() }),
          ...(fields.limit !== '' && { requests_per_minute: Number(fields.limit) }),
        },
      })
    },
    onSuccess: (made) => {
      queryClient.invalidateQueries({ queryKey: ['tokens'] })
      onMade(made)
    },
    // The answer holds the secret, and nothing here keeps it.
    gcTime: 0,
  })
  const callable = endpoints.filter(({ name }) => endpoint === '' || name === endpoint)
  const parameterNames = [...new Set(callable.flatMap(({ parameters }) => Object.keys(parameters)))].filter(
    (name) => name !== 'project',
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const isWrong = !isAdmin && fixed.problem !== undefined
    setShowProblem(isWrong)
    if (!isWrong) create.mutate()
  }
  const text = (name: keyof typeof fields, label: string, more: Record<string, unknown> = {}, note = '') => (
    <div className="field">
      <label htmlFor={`${id}-${name}`}>{label}</label>
      <input
        id={`${id}-${name}`}
        className="input"
        value={fields[name]}
        onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
        {...more}
      />
      {note && <span className="note">{note}</span>}
    </div>
  )
  return (
    <Dialog title="New token" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {text('description', 'What it is for', { placeholder: 'status board' })}
        <div className="form-grid">
          <div className="field">
            <label htmlFor={`${id}-kind`}>May</label>
            <select
              id={`${id}-kind`}
              className="input"
              value={kind}
              onChange={(event) => setKind(event.target.value as Kind)}
            >
              <option value="query">Call endpoints</option>
              <option value="ingest">Send logs</option>
              <option value="both">Call endpoints and send logs</option>
              <option value="admin">Everything (admin)</option>
            </select>
          </div>
          {(kind === 'query' || kind === 'both') && (
            <div className="field">
              <label htmlFor={`${id}-endpoint`}>Endpoint</label>
              <select
                id={`${id}-endpoint`}
                className="input"
                value={endpoint}
                onChange={(event) => setEndpoint(event.target.value)}
              >
                <option value="">Every endpoint</option>
                {endpoints.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </div>
          )}
          {(kind === 'ingest' || kind === 'both') && (
            <div className="field">
              <label htmlFor={`${id}-source`}>Source</label>
              <select
                id={`${id}-source`}
                className="input"
                value={source}
                onChange={(event) => setSource(event.target.value)}
              >
                <option value="">Every source</option>
                {sources.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </div>
          )}
        </div>
        {!isAdmin && (
          <>
            {text(
              'project',
              'Project',
              {},
              'Then it sees and sends entries of this project only, whatever it calls.',
            )}
            <FixedParametersFields
              pairs={pairs}
              names={parameterNames}
              problem={showProblem ? fixed.problem : undefined}
              onChange={setPairs}
            />
          </>
        )}
        <div className="form-grid">
          {text('expires', 'Valid until', { type: 'datetime-local' }, 'Empty: until it is revoked.')}
          {text(
            'limit',
            'Requests a minute',
            { inputMode: 'numeric', pattern: '[0-9]*' },
            'Empty: no limit.',
          )}
        </div>
        {create.error && <Failure error={create.error} />}
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={create.isPending}>
            {create.isPending ? 'Making …' : 'Create token'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
