import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api/queries.ts'
import type { NewToken, Token } from '../api/shapes.ts'
import { ListPage } from '../definitions/list-page.tsx'
import { Choices } from '../ui/choices.tsx'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, counted } from '../ui/text/format.ts'
import { useZone, type Zone } from '../ui/text/instants.ts'
import { useAddress, useCreating } from '../ui/use-address.ts'
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
  const [address, setAddress] = useAddress()
  const [creating, setCreating] = useCreating()
  const [created, setCreated] = useState<NewToken>()
  const order = orders.find(([key]) => key === address.get('sort'))?.[0] ?? 'used'
  const all = query.data?.length ?? 0
  const zone = useZone()
  return (
    <ListPage
      title="Tokens"
      about="What each token is allowed to do. The admin token of the first start is not listed."
      create={['New token', () => setCreating(true)]}
      query={query}
      textOf={(token) => textOf(token, zone)}
      hint="description, project, permission or id"
      tools={
        <Choices
          label="Sort by"
          options={orders}
          value={order}
          onChange={(chosen) => setAddress({ sort: chosen === 'used' ? undefined : chosen }, 'replace')}
        />
      }
      empty={
        <Empty title="No tokens yet">
          <p>Create one for each application, with only the permissions it needs.</p>
        </Empty>
      }
      below={
        <>
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
        </>
      }
    >
      {(found) => (
        <>
          <Table columns={columns}>
            {sorted(found, order).map((token) => (
              <TokenRow key={token.id} token={token} />
            ))}
          </Table>
          <p className="faint" role="status">
            {found.length === all ? counted(all, 'token') : `${found.length} of ${counted(all, 'token')}`}
          </p>
        </>
      )}
    </ListPage>
  )
}

function textOf(token: Token, zone: Zone): string {
  const { id, description, scopes } = token
  return [id, description, ...scopes, ...restrictionsOf(token, zone), isExpired(token) ? 'expired' : ''].join(
    ' ',
  )
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
  const restrictions = restrictionsOf(token, useZone()).join(', ')
  return (
    <tr>
      <td>
        <div className="row">
          <NameLink href={`/console/tokens/${id}`} name={nameOf(token)} />
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
