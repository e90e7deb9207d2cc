import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { ApiError } from '../api/api.ts'
import { queries } from '../api/queries.ts'
import type { Whoami } from '../api/shapes.ts'
import { MissingPage } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { EndpointCaller } from './endpoint-caller.tsx'
import { EndpointWorkbench } from './endpoint-workbench.tsx'

/** One endpoint: editable for admins, callable for everybody else. */
export default function EndpointPage({ who, name }: { who: Whoami; name: string | undefined }) {
  if (name === undefined) return <EndpointWorkbench saved={undefined} />
  if (who.admin) return <SavedEndpoint name={name} />
  const endpoint = who.endpoints.find((one) => one.name === name || one.id === name)
  if (endpoint) return <EndpointCaller endpoint={endpoint} who={who} />
  return (
    <MissingPage name={name} title="Not available">
      This endpoint does not exist, or this token is not allowed to request it.
    </MissingPage>
  )
}

function SavedEndpoint({ name }: { name: string }) {
  const query = useQuery(queries.endpoint(name))
  const { data, error } = query
  if (data === undefined && error instanceof ApiError && error.status === 404) {
    return (
      <MissingPage name={name} title="No such endpoint">
        There is no endpoint named {name}. <Link href="/console/endpoints">All endpoints</Link>
      </MissingPage>
    )
  }
  return (
    <Loaded query={query} what="the endpoint" height={480}>
      {(endpoint) => <EndpointWorkbench saved={endpoint} />}
    </Loaded>
  )
}
