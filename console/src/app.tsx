import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { queries } from './api/queries.ts'
import { useToken } from './api/session.ts'
import type { Whoami } from './api/shapes.ts'
import { homeOf, PublicPage, Shell } from './shell.tsx'
import { SignIn } from './sign-in.tsx'
import { hideBrand } from './ui/brand/brand.ts'
import { lazily, loadAhead } from './ui/lazily.ts'
import { MissingPage } from './ui/page-head.tsx'
import { Boundary, Failure, Waiting } from './ui/states.tsx'

const Overview = lazily(() => import('./overview/overview.tsx'))
const EndpointList = lazily(() => import('./endpoints/endpoint-list.tsx'))
const EndpointPage = lazily(() => import('./endpoints/endpoint-page.tsx'))
const LogsPage = lazily(() => import('./logs/logs-page.tsx'))
const Playground = lazily(() => import('./playground/playground-page.tsx'))
const SourceList = lazily(() => import('./sources/source-list.tsx'))
const SourcePage = lazily(() => import('./sources/source-page.tsx'))
const Alerts = lazily(() => import('./alerts/alerts-page.tsx'))
const AlertPage = lazily(() => import('./alerts/alert-page.tsx'))
const Tokens = lazily(() => import('./tokens/tokens.tsx'))
const TokenPage = lazily(() => import('./tokens/token-page.tsx'))
const UsagePage = lazily(() => import('./customer/usage-page.tsx'))
const SendPage = lazily(() => import('./customer/send-page.tsx'))
const ApiPage = lazily(() => import('./reference/api-page.tsx'))
const forAdmins = [
  ['/', Overview],
  ['/console/', Overview],
  ['/console/alerts', Alerts],
  ['/console/sources', SourceList],
  ['/console/tokens', Tokens],
] as const

/** Pages that another token may have. */
const isForOthers =
  /^\/(?:console\/?)?$|^\/console\/(?:new-endpoint|playground|explore|alerts|sources|tokens|usage)(?:\/|$)/

export function App() {
  const token = useToken()
  if (token === '') return null
  if (token !== null) return <SignedIn />
  if (location.pathname !== '/docs') return <SignIn />
  return (
    <PublicPage>
      <Suspense fallback={<Waiting what="the page" height={320} />}>
        <ApiPage />
      </Suspense>
    </PublicPage>
  )
}

function SignedIn() {
  const { data, error, failureReason, refetch } = useQuery(queries.whoami())
  useEffect(() => {
    if (data?.admin) hideBrand()
  }, [data?.admin])
  if (data) return <Pages who={data} />
  return (
    <main className="sign-in">
      {error ? (
        <Failure error={error} retry={refetch} />
      ) : (
        <div className="stack">
          <Waiting what="the console" height={120} />
          <p className="soft" role="status">
            {failureReason && `${failureReason.message} Trying again …`}
          </p>
        </div>
      )}
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
            <Route path="/docs">
              <ApiPage />
            </Route>
            <Route path="/console/endpoints">
              <EndpointList who={who} />
            </Route>
            <Route path="/console/endpoints/:name">
              {({ name }) => <EndpointPage key={name} who={who} name={decodeURIComponent(name)} />}
            </Route>
            {(who.admin || who.logs) && (
              <Route path="/console/explore">
                <LogsPage who={who} />
              </Route>
            )}
            {who.query && !who.admin && (
              <Route path="/console/usage">
                <UsagePage who={who} />
              </Route>
            )}
            {who.ingest && !who.admin && (
              <Route path="/console/sources">
                <SendPage who={who} />
              </Route>
            )}
            {who.admin && [
              ...forAdmins.map(([path, Page]) => (
                <Route key={path} path={path}>
                  <Page />
                </Route>
              )),
              <Route key="new" path="/console/new-endpoint">
                <EndpointPage who={who} name={undefined} />
              </Route>,
              <Route key="playground" path="/console/playground">
                <Playground who={who} />
              </Route>,
              <Route key="source" path="/console/sources/:name">
                {({ name }) => <SourcePage key={name} name={name} />}
              </Route>,
              <Route key="alert" path="/console/alerts/:name">
                {({ name }) => <AlertPage key={name} name={decodeURIComponent(name)} />}
              </Route>,
              <Route key="token" path="/console/tokens/:id">
                {({ id }) => <TokenPage key={id} id={decodeURIComponent(id)} />}
              </Route>,
            ]}
            <Route>
              {isForOthers.test(location) ? (
                <Redirect to={homeOf(who)} replace />
              ) : (
                <MissingPage name="Page not found" title="There is no such page">
                  {location} does not exist. <Link href={homeOf(who)}>Go to the first page</Link>
                </MissingPage>
              )}
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
    </Shell>
  )
}
