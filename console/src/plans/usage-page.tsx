import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { useQuotaRemaining } from '../api/quota.ts'
import type { Whoami } from '../api/shapes.ts'
import { RequestReport } from '../statistics/request-report.tsx'
import { Facts } from '../ui/facts.tsx'
import { Card, PageHead } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { bytes, count, counted } from '../ui/text/format.ts'

/** The own requests of a token that is not an admin's. */
export default function UsagePage({ who }: { who: Whoami }) {
  const { id, project, plan } = who
  const remaining = useQuotaRemaining()
  return (
    <div className="page">
      <PageHead title="Usage">
        <p>
          {project === null ? (
            'Requests of this token.'
          ) : (
            <>
              Requests of project <b>{project}</b>.
            </>
          )}{' '}
          {rateText(who)}
          {remaining !== undefined && isLimited(who) && `; ${count(remaining)} left in the current minute`}.
        </p>
      </PageHead>
      {project !== null && plan !== null && <ProjectPlan project={project} plan={plan} />}
      {project !== null && <ProjectDays project={project} />}
      {/* A token without a project could see the requests of others. */}
      <RequestReport isCustomer {...(project === null && { token: id })} />
    </div>
  )
}

const isLimited = ({ requests_per_minute: own, plan }: Whoami) =>
  own !== null || (plan !== null && plan.requests_per_minute !== null)

function rateText({ requests_per_minute: own, plan }: Whoami): string {
  const shared = plan?.requests_per_minute ?? null
  if (own === null && shared === null) return 'This token has no limit on requests per minute'
  if (shared === null) return `This token can send ${counted(own as number, 'request')} per minute`
  const all = 'll tokens of the project together can send'
  if (own === null) return `A${all} ${counted(shared, 'request')} per minute`
  return `This token can send ${counted(own, 'request')} per minute, a${all} ${count(shared)}`
}

interface ProjectPlanProps {
  project: string
  plan: NonNullable<Whoami['plan']>
}

/** What the plan allows, and what is used of it today. */
function ProjectPlan({ project, plan }: ProjectPlanProps) {
  const query = useQuery({ ...queries.projectUsage(project), refetchInterval: 30_000 })
  const { retention_days: days, requests_per_minute: rate, entries_per_day, bytes_per_day } = plan
  return (
    <Card title={`Plan ${plan.name}`}>
      <Loaded query={query} what="the usage" height={120}>
        {(usage) => {
          const today = new Date().toISOString().slice(0, 10)
          const { entries = 0, bytes: size = 0 } = usage.find(({ day }) => day === today) ?? {}
          const isUsedUp = isReached(entries, entries_per_day) || isReached(size, bytes_per_day)
          return (
            <div className="card-body stack">
              <Facts
                facts={[
                  ['Entries today (UTC)', shareText(entries, entries_per_day, count)],
                  ['Size today (UTC)', shareText(size, bytes_per_day, bytes)],
                  [
                    'Entries are shown for',
                    days === null ? 'as long as they are stored' : counted(days, 'day'),
                  ],
                  ['Requests per minute', rate === null ? 'no limit' : `${count(rate)}, over all tokens`],
                ]}
              />
              {isUsedUp && (
                <p className="note-box" role="status">
                  The entries of today are used up. More are rejected until midnight UTC; reading goes on.
                </p>
              )}
            </div>
          )
        }}
      </Loaded>
    </Card>
  )
}

const isReached = (used: number, limit: number | null) => limit !== null && used >= limit

function shareText(used: number, limit: number | null, format: (value: number) => string): string {
  if (limit === null) return `${format(used)}; no limit`
  return `${format(used)} of ${format(limit)} (${Math.floor((100 * used) / limit)} %)`
}

const columns = [
  ['Day (UTC)'],
  ['Entries', 'right'],
  ['Size', 'right'],
  ['Requests', 'right optional'],
] as const

/** What the project sent and requested, newest day first. */
function ProjectDays({ project }: { project: string }) {
  const query = useQuery(queries.projectUsage(project))
  return (
    <Card title="Last 30 days">
      <Loaded query={query} what="the usage" height={120}>
        {(days) =>
          days.length === 0 ? (
            <p className="card-body soft">Nothing was sent or requested.</p>
          ) : (
            <Table columns={columns}>
              {days.toReversed().map(({ day, entries, bytes: size, requests }) => (
                <tr key={day}>
                  <td>{day}</td>
                  <td className="right">{count(entries)}</td>
                  <td className="right">{bytes(size)}</td>
                  <td className="right optional">{count(requests)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Card>
  )
}
