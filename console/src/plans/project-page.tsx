import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { hasFeature } from '../api/features.ts'
import { queries } from '../api/queries.ts'
import type { Alert, Plan, Project, ProjectUsage, Whoami } from '../api/shapes.ts'
import { TimeSeries } from '../charts/time-series.tsx'
import { EraseDialog } from '../erasure/erase-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/facts.tsx'
import { Card, Existing, PageHead } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, bytes, count, counted, sum } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { PlanDialog } from './plan-dialog.tsx'
import { lastDays, limitsText, usedText } from './plan-limits.ts'

const shownDays = 30

/** One customer: plan, usage, tokens, newest entries, alerts and erasures. */
export default function ProjectPage({ who: { admin }, name }: { who: Whoami; name: string }) {
  const query = useQuery(queries.project(name))
  const [dialog, setDialog] = useState<'plan' | 'erase'>()
  const close = () => setDialog(undefined)
  return (
    <Existing query={query} kind={{ one: 'project', path: 'projects' }} name={name}>
      {(project) => (
        <div className="page">
          <PageHead
            title={name}
            badge={<span className="badge">{project.plan}</span>}
            actions={
              admin && (
                <>
                  <Button onClick={() => setDialog('plan')}>Change plan</Button>
                  {hasFeature('erasure') && (
                    <Button look="danger" onClick={() => setDialog('erase')}>
                      Erase
                    </Button>
                  )}
                </>
              )
            }
          />
          <Usage project={project} />
          <div className="parts two">
            {admin && <Tokens project={name} />}
            {hasFeature('alerts') && <Alerts project={name} />}
          </div>
          <NewestEntries project={name} />
          {admin && hasFeature('erasure') && <Erasures project={name} />}
          {dialog === 'plan' && <PlanDialog project={project} onClose={close} />}
          {dialog === 'erase' && <EraseDialog project={name} onClose={close} />}
        </div>
      )}
    </Existing>
  )
}

function Usage({ project }: { project: Project }) {
  const usage = useQuery(queries.projectUsage(project.project))
  const { data: plans = [] } = useQuery(queries.plans())
  const plan = plans.find(({ name }) => name === project.plan)
  return (
    <Loaded query={usage} what="the usage" height={320}>
      {(rows) => <UsageOfDays rows={rows} plan={plan} project={project} />}
    </Loaded>
  )
}

interface UsageOfDaysProps {
  rows: readonly ProjectUsage[]
  plan: Plan | undefined
  project: Project
}

function UsageOfDays({ rows, plan, project }: UsageOfDaysProps) {
  const days = lastDays(rows, shownDays, Date.now())
  const today = days.at(-1)?.row
  const entries = days.map(({ row }) => row?.entries ?? 0)
  const requests = days.map(({ row }) => row?.requests ?? 0)
  const timestamps = days.map(({ atMs }) => atMs)
  const charts = [
    ['Entries', entries, 'entry', 'entries'],
    ['Requests', requests, 'request', 'requests'],
  ] as const
  return (
    <>
      <Facts
        className="card card-body"
        facts={[
          ['Plan', `${project.plan}: ${limitsText(plan)}`],
          ['Entries today', usedText(today?.entries ?? 0, plan?.entries_per_day)],
          ['Size today', usedText(today?.bytes ?? 0, plan?.bytes_per_day, bytes)],
          ['Requests today', count(today?.requests ?? 0)],
          ['Last entry', project.last_entry_at === null ? 'unknown' : ago(project.last_entry_at)],
        ]}
      />
      <div className="parts two">
        {charts.map(([title, values, one, many]) => (
          <Card key={title} title={`${title} in the last ${shownDays} days`} className="chart-part">
            <div className="card-body">
              <p className="totals">
                <b className="number">{count(sum(values))}</b>{' '}
                <span className="soft">
                  {title === 'Entries' && bytes(sum(rows.map((row) => row.bytes)))}
                </span>
              </p>
              <TimeSeries
                label={`${title} of ${project.project} by day: ${counted(sum(values), one, many)}`}
                timestamps={timestamps}
                series={[{ name: title, values: [...values] }]}
                kind="bars"
                height={168}
                isDays
              />
            </div>
          </Card>
        ))}
      </div>
    </>
  )
}

