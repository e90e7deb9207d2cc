import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { NewToken, Token } from '../api/shapes.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { ago } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { TokenForm } from './token-form.tsx'

const columns = [
  ['Token'],
  ['Permissions', 'optional'],
  ['Restrictions', 'optional'],
  ['Last used', 'optional'],
  ['Actions', 'right'],
] as const

export default function Tokens() {
  const query = useQuery(queries.tokens())
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<NewToken>()
  return (
    <div className="page">
      <PageHead
        title="Tokens"
        actions={
          <button type="button" className="button primary" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            New token
          </button>
        }
      >
        <p>What each token is allowed to do. The admin token of the first start is not listed.</p>
      </PageHead>
      <Loaded query={query} what="the tokens" height={240}>
        {(tokens) =>
          tokens.length === 0 ? (
            <Empty title="No tokens yet">
              <p>Create one for each application, with only the permissions it needs.</p>
            </Empty>
          ) : (
            <Table columns={columns}>
              {tokens.map((token) => (
                <TokenRow key={token.id} token={token} onCreated={setCreated} />
              ))}
            </Table>
          )
        }
      </Loaded>
      {creating && (
        <TokenForm
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false)
            setCreated(token)
          }}
        />
      )}
      {created && <Secret token={created} onClose={() => setCreated(undefined)} />}
    </div>
  )
}

/** Shows the secret once. It is in no cache of the page, so it is gone with the dialog. */
function Secret({ token, onClose }: { token: NewToken; onClose: () => void }) {
  const shown = useRef<HTMLParagraphElement>(null)
  const select = () => {
    if (shown.current) getSelection()?.selectAllChildren(shown.current)
  }
  return (
    <Dialog title={`Token ${token.description && `“${token.description}” `}created`} onClose={onClose}>
      <p>Copy it now. It is shown only once; the service stores only its hash.</p>
      <p className="secret" ref={shown}>
        {token.token}
      </p>
      <div className="dialog-foot">
        <CopyButton text={token.token} label="Copy token" onFailed={select} />
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function TokenRow({ token, onCreated }: { token: Token; onCreated: (token: NewToken) => void }) {
  const { id, description, scopes, project, parameters, expires_at, last_used_at } = token
  const [open, setOpen] = useState<'revoke' | 'rotate'>()
  const close = () => setOpen(undefined)
  const settled = () => {
    close()
    invalidate('tokens')
  }
  const revoke = useMutation({
    mutationFn: () => api(`/api/access-tokens/${id}`, { method: 'DELETE' }),
    onSuccess: settled,
  })
  const rotate = useMutation({
    mutationFn: () => api<NewToken>(`/api/access-tokens/${id}/rotate`, { body: {} }),
    onSuccess: (created) => {
      settled()
      onCreated(created)
    },
    gcTime: 0,
  })
  const permissions = scopes.join(', ')
  const restrictions = [
    ...(project === null ? [] : [`project ${project}`]),
    ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`),
    ...(token.requests_per_minute === null ? [] : [`${token.requests_per_minute} requests per minute`]),
    ...(expires_at === null ? [] : [`until ${expires_at.slice(0, 10)}`]),
  ].join(', ')
  const name = description || id.slice(0, 8)
  return (
    <tr>
      <td>
        <span className="name">{description || <span className="faint">no description</span>}</span>
        <div className="under mono">{id.slice(0, 8)}</div>
        <div className="under narrow-only">
          Permissions: {permissions}
          <br />
          Restrictions: {restrictions || 'none'}
          <br />
          Last used: {ago(last_used_at)}
        </div>
      </td>
      <td className="optional">{permissions}</td>
      <td className="optional">{restrictions || <span className="faint">none</span>}</td>
      <td className="optional" title={last_used_at ?? ''}>
        {ago(last_used_at)}
      </td>
      <td className="right tools">
        <button
          type="button"
          className="button small plain"
          aria-label={`Rotate ${name}`}
          onClick={() => setOpen('rotate')}
        >
          Rotate
        </button>{' '}
        <button
          type="button"
          className="button small danger"
          aria-label={`Revoke ${name}`}
          onClick={() => setOpen('revoke')}
        >
          Revoke
        </button>
        {open === 'revoke' && (
          <Confirm title={`Revoke ${name}?`} action="Revoke token" mutation={revoke} onClose={close}>
            <p>Requests with this token are rejected from now on.</p>
          </Confirm>
        )}
        {open === 'rotate' && (
          <Confirm title={`Rotate ${name}?`} action="Rotate token" mutation={rotate} onClose={close}>
            <p>Creates a new secret. The old secret keeps working for one day.</p>
          </Confirm>
        )}
      </td>
    </tr>
  )
}
