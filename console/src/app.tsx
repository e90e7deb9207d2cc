import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import type { Whoami } from './api/api-types.ts'
import { queries, queryClient } from './api/queries.ts'
import { useToken } from './api/session.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './sign-in.tsx'
import { Boundary } from './ui/boundary.tsx'
import { lazily, loadAhead } from './ui/lazily.ts'
import { Failure, Waiting } from './ui/states.tsx'

const Overview = lazily(() => import('./overview/overview.tsx'))
const EndpointList = lazily(() => import('./endpoints/endpoint-list.tsx'))
const EndpointPage = lazily(() => import('./endpoints/endpoint-page.tsx'))
const Explore = lazily(() => import('./logs/explore.tsx'))
const SourceList = lazily(() => import('./sources/source-list.tsx'))
const SourcePage = lazily(() => import('./sources/source-page.tsx'))
const Tokens = lazily(() => import('./tokens/tokens.tsx'))

export function App() {
  const token = useToken()
  // What one token saw is nothing for the next.
  useEffect(() => {
    if (token === null) queryClient.clear()
  }, [token])
  return token === null ? <SignIn /> : <SignedIn />
}

function SignedIn() {
  const { data, error, refetch } = useQuery(queries.whoami())
  if (data) return <Pages who={data} />
  return (
    <main className="sign-in">
      {error ? <Failure error={error} retry={refetch} /> : <Waiting what="the console" height={120} />}
    </main>
  )
}

function Pages({ who }: { who: Whoami }) {
  const [location] = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page begins at its top
  useEffect(() => {
    window.scrollTo(0, 0)
  }, [location])
  useEffect(loadAhead, [])
  return (
    <Shell who={who}>
      <Boundary key={location}>
        <Suspense fallback={<Waiting what="the page" height={320} />}>
          <Switch>
            <Route path="/console/endpoints">
              <EndpointList who={who} />
            </Route>
            <Route path="/console/endpoints/:name">
              {({ name }) => <EndpointPage key={name} who={who} name={decodeURIComponent(name)} />}
            </Route>
            {who.admin && [
              <Route key="new" path="/console/new-endpoint">
                <EndpointPage who={who} name={undefined} />
              </Route>,
              <Route key="explore" path="/console/explore">
                <Explore />
              </Route>,
              <Route key="sources" path="/console/sources">
                <SourceList />
              </Route>,
              <Route key="source" path="/console/sources/:name">
                {({ name }) => <SourcePage key={name} name={name} />}
              </Route>,
              <Route key="tokens" path="/console/tokens">
                <Tokens />
              </Route>,
              <Route key="overview" path="/">
                <Overview />
              </Route>,
            ]}
            <Route path="/console/">
              {who.admin ? <Overview /> : <Redirect to="/console/endpoints" replace />}
            </Route>
            <Route>
              <Redirect to={who.admin ? '/' : '/console/endpoints'} replace />
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
    </Shell>
  )
}