interface RowsCardProps<T> {
  title: string
  query: { data: readonly T[] | undefined; error: Error | null; refetch: () => unknown }
  columns: readonly (readonly [title: string, className?: string])[]
  empty: string
  row: (one: T) => ReactNode
}

function RowsCard<T>({ title, query, columns, empty, row }: RowsCardProps<T>) {
  return (
    <Card title={title}>
      <Loaded query={query} what={title.toLowerCase()} height={96}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="card-body soft">{empty}</p>
          ) : (
            <Table columns={columns} className="plain">
              {rows.map(row)}
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}

function Tokens({ project }: { project: string }) {
  const query = useQuery(queries.tokens())
  return (
    <RowsCard
      title="Tokens"
      query={{ ...query, data: query.data?.filter((token) => token.project === project) }}
      columns={[['Token'], ['Permissions', 'optional'], ['Last used', 'right']]}
      empty="No token is limited to this project."
      row={({ id, description, scopes, last_used_at }) => (
        <tr key={id}>
          <td>
            <NameLink href={`/console/tokens/${id}`} name={description || id} />
          </td>
          <td className="optional">{scopes.join(', ')}</td>
          <td className="right">{last_used_at === null ? 'never' : ago(last_used_at)}</td>
        </tr>
      )}
    />
  )
}

function Alerts({ project }: { project: string }) {
  const query = useQuery(queries.alerts())
  const named = query.data?.flatMap((alert) => {
    const reason = reasonOf(alert, project)
    return reason === undefined ? [] : [{ alert, reason }]
  })
  return (
    <RowsCard
      title="Alerts"
      query={{ ...query, data: named }}
      columns={[['Alert'], ['For', 'optional'], ['State', 'right']]}
      empty="No alert names this project."
      row={({ alert: { id, name, state }, reason }) => (
        <tr key={id}>
          <td>
            <NameLink href={`/console/alerts/${encodeURIComponent(name)}`} name={name} />
          </td>
          <td className="optional">{reason}</td>
          <td className="right">{state}</td>
        </tr>
      )}
    />
  )
}

function reasonOf({ parameters, by }: Alert, project: string): string | undefined {
  if (Object.values(parameters).some((value) => value === project)) return 'this project'
  return by.includes('project') ? 'each project' : undefined
}

function NewestEntries({ project }: { project: string }) {
  const { data: usage } = useQuery(queries.usage())
  const sources = usage?.sources.filter(({ entries }) => entries > 0).map(({ name }) => name)
  const query = useQuery({ ...queries.newestOfProject(project, sources ?? []), enabled: usage !== undefined })
  const zone = useZone()
  return (
    <RowsCard
      title="Newest entries of the last 7 days"
      query={query}
      columns={[['Time'], ['Source', 'optional'], ['Message']]}
      empty="No entries."
      row={({ source, id, timestamp, event_message }) => (
        <tr key={`${source} ${id}`}>
          <td className="number nowrap">{showInstant(Date.parse(timestamp), zone, 'seconds')}</td>
          <td className="optional">
            <Link href={`/console/logs?${new URLSearchParams({ source, project })}`}>{source}</Link>
          </td>
          <td className="any-break mono">{event_message}</td>
        </tr>
      )}
    />
  )
}

function Erasures({ project }: { project: string }) {
  const query = useQuery(queries.erasures())
  const zone = useZone()
  return (
    <RowsCard
      title="Erasures"
      query={{ ...query, data: query.data?.filter((erasure) => erasure.project === project) }}
      columns={[['Began'], ['Source', 'optional'], ['Entries', 'right'], ['State', 'right']]}
      empty="Nothing was erased."
      row={({ id, created_at, source, entries, state }) => (
        <tr key={id}>
          <td className="number nowrap">
            {created_at && showInstant(Date.parse(created_at), zone, 'seconds')}
          </td>
          <td className="optional">{source ?? 'all sources'}</td>
          <td className="right">{count(entries)}</td>
          <td className="right">{state}</td>
        </tr>
      )}
    />
  )
}
