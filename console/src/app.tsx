import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { queries } from './api/queries.ts'
import { edits, reads } from './api/rights.ts'
import { session, useSession } from './api/session.ts'
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
const SourceList = lazily(() => import('./sources/source-list.tsx'))
const SourcePage = lazily(() => import('./sources/source-page.tsx'))
const TableList = lazily(() => import('./tables/table-list.tsx'))
const TablePage = lazily(() => import('./tables/table-page.tsx'))
const Alerts = lazily(() => import('./alerts/alerts-page.tsx'))
const AlertPage = lazily(() => import('./alerts/alert-page.tsx'))
const DashboardList = lazily(() => import('./dashboards/dashboard-list.tsx'))
const DashboardPage = lazily(() => import('./dashboards/dashboard-page.tsx'))
const Tokens = lazily(() => import('./tokens/tokens.tsx'))
const TokenPage = lazily(() => import('./tokens/token-page.tsx'))
const PeoplePage = lazily(() => import('./people/people-page.tsx'))
const ProjectsPage = lazily(() => import('./projects/projects-page.tsx'))
const AuditPage = lazily(() => import('./audit/audit-page.tsx'))
const UsagePage = lazily(() => import('./customer/usage-page.tsx'))
const SendPage = lazily(() => import('./customer/send-page.tsx'))
const ApiPage = lazily(() => import('./reference/api-page.tsx'))
type Allowed = (who: Whoami) => boolean
const everyone: Allowed = () => true
const admins: Allowed = ({ admin }) => admin
const others: Allowed = ({ role }) => role === null

/** A path, who has its page, and the page. */
const routes: readonly [path: string, isFor: Allowed, page: (who: Whoami, name: string) => ReactNode][] = [
  ['/docs', everyone, () => <ApiPage />],
  ['/console/endpoints', everyone, (who) => <EndpointList who={who} />],
  ['/console/endpoints/:name', everyone, (who, name) => <EndpointPage key={name} who={who} name={name} />],
  ['/console/dashboards', ({ dashboards }) => dashboards, (who) => <DashboardList who={who} />],
  [
    '/console/dashboards/:name',
    ({ dashboards }) => dashboards,
    (who, name) => <DashboardPage key={name} who={who} name={name} />,
  ],
  ['/console/logs', ({ logs }) => logs, (who) => <LogsPage who={who} />],
  ['/console/usage', (who) => who.query && others(who), (who) => <UsagePage who={who} />],
  ['/console/sources', (who) => who.ingest && others(who), (who) => <SendPage who={who} />],
  ['/', reads, () => <Overview />],
  ['/console/', reads, () => <Overview />],
  ['/console/new-endpoint', edits, (who) => <EndpointPage who={who} mode="new" />],
  ['/console/playground', reads, (who) => <EndpointPage who={who} mode="playground" />],
  ['/console/alerts', reads, () => <Alerts />],
  ['/console/alerts/:name', reads, (_who, name) => <AlertPage key={name} name={name} />],
  ['/console/sources', reads, () => <SourceList />],
  ['/console/sources/:name', reads, (_who, name) => <SourcePage key={name} name={name} />],
  ['/console/tables', reads, () => <TableList />],
  ['/console/tables/:name', reads, (_who, name) => <TablePage key={name} name={name} />],
  ['/console/projects', reads, (who) => <ProjectsPage who={who} />],
  ['/console/audit', admins, () => <AuditPage />],
  ['/console/people', admins, (who) => <PeoplePage who={who} />],
  ['/console/tokens', admins, () => <Tokens />],
  ['/console/tokens/:name', admins, (_who, id) => <TokenPage key={id} id={id} />],
]

/** Pages that another token may have. */
const isForOthers =
  /^\/(?:console\/?)?$|^\/console\/(?:new-endpoint|playground|logs|alerts|dashboards|sources|tokens|usage|audit|people|projects|tables)(?:\/|$)/

export function App() {
  const state = useSession()
  if (state === 'over') return null
  if (state !== 'none') return <SignedIn />
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
  const id = data?.id
  useEffect(() => {
    if (id !== undefined) session.opened(id)
  }, [id])
  useEffect(() => {
    if (data?.role) hideBrand()
  }, [data?.role])
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
            {routes
              .filter(([, isFor]) => isFor(who))
              .map(([path, , page]) => (
                <Route<{ name?: string }> key={path} path={path}>
                  {({ name = '' }) => page(who, decodeURIComponent(name))}
                </Route>
              ))}
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
