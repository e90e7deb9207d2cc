import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api } from '../api/api.ts'
import type { Token } from '../api/api-types.ts'
import { queries, queryClient } from '../api/queries.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { ago } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Failure, Loaded } from '../ui/states.tsx'
import { TokenForm } from './token-form.tsx'

export default function Tokens() {
  const query = useQuery(queries.tokens())
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<Token>()
  return (
    <div className="page">
      <PageHead
        title="Tokens"
        actions={
          <button type="button" className="button primary" onClick={() => setMaking(true)}>
            <Icon name="plus" />
            New token
          </button>
        }
      >
        <p>Who may call and send what. The admin token of the first start is not in the list.</p>
      </PageHead>
      <Loaded query={query} what="the tokens" height={240}>
        {(tokens) =>
          tokens.length === 0 ? (
            <Empty title="No tokens yet">
              <p>Give each caller and each sender one of its own, with no more than it needs.</p>
            </Empty>
          ) : (
            <List tokens={tokens} onMade={setMade} />
          )
        }
      </Loaded>
      {making && (
        <TokenForm
          onClose={() => setMaking(false)}
          onMade={(token) => {
            setMaking(false)
            setMade(token)
          }}
        />
      )}
      {made && <Secret token={made} onClose={() => setMade(undefined)} />}
    </div>
  )
}

/** The one time that the secret is shown. It is in no cache of the page, so it is gone with the dialog. */
function Secret({ token, onClose }: { token: Token; onClose: () => void }) {
  const shown = useRef<HTMLParagraphElement>(null)
  const select = () => {
    if (shown.current) getSelection()?.selectAllChildren(shown.current)
  }
  return (
    <Dialog title={`Token ${token.description && `“${token.description}” `}is ready`} onClose={onClose}>
      <p>Copy it now. It is shown this once; the service keeps only its hash.</p>
      <p className="secret" ref={shown}>
        {token.token}
      </p>
      <div className="dialog-foot">
        <CopyButton text={token.token ?? ''} label="Copy the token" onFailed={select} />
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function List({ tokens, onMade }: { tokens: readonly Token[]; onMade: (token: Token) => void }) {
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Token</th>
            <th scope="col" className="optional">
              May
            </th>
            <th scope="col" className="optional">
              Only
            </th>
            <th scope="col" className="optional">
              Last use
            </th>
            <th scope="col">
              <span className="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <Line key={token.id} token={token} onMade={onMade} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Line({ token, onMade }: { token: Token; onMade: (token: Token) => void }) {
  const { id, description, scopes, project, parameters, expires_at, last_used_at, requests_per_minute } =
    token
  const [asking, setAsking] = useState<'revoke' | 'rotate'>()
  const settled = () => {
    setAsking(undefined)
    queryClient.invalidateQueries({ queryKey: ['tokens'] })
  }
  const revoke = useMutation({
    mutationFn: () => api(`/api/access-tokens/${id}`, { method: 'DELETE' }),
    onSuccess: settled,
  })
  const rotate = useMutation({
    mutationFn: () => api<Token>(`/api/access-tokens/${id}/rotate`, { body: {} }),
    onSuccess: (made) => {
      settled()
      onMade(made)
    },
    gcTime: 0,
  })
  const only = [
    ...(project === null ? [] : [`project ${project}`]),
    ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`),
    ...(requests_per_minute === null ? [] : [`${requests_per_minute} a minute`]),
    ...(expires_at === null ? [] : [`until ${expires_at.slice(0, 10)}`]),
  ]
  const name = description || id.slice(0, 8)
  return (
    <tr>
      <td>
        <span className="name">{description || <span className="faint">no description</span>}</span>
        <div className="under mono">{id.slice(0, 8)}</div>
        <div className="under narrow-only">
          May {scopes.join(', ')}
          <br />
          {only.length > 0 ? `Only ${only.join(', ')}` : 'No limit'}
          <br />
          {last_used_at === null ? 'Never used' : `Used ${ago(last_used_at)}`}
        </div>
      </td>
      <td className="optional">{scopes.join(', ')}</td>
      <td className="optional">{only.join(', ') || <span className="faint">no limit</span>}</td>
      <td className="optional" title={last_used_at ?? ''}>
        {ago(last_used_at)}
      </td>
      <td className="right tools">
        <button
          type="button"
          className="button small plain"
          aria-label={`Rotate ${name}`}
          onClick={() => setAsking('rotate')}
        >
          Rotate
        </button>{' '}
        <button
          type="button"
          className="button small danger"
          aria-label={`Revoke ${name}`}
          onClick={() => setAsking('revoke')}
        >
          Revoke
        </button>
        {asking === 'revoke' && (
          <Confirm
            title={`Revoke ${name}?`}
            action="Revoke the token"
            busy={revoke.isPending}
            onConfirm={() => revoke.mutate()}
            onClose={() => setAsking(undefined)}
          >
            <p>Whoever uses it is refused from the next request on.</p>
            {revoke.error && <Failure error={revoke.error} />}
          </Confirm>
        )}
        {asking === 'rotate' && (
          <Confirm
            title={`Rotate ${name}?`}
            action="Give it a new secret"
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate()}
            onClose={() => setAsking(undefined)}
          >
            <p>The old secret goes on working for a day.</p>
            {rotate.error && <Failure error={rotate.error} />}
          </Confirm>
        )}
      </td>
    </tr>
  )
}
