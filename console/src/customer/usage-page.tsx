import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { useQuotaRemaining } from '../api/quota.ts'
import type { Whoami } from '../api/shapes.ts'
import { Card, PageHead } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { bytes, count, counted } from '../ui/text/format.ts'
import { RequestReport } from '../usage/request-report.tsx'

/** The own requests of a token that is not an admin's. */
export default function UsagePage({ who: { id, project, requests_per_minute: limit } }: { who: Whoami }) {
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
          {limit === null
            ? 'This token has no limit on requests per minute.'
            : `This token can send ${counted(limit, 'request')} per minute${remaining === undefined ? '' : `; ${count(remaining)} left in the current minute`}.`}
        </p>
      </PageHead>
      {project !== null && <ProjectDays project={project} />}
      {/* A token without a project could see the requests of others. */}
      <RequestReport isCustomer {...(project === null && { token: id })} />
    </div>
  )
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
