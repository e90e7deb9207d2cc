import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import type { CallableEndpoint, EndpointStat, Whoami } from '../data/api-types.ts'
import { count, milliseconds, percent, seconds } from '../data/format.ts'
import { queries } from '../data/queries.ts'
import { useAddress } from '../data/use-address.ts'
import { Icon } from '../parts/icon.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Empty, Loaded } from '../parts/states.tsx'

export default function EndpointList({ who }: { who: Whoami }) {
  const all = useQuery({ ...queries.endpoints(), enabled: who.admin })
  const list = who.admin
    ? all
    : { data: who.endpoints as CallableEndpoint[], error: null, refetch: all.refetch }
  const [address, setAddress] = useAddress()
  const search = address.get('q') ?? ''
  return (
    <div className="page">
      <PageHead
        title="Endpoints"
        actions={
          who.admin && (
            <Link className="button primary" href="/console/new-endpoint">
              <Icon name="plus" />
              New endpoint
            </Link>
          )
        }
      >
        <p>Saved queries, each of them an address to call.</p>
      </PageHead>
      <input
        className="input"
        type="search"
        placeholder="Search by name or description"
        aria-label="Search endpoints"
        value={search}
        onChange={(event) => setAddress({ q: event.target.value }, 'replace')}
      />
      <Loaded query={list} what="the endpoints" height={240}>
        {(endpoints) => <List endpoints={endpoints} search={search} admin={who.admin} />}
      </Loaded>
    </div>
  )
}

interface Figures {
  calls: number
  errors: number
  hits: number
  p95: number
}

function List({
  endpoints,
  search,
  admin,
}: {
  endpoints: readonly CallableEndpoint[]
  search: string
  admin: boolean
}) {
  const { data: stats } = useQuery({ ...queries.stats('1day'), enabled: admin })
  // Their columns are there before they are, so that nothing jumps.
  const hasFigures = admin && stats !== null
  const figures = useMemo(() => byEndpoint(stats ?? []), [stats])
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = endpoints.filter(({ name, description }) =>
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
  )
  if (endpoints.length === 0) {
    return (
      <Empty title="No endpoints">
        <p>
          {admin
            ? 'Make the first one: a SELECT over your sources, with parameters.'
            : 'This token may call none.'}
        </p>
      </Empty>
    )
  }
  if (found.length === 0) return <Empty title={`Nothing matches “${search}”`}>Try fewer words.</Empty>
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="optional">
              Cache
            </th>
            {hasFigures && (
              <>
                <th scope="col" className="right optional">
                  Calls today
                </th>
                <th scope="col" className="right optional">
                  p95
                </th>
                <th scope="col" className="right optional">
                  From the cache
                </th>
                <th scope="col" className="right optional">
                  Errors
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {found.map(({ id, name, description, cache_seconds }) => {
            const of = figures.get(name)
            return (
              <tr key={id}>
                <td>
                  <Link className="name" href={`/console/endpoints/${encodeURIComponent(name)}`}>
                    {name}
                  </Link>
                  <div className="under">{description}</div>
                </td>
                <td className="optional">
                  {cache_seconds === null ? <span className="faint">none</span> : seconds(cache_seconds)}
                </td>
                {hasFigures && (
                  <>
                    <td className="right optional">{stats ? count(of?.calls ?? 0) : '…'}</td>
                    <td className="right optional">{milliseconds(of?.p95)}</td>
                    <td className="right optional">
                      {of ? percent(of.calls > 0 ? of.hits / of.calls : null) : '–'}
                    </td>
                    <td className="right optional">{stats ? count(of?.errors ?? 0) : '…'}</td>
                  </>
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function byEndpoint(stats: readonly EndpointStat[]): Map<string, Figures> {
  const found = new Map<string, Figures>()
  for (const { endpoint, calls, errors, hit_ratio, p95_ms } of stats) {
    const one = found.get(endpoint) ?? { calls: 0, errors: 0, hits: 0, p95: 0 }
    one.calls += calls
    one.errors += errors
    one.hits += (hit_ratio ?? 0) * calls
    one.p95 = Math.max(one.p95, p95_ms ?? 0)
    found.set(endpoint, one)
  }
  return found
}
