import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { send } from '../api/api.ts'
import { useSession } from '../api/session.ts'
import { InlineCode } from '../ui/inline-code.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { matches, wordsOf } from '../ui/search.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { type ApiDocument, type Operation, operationsOf } from './api-document.ts'
import { OperationDetails } from './operation-details.tsx'

/** The API of the service. With a token, it has the endpoints that the token can request. */
export default function ApiPage() {
  const isSignedIn = useSession() === 'open'
  const [token, setToken] = useState('')
  const [search, setSearch] = useState('')
  const query = useQuery({
    queryKey: ['api', isSignedIn],
    queryFn: async ({ signal }) => (await (await send('/openapi.json', { signal })).json()) as ApiDocument,
    staleTime: 60_000,
  })
  return (
    <div className="page">
      <PageHead title="API">
        <p>
          Every request that the service answers, ready to try. For programs:{' '}
          <a href="/openapi.json">openapi.json</a>
        </p>
      </PageHead>
      <div className="form-grid">
        <div className="field">
          <label htmlFor="api-search">Search</label>
          <input
            id="api-search"
            className="input"
            type="search"
            placeholder="Path or purpose"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
        <div className="field">
          <label htmlFor="api-token">Access token for “Try it”</label>
          <input
            id="api-token"
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder={isSignedIn ? 'Empty: your session' : 'wh_…'}
            value={token}
            onChange={(event) => setToken(event.target.value.trim())}
          />
        </div>
      </div>
      <Loaded query={query} what="the API" height={480}>
        {(document) => <Groups document={document} search={search} token={token} />}
      </Loaded>
    </div>
  )
}

interface GroupsProps {
  document: ApiDocument
  search: string
  token: string
}

function Groups({ document, search, token }: GroupsProps) {
  const words = wordsOf(useDeferredValue(search))
  const isFound = ({ method, path, summary }: Operation) => matches(`${method} ${path} ${summary}`, words)
  const operations = operationsOf(document).filter(isFound)
  const groups = document.tags
    .map((tag) => ({ ...tag, operations: operations.filter(({ tags }) => tags.includes(tag.name)) }))
    .filter((group) => group.operations.length > 0)
  if (groups.length === 0) return <Empty title="Nothing matches">Try fewer words.</Empty>
  return groups.map(({ name, description, operations }) => (
    <section key={name} className="stack api-group" aria-label={name}>
      <div>
        <h2>{name}</h2>
        <p className="soft">
          <InlineCode text={description} />
        </p>
      </div>
      <div className="card">
        {operations.map((operation) => (
          <OperationDetails
            key={operation.operationId}
            document={document}
            operation={operation}
            token={token}
          />
        ))}
      </div>
    </section>
  ))
}
