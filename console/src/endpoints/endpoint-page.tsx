import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { reads } from '../api/rights.ts'
import type { Whoami } from '../api/shapes.ts'
import { Existing, MissingPage } from '../ui/page-head.tsx'
import { EndpointCaller } from './endpoint-caller.tsx'
import { endpointKind } from './endpoint-draft.ts'
import { EndpointWorkbench } from './workbench/endpoint-workbench.tsx'

type EndpointPageProps = { who: Whoami } & ({ name: string } | { mode: 'new' | 'playground' })

/** One endpoint: editable for editors, readable for viewers, callable for everybody else. */
export default function EndpointPage(props: EndpointPageProps) {
  const { who } = props
  if ('mode' in props) return <EndpointWorkbench key={props.mode} {...props} />
  const { name } = props
  if (reads(who)) return <SavedEndpoint who={who} name={name} />
  const endpoint = who.endpoints.find((one) => one.name === name || one.id === name)
  if (endpoint) return <EndpointCaller endpoint={endpoint} who={who} />
  return (
    <MissingPage name={name} title="Not available">
      This endpoint does not exist, or this token is not allowed to request it.
    </MissingPage>
  )
}

function SavedEndpoint({ who, name }: { who: Whoami; name: string }) {
  const query = useQuery(queries.endpoint(name))
  return (
    <Existing query={query} kind={endpointKind} name={name}>
      {(endpoint) => <EndpointWorkbench who={who} saved={endpoint} mode="saved" />}
    </Existing>
  )
}
