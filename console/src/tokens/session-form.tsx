import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { queries } from '../api/queries.ts'
import type { Session, Token } from '../api/shapes.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { CheckField, SelectField, TextField } from '../ui/fields.tsx'
import { SnippetBox } from '../ui/snippets/snippet.tsx'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { hasRole, readScopes, writeScopes } from './token-permissions.ts'
import { TokenSecret } from './token-secret.tsx'

/** Creates a short-lived token for a browser, with the rights of the token or fewer. */
export function SessionForm({ token, onClose }: { token: Token; onClose: () => void }) {
  const [minutes, setMinutes] = useState('15')
  const [endpoint, setEndpoint] = useState('')
  const [project, setProject] = useState('')
  const [readsEntries, setReadsEntries] = useState(false)
  const zone = useZone()
  const { data: all = [] } = useQuery(queries.endpoints())
  const permissions = readScopes(token.scopes)
  const { admin, query, search, ingest, endpoints, sources, searched, others } = permissions
  const isRole = hasRole(permissions)
  // Sessions are for browsers of customers, so they never have a role of the team.
  const calls = isRole || query
  const isTenant = token.project !== null || project !== ''
  const callable = all.filter(
    ({ name, published }) =>
      calls && (endpoints.length === 0 || endpoints.includes(name)) && (published || !isTenant),
  )
  const isLimited = endpoint !== '' || isTenant
  const mayChooseEntries = isRole ? isLimited || !admin : search && (query || ingest)
  const entries = mayChooseEntries ? readsEntries : search
  const narrowed = {
    // An admin cannot be restricted to a project.
    admin: admin && !isLimited,
    query: calls,
    search: entries,
    read: false,
    edit: false,
    deploy: false,
    ingest: ingest && endpoint === '',
    endpoints: endpoint === '' ? endpoints : [endpoint],
    sources,
    searched,
    others: endpoint === '' ? others : [],
  }
  const create = useMutation({
    mutationFn: () =>
      api<Session>(`/api/access-tokens/${token.id}/session`, {
        body: {
          minutes: Number(minutes),
          scopes: writeScopes(narrowed),
          ...(project !== '' && { project }),
        },
      }),
    // The response contains the secret, which must not be cached.
    gcTime: 0,
  })
  const made = create.data
  if (made) {
    const link = `${location.origin}/embed/${encodeURIComponent(endpoint || '{endpoint}')}#token=${made.token}`
    return (
      <TokenSecret
        title="Browser session created"
        secret={made.token}
        note={`Copy it now; it is shown only once. It works until ${showInstant(Date.parse(made.expires_at), zone, 'seconds')}.`}
        onClose={onClose}
      >
        {calls && (
          <div className="field">
            <span className="label">Link to embed {endpoint || 'an endpoint'}</span>
            <SnippetBox label="Link to embed" text={link} />
            <span className="note">
              For an iframe in your page. Add values of parameters before the #: <code>?hours=24</code>.
            </span>
          </div>
        )}
      </TokenSecret>
    )
  }
  return (
    <FormDialog
      title="Create a browser session"
      action={create.isPending ? 'Creating …' : 'Create session'}
      disabled={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <p className="soft">
        A short-lived token for a browser, with the permissions of this token or fewer. Revoking this token
        ends it. Its requests count for this token.
      </p>
      <div className="form-grid">
        <TextField
          label="Minutes"
          type="number"
          min={1}
          max={720}
          required
          note="From 1 to 720."
          value={minutes}
          onChange={setMinutes}
        />
        {callable.length > 0 && (
          <SelectField
            label="Endpoint"
            value={endpoint}
            options={[['', 'All endpoints of the token'], ...callable.map(({ name }) => [name] as const)]}
            onChange={setEndpoint}
          />
        )}
      </div>
      {token.project === null && (
        <TextField
          label="Project"
          note="Restricts the session to entries of this project. Empty: no restriction."
          value={project}
          onChange={setProject}
        />
      )}
      {mayChooseEntries && (
        <CheckField
          label="Read log entries"
          note="Searches and follows whole entries. Off: the session gets only what endpoints return."
          checked={readsEntries}
          onChange={setReadsEntries}
        />
      )}
    </FormDialog>
  )
}
