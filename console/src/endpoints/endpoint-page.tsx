import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { ApiError } from '../api/api.ts'
import type { CallableEndpoint, Whoami } from '../api/api-types.ts'
import { queries } from '../api/queries.ts'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { EndpointWorkbench } from './endpoint-workbench.tsx'
import { EndpointCaller } from './run/endpoint-caller.tsx'

/** One endpoint: to write for admins, to call for everybody else. */
export default function EndpointPage({ who, name }: { who: Whoami; name: string | undefined }) {
  if (name === undefined) return <EndpointWorkbench saved={undefined} />
  if (who.admin) return <Saved name={name} />
  const endpoint = who.endpoints.find((one: CallableEndpoint) => one.name === name || one.id === name)
  if (endpoint) return <EndpointCaller endpoint={endpoint} who={who} />
  return (
    <div className="page">
      <PageHead title={name} />
      <Empty title="Not for this token">
        <p>There is no such endpoint, or this token may not call it.</p>
      </Empty>
    </div>
  )
}

function Saved({ name }: { name: string }) {
  const query = useQuery(queries.endpoint(name))
  const { data, error } = query
  if (data === undefined && error instanceof ApiError && error.status === 404) {
    return (
      <div className="page">
        <PageHead title={name} />
        <Empty title="No such endpoint">
          <p>
            There is no endpoint called {name}. <Link href="/console/endpoints">All endpoints</Link>
          </p>
        </Empty>
      </div>
    )
  }
  return (
    <Loaded query={query} what="the endpoint" height={480}>
      {(endpoint) => <EndpointWorkbench saved={endpoint} />}
    </Loaded>
  )
}
