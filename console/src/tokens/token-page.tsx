import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { hasFeature } from '../api/features.ts'
import { queries } from '../api/queries.ts'
import type { Token } from '../api/shapes.ts'
import { RequestReport } from '../statistics/request-report.tsx'
import { type Fact, Facts } from '../ui/facts.tsx'
import { Card, Existing, PageHead } from '../ui/page-head.tsx'
import { SnippetTabs } from '../ui/snippets/snippet.tsx'
import { agentSnippets } from '../ui/snippets/snippets.ts'
import { ago, count } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { nameOf, TokenActions } from './token-actions.tsx'
import { isExpired } from './token-permissions.ts'

/** One token: what it is allowed to do, and its requests. */
export default function TokenPage({ id }: { id: string }) {
  const query = useQuery(queries.token(id))
  const [, navigate] = useLocation()
  return (
    <Existing query={query} kind={{ one: 'token', path: 'tokens' }} name={id}>
      {(token) => (
        <div className="page">
          <PageHead
            title={nameOf(token)}
            badge={isExpired(token) && <span className="badge warn">expired</span>}
            actions={<TokenActions token={token} onRevoked={() => navigate('/console/tokens')} />}
          >
            <p className="mono">{token.id}</p>
          </PageHead>
          <TokenFacts token={token} />
          <RequestReport token={token.id} />
          {hasFeature('mcp') && token.scopes.some((scope) => !scope.startsWith('ingest')) && (
            <AgentConnection />
          )}
        </div>
      )}
    </Existing>
  )
}

/** A secret is shown only once, so the snippets have a placeholder. */
function AgentConnection() {
  return (
    <Card title="Connect an agent">
      <div className="card-body">
        <p>
          Agents use the endpoints that this token can request as tools, and search entries if it can read
          them.
        </p>
        <SnippetTabs label="Connect with" snippets={agentSnippets(location.origin)} />
        <p className="soft">
          Set <code>WELLHEAD_TOKEN</code> to this token where the agent runs, and give each agent a token of
          its own.
        </p>
      </div>
    </Card>
  )
}

function TokenFacts({ token }: { token: Token }) {
  const { scopes, project, parameters, requests_per_minute, expires_at, last_used_at, last_used_from } = token
  const zone = useZone()
  const at = (iso: string) => showInstant(Date.parse(iso), zone, 'seconds')
  const { data: tokens = [] } = useQuery(queries.tokens())
  const maker = tokens.find(({ id }) => id === token.created_by)
  const restrictions = [
    ...(project === null ? [] : [`project ${project}`]),
    ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`),
  ]
  const facts: Fact[] = [
    ['Permissions', scopes.join(', ')],
    ['Restrictions', restrictions.join(', ') || 'none'],
    ['Requests per minute', requests_per_minute === null ? 'no limit' : count(requests_per_minute)],
    ['Expires', expires_at === null ? 'never' : at(expires_at)],
    [
      'Last used',
      last_used_at === null
        ? 'never'
        : `${ago(last_used_at)} (${at(last_used_at)})${last_used_from === null ? '' : ` from ${last_used_from}`}`,
    ],
    [
      'Created',
      <>
        {at(token.created_at)}
        {maker ? (
          <>
            {' by '}
            <Link href={`/console/tokens/${maker.id}`}>{nameOf(maker)}</Link>
          </>
        ) : (
          token.created_by !== null && ` by ${token.created_by_name ?? token.created_by}`
        )}
      </>,
    ],
    ...(token.previous_valid_until !== null
      ? [['Old secret works until', at(token.previous_valid_until)] as Fact]
      : []),
  ]
  return <Facts className="card card-body" facts={facts} />
}
