import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import type { Whoami } from './data/api-types.ts'
import { lazily, loadAhead } from './data/lazily.ts'
import { queries, queryClient } from './data/queries.ts'
import { useToken } from './data/session.ts'
import { SignIn } from './pages/sign-in.tsx'
import { Boundary } from './parts/boundary.tsx'
import { Failure, Waiting } from './parts/states.tsx'
import { Shell } from './shell.tsx'

const Overview = lazily(() => import('./pages/overview.tsx'))
const EndpointList = lazily(() => import('./pages/endpoint-list.tsx'))
const EndpointPage = lazily(() => import('./pages/endpoint-page.tsx'))
const Explore = lazily(() => import('./pages/explore.tsx'))
const SourceList = lazily(() => import('./pages/source-list.tsx'))
const SourcePage = lazily(() => import('./pages/source-page.tsx'))
const Tokens = lazily(() => import('./pages/tokens.tsx'))

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
