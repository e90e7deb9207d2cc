import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { parameterNames } from '../api/parameter-names.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { NewToken, Token } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { CheckField, TextField } from '../ui/fields.tsx'
import { fromLocalInput, toLocalInput, useZone, type Zone } from '../ui/text/instants.ts'
import { type Pair, readPairs } from './fixed-parameters.ts'
import { FixedParametersFields } from './fixed-parameters-fields.tsx'
import { NameChoices } from './name-choices.tsx'
import { hasRole, kinds, readScopes, writeScopes } from './token-permissions.ts'

interface NewTokenFormProps {
  onClose: () => void
  onCreated: (token: NewToken) => void
}

export function NewTokenForm({ onClose, onCreated }: NewTokenFormProps) {
  const create = useMutation({
    mutationFn: (body: Fields) => api<NewToken>('/api/access-tokens', { body }),
    onSuccess: (created) => {
      invalidate('tokens')
      onCreated(created)
    },
    // The response contains the secret, which must not be cached.
    gcTime: 0,
  })
  return (
    <TokenForm
      title="New token"
      action={create.isPending ? 'Creating …' : 'Create token'}
      mutation={create}
      onClose={onClose}
    />
  )
}

/** The secret does not change. */
export function EditTokenForm({ token, onClose }: { token: Token; onClose: () => void }) {
  const save = useMutation({
    // Only what was changed, so that somebody else's change of another field stays.
    mutationFn: (fields: Fields) =>
      api(`/api/access-tokens/${token.id}`, { method: 'PATCH', body: changesOf(token, fields) }),
    onSuccess: () => {
      invalidate('tokens')
      onClose()
    },
  })
  return (
    <TokenForm
      title={`Edit ${token.description || token.id.slice(0, 8)}`}
      token={token}
      action={save.isPending ? 'Saving …' : 'Save'}
      mutation={save}
      onClose={onClose}
    />
  )
}

type Fields = Pick<
  Token,
  'description' | 'scopes' | 'project' | 'parameters' | 'expires_at' | 'requests_per_minute'
>

function changesOf(token: Token, fields: Fields): Partial<Fields> {
  const changed = Object.entries(fields).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(token[name as keyof Fields]),
  )
  return Object.fromEntries(changed)
}

interface TokenFormProps {
  title: string
  action: string
  /** The token to begin with. */
  token?: Token
  mutation: { isPending: boolean; error: Error | null; mutate: (fields: Fields) => void }
  onClose: () => void
}

function TokenForm({ title, action, token, mutation, onClose }: TokenFormProps) {
  const [permissions, setPermissions] = useState(() => readScopes(token?.scopes ?? ['query']))
  // The zone in which the form was opened: another one would shift the time that it shows.
  const [zone] = useState(useZone())
  const [fields, setFields] = useState(() => textsOf(token, zone))
  const [pairs, setPairs] = useState<Pair[]>(() => pairsOf(token))
  const [showProblem, setShowProblem] = useState(false)
  const fixed = readPairs(pairs)
  // A new token asks for a project, so that nobody gives away all of them by accident.
  const [isLimited, setLimited] = useState(token === undefined || token.project !== null)
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const { data: sources = [] } = useQuery(queries.sources())
  const { data: tokens = [] } = useQuery(queries.tokens())
  const projects = new Set(tokens.flatMap((one) => one.project ?? []))
  const { admin: isAdmin, query, search, ingest } = permissions
  // A role is never limited.
  const isRole = hasRole(permissions)
  const callable = endpoints.filter(
    ({ name }) => permissions.endpoints.length === 0 || permissions.endpoints.includes(name),
  )
  const fixable = new Set(callable.flatMap(parameterNames).filter((name) => name !== 'project'))
  const submit = () => {
    setShowProblem(fixed.problem !== undefined)
    if (fixed.problem && !isRole) return
    const expires = fromLocalInput(fields.expires, zone)
    // A field that was not touched keeps what it does not show: fractions of a second.
    const isSameTime = fields.expires === textsOf(token, zone).expires
    mutation.mutate({
      description: fields.description,
      scopes: writeScopes(permissions),
      project: isRole || !isLimited ? null : fields.project,
      parameters: (!isRole && fixed.parameters) || {},
      expires_at: isSameTime
        ? (token?.expires_at ?? null)
        : expires === undefined
          ? null
          : new Date(expires).toISOString(),
      requests_per_minute: fields.limit === '' ? null : Number(fields.limit),
    })
  }
  const text = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (value: string) => setFields({ ...fields, [name]: value }),
  })
  const namesOf = (all: readonly { name: string }[]) => all.map(({ name }) => name)
  return (
    <FormDialog
      title={title}
      action={action}
      disabled={mutation.isPending}
      error={mutation.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Description" placeholder="status board" {...text('description')} />
      <fieldset className="field">
        <legend>Permissions</legend>
        {kinds.map(
          ([kind, label, note]) =>
            (kind === 'admin' || !isAdmin) && (
              <CheckField
                key={kind}
                label={label}
                note={note}
                checked={permissions[kind]}
                onChange={(checked) => setPermissions({ ...permissions, [kind]: checked })}
              />
            ),
        )}
      </fieldset>
      <div className="form-grid">
        {query && !isAdmin && (
          <NameChoices
            label="Endpoints"
            all="All endpoints"
            names={namesOf(endpoints)}
            chosen={permissions.endpoints}
            onChange={(chosen) => setPermissions({ ...permissions, endpoints: chosen })}
          />
        )}
        {search && !isAdmin && (
          <NameChoices
            label="Entries to read"
            all="All sources"
            names={namesOf(sources)}
            chosen={permissions.searched}
            onChange={(chosen) => setPermissions({ ...permissions, searched: chosen })}
          />
        )}
        {ingest && !isAdmin && (
          <NameChoices
            label="Sources"
            all="All sources"
            names={namesOf(sources)}
            chosen={permissions.sources}
            onChange={(chosen) => setPermissions({ ...permissions, sources: chosen })}
          />
        )}
      </div>
      {!isRole && (
        <>
          <CheckField
            label="One project only"
            note="Without it, the token reaches the entries of every project."
            checked={isLimited}
            onChange={setLimited}
          />
          {isLimited && <TextField label="Project" required list="token-projects" {...text('project')} />}
          <datalist id="token-projects">
            {[...projects].map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <FixedParametersFields
            pairs={pairs}
            names={[...fixable]}
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
          step={1}
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
    </FormDialog>
  )
}

function textsOf(token: Token | undefined, zone: Zone) {
  return {
    description: token?.description ?? '',
    project: token?.project ?? '',
    expires: token?.expires_at ? toLocalInput(Date.parse(token.expires_at), zone) : '',
    limit: token?.requests_per_minute?.toString() ?? '',
  }
}

function pairsOf(token: Token | undefined): Pair[] {
  const pairs = Object.entries(token?.parameters ?? {}).map(([name, value]) => ({ name, value }))
  return pairs.length > 0 ? pairs : [{ name: '', value: '' }]
}
