import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { Callers, descriptionsOf } from '../statistics/callers.tsx'
import { SlowRequests } from '../statistics/slow-requests.tsx'
import { UsageReport } from '../statistics/usage-report.tsx'

/** How an endpoint is used, and which of its requests are slow or fail. */
export function EndpointUsage({ name }: { name: string }) {
  const slow = useQuery(queries.slowCalls(name))
  return (
    <UsageReport
      endpoint={name}
      title="Callers"
      table={(requests) => <Callers requests={requests} />}
      below={(requests) => <SlowRequests query={slow} callers={descriptionsOf(requests)} />}
    />
  )
}
