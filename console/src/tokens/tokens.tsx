import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { NewToken, Token } from '../api/shapes.ts'
import { Choices } from '../ui/choices.tsx'
import { ago, counted } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { useAddress } from '../ui/use-address.ts'
import { useCreating } from '../ui/use-creating.ts'
import { nameOf } from './token-actions.tsx'
import { NewTokenForm } from './token-form.tsx'
import { isExpired, restrictionsOf } from './token-permissions.ts'
import { TokenSecret } from './token-secret.tsx'

const columns = [
  ['Token'],
  ['Permissions', 'optional'],
  ['Restrictions', 'optional'],
  ['Last used', 'optional right'],
] as const

const orders = [
  ['used', 'Last used'],
  ['name', 'Name'],
  ['created', 'Newest'],
] as const

type Order = (typeof orders)[number][0]

export default function Tokens() {
  const query = useQuery(queries.tokens())
  const [creating, setCreating] = useCreating()
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
            <TokenList tokens={tokens} />
          )
        }
      </Loaded>
      {creating && (
        <NewTokenForm
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false)
            setCreated(token)
          }}
        />
      )}
      {created && (
        <TokenSecret
          title={`Token ${created.description && `“${created.description}” `}created`}
          secret={created.token}
          note="Copy it now. It is shown only once; the service stores only its hash."
          onClose={() => setCreated(undefined)}
        />
      )}
    </div>
  )
}

function TokenList({ tokens }: { tokens: readonly Token[] }) {
  const [address, setAddress] = useAddress()
  const search = address.get('q') ?? ''
  const order = orders.find(([key]) => key === address.get('sort'))?.[0] ?? 'used'
  // Keeps typing fast: the rows follow when there is time.
  const deferred = useDeferredValue(search)
  const found = sorted(matching(tokens, deferred), order)
  return (
    <>
      <div className="tabs-line token-tools">
        <input
          className="input"
          type="search"
          placeholder="Search by description, project, permission or id"
          aria-label="Search tokens"
          value={search}
          onChange={(event) => setAddress({ q: event.target.value }, 'replace')}
        />
        <Choices
          label="Sort by"
          options={orders}
          value={order}
          onChange={(chosen) => setAddress({ sort: chosen === 'used' ? undefined : chosen }, 'replace')}
        />
      </div>
      {found.length === 0 ? (
        <Empty title={`Nothing matches “${deferred}”`}>Try fewer words.</Empty>
      ) : (
        <Table columns={columns}>
          {found.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </Table>
      )}
      <p className="faint" role="status">
        {found.length === tokens.length
          ? counted(tokens.length, 'token')
          : `${found.length} of ${counted(tokens.length, 'token')}`}
      </p>
    </>
  )
}

function matching(tokens: readonly Token[], search: string): readonly Token[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return tokens.filter((token) => {
    const { id, description, scopes } = token
    const parts = [
      id,
      description,
      ...scopes,
      ...restrictionsOf(token),
      ...(isExpired(token) ? ['expired'] : []),
    ]
    const text = parts.join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

const byName = new Intl.Collator('en', { numeric: true })

function sorted(tokens: readonly Token[], order: Order): Token[] {
  const keyOf = (token: Token) => (order === 'used' ? token.last_used_at : token.created_at) ?? ''
  return tokens.toSorted((one, other) =>
    order === 'name'
      ? byName.compare(nameOf(one), nameOf(other))
      : keyOf(other).localeCompare(keyOf(one)) || byName.compare(nameOf(one), nameOf(other)),
  )
}

function TokenRow({ token }: { token: Token }) {
  const { id, description, scopes, last_used_at } = token
  const permissions = scopes.join(', ')
  const restrictions = restrictionsOf(token).join(', ')
  return (
    <tr>
      <td>
        <div className="row">
          <Link className="name" href={`/console/tokens/${id}`}>
            {nameOf(token)}
          </Link>
          {isExpired(token) && <span className="badge warn">expired</span>}
        </div>
        {description && <div className="under mono">{id.slice(0, 8)}</div>}
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
      <td className="optional right" title={last_used_at ?? ''}>
        {ago(last_used_at)}
      </td>
    </tr>
  )
}
