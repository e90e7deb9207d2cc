import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { queries } from './api/queries.ts'
import { session, useSession } from './api/session.ts'
import type { Whoami } from './api/shapes.ts'
import { elsewhere, homeOf, type Page, routesOf } from './navigation.ts'
import { PublicPage, Shell } from './shell.tsx'
import { SignIn } from './sign-in.tsx'
import { hideBrand } from './ui/brand/brand.ts'
import { lazily, loadAhead } from './ui/lazily.ts'
import { MissingPage } from './ui/page-head.tsx'
import { Boundary, Failure, Waiting } from './ui/states.tsx'

const Overview = lazily(() => import('./statistics/overview/overview.tsx'))
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
const ProjectsPage = lazily(() => import('./plans/projects-page.tsx'))
const ProjectPage = lazily(() => import('./plans/project-page.tsx'))
const AuditPage = lazily(() => import('./audit/audit-page.tsx'))
const UsagePage = lazily(() => import('./plans/usage-page.tsx'))
const SendPage = lazily(() => import('./sources/send-page.tsx'))
const ApiPage = lazily(() => import('./reference/api-page.tsx'))

const views: Record<Page, (who: Whoami, name: string) => ReactNode> = {
  api: () => <ApiPage />,
  endpoints: (who) => <EndpointList who={who} />,
  endpoint: (who, name) => <EndpointPage key={name} who={who} name={name} />,
  dashboards: (who) => <DashboardList who={who} />,
  dashboard: (who, name) => <DashboardPage key={name} who={who} name={name} />,
  logs: (who) => <LogsPage who={who} />,
  usage: (who) => <UsagePage who={who} />,
  send: (who) => <SendPage who={who} />,
  overview: () => <Overview />,
  'new-endpoint': (who) => <EndpointPage who={who} mode="new" />,
  playground: (who) => <EndpointPage who={who} mode="playground" />,
  alerts: () => <Alerts />,
  alert: (_who, name) => <AlertPage key={name} name={name} />,
  sources: () => <SourceList />,
  source: (_who, name) => <SourcePage key={name} name={name} />,
  tables: () => <TableList />,
  table: (_who, name) => <TablePage key={name} name={name} />,
  projects: (who) => <ProjectsPage who={who} />,
  project: (who, name) => <ProjectPage key={name} who={who} name={name} />,
  audit: () => <AuditPage />,
  people: (who) => <PeoplePage who={who} />,
  tokens: () => <Tokens />,
  token: (_who, id) => <TokenPage key={id} id={id} />,
}

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
  const redirect = elsewhere(who, location)
  return (
    <Shell who={who}>
      <Boundary key={location}>
        <Suspense fallback={<Waiting what="the page" height={320} />}>
          <Switch>
            {routesOf(who).map(([page, path]) => (
              <Route<{ name?: string }> key={path} path={path}>
                {({ name = '' }) => views[page](who, decodeURIComponent(name))}
              </Route>
            ))}
            <Route>
              {redirect !== undefined ? (
                <Redirect to={redirect} replace />
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
