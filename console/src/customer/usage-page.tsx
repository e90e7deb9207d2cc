import { useQuotaRemaining } from '../api/quota.ts'
import type { Whoami } from '../api/shapes.ts'
import { PageHead } from '../ui/page-head.tsx'
import { count, counted } from '../ui/text/format.ts'
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
      {/* A token without a project could see the requests of others. */}
      <RequestReport isCustomer {...(project === null && { token: id })} />
    </div>
  )
}
