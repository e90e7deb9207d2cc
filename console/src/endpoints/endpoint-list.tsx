import { useQuery } from '@tanstack/react-query'
import { memo, useDeferredValue, useMemo } from 'react'
import { Link } from 'wouter'
import type { CachedEndpoint, CallableEndpoint, EndpointStat, Whoami } from '../api/api-types.ts'
import { queries } from '../api/queries.ts'
import { Breakable } from '../ui/breakable.tsx'
import { count, milliseconds, percent, seconds } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'

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
  const { data: cache } = useQuery({ ...queries.cache(), enabled: admin })
  // Their columns are there before they are, so that nothing jumps.
  const hasFigures = admin && stats !== null
  const figures = useMemo(() => byEndpoint(stats ?? []), [stats])
  const cached = useMemo(() => new Map(cache?.endpoints.map((one) => [one.id, one])), [cache])
  // The letters come first, the rows when there is time.
  const wanted = useDeferredValue(search)
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
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
  if (found.length === 0) return <Empty title={`Nothing matches “${wanted}”`}>Try fewer words.</Empty>
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="optional">
              Kept for
            </th>
            {admin && (
              <th scope="col" className="right optional">
                Newest result
              </th>
            )}
            {hasFigures &&
              ['Calls today', 'p95', 'From the cache', 'Errors'].map((title) => (
                <th key={title} scope="col" className="right optional">
                  {title}
                </th>
              ))}
          </tr>
        </thead>
        <tbody>
          {found.map((endpoint) => (
            <Line
              key={endpoint.id}
              endpoint={endpoint}
              cached={cached.get(endpoint.id)}
              admin={admin}
              figures={hasFigures ? (figures.get(endpoint.name) ?? (stats ? noCalls : undefined)) : null}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const noCalls: Figures = { calls: 0, errors: 0, hits: 0, p95: Number.NaN }

interface LineProps {
  endpoint: CallableEndpoint
  cached: CachedEndpoint | undefined
  admin: boolean
  /** Undefined while they are asked for, null where there are none. */
  figures: Figures | undefined | null
}

const Line = memo(function Line({ endpoint, cached, admin, figures }: LineProps) {
  const { name, description, cache_seconds } = endpoint
  const age = cached && `${seconds(cached.newest_age_seconds)} old`
  const ratio = figures && percent(figures.calls > 0 ? figures.hits / figures.calls : null)
  const short = [
    ...(figures === null ? [] : figures === undefined ? ['…'] : inShort(figures)),
    ...(age ? [`newest result ${age}`] : []),
  ]
  return (
    <tr>
      <td>
        <Link className="name" href={`/console/endpoints/${encodeURIComponent(name)}`}>
          <Breakable text={name} />
        </Link>
        <div className="under">{description}</div>
        {short.length > 0 && <div className="under narrow-only">{short.join(' · ')}</div>}
      </td>
      <td className="optional nowrap">
        {cache_seconds === null ? <span className="faint">not kept</span> : seconds(cache_seconds)}
      </td>
      {admin && (
        <td className="right optional" title={cached && `${count(cached.results)} in the cache`}>
          {age ?? <span className="faint">–</span>}
        </td>
      )}
      {figures !== null && (
        <>
          <td className="right optional">{figures ? count(figures.calls) : '…'}</td>
          <td className="right optional">{figures ? milliseconds(figures.p95) : '…'}</td>
          <td className="right optional">{ratio ?? '…'}</td>
          <td className="right optional">{figures ? count(figures.errors) : '…'}</td>
        </>
      )}
    </tr>
  )
})

function inShort({ calls, errors, hits, p95 }: Figures): string[] {
  return [
    `${count(calls)} ${calls === 1 ? 'call' : 'calls'} today`,
    ...(calls > 0 ? [`p95 ${milliseconds(p95)}`, `${percent(hits / calls)} from the cache`] : []),
    ...(errors > 0 ? [`${count(errors)} errors`] : []),
  ]
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
