import { useQuery } from '@tanstack/react-query'
import { memo, useDeferredValue, useMemo } from 'react'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Cache, CallableEndpoint, Endpoint, Requests, Whoami } from '../api/shapes.ts'
import { builtInEndpoints } from '../ui/built-in/built-in.ts'
import { BuiltIn } from '../ui/built-in/built-in-group.tsx'
import { count, counted, milliseconds, percent, seconds } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Breakable, Table } from '../ui/table.tsx'
import { useAddress } from '../ui/use-address.ts'
import { useShownEndpoints } from './use-shown-endpoints.ts'

export default function EndpointList({ who }: { who: Whoami }) {
  const all = useQuery({ ...queries.endpoints(), enabled: who.admin })
  const shown = useShownEndpoints(who)
  const list = who.admin ? all : { data: shown, error: null, refetch: all.refetch }
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
        <p>Saved queries, each callable by URL.</p>
      </PageHead>
      <input
        className="input"
        type="search"
        placeholder="Search by name or description"
        aria-label="Search endpoints"
        value={search}
        onChange={(event) => setAddress({ q: event.target.value }, 'replace')}
      />
      <Loaded<readonly (Endpoint | CallableEndpoint)[]> query={list} what="the endpoints" height={240}>
        {(endpoints) => <List endpoints={endpoints} search={search} admin={who.admin} />}
      </Loaded>
    </div>
  )
}

type Figures = Requests['endpoints'][number]

interface ListProps {
  endpoints: readonly (Endpoint | CallableEndpoint)[]
  search: string
  admin: boolean
}

function List({ endpoints, search, admin }: ListProps) {
  const { data: requests } = useQuery({ ...queries.requests('1day'), enabled: admin })
  const { data: cache } = useQuery({ ...queries.cache(), enabled: admin })
  // The columns are shown before their values, so that nothing moves.
  const hasFigures = admin && requests !== null
  const figures = useMemo(() => new Map(requests?.endpoints.map((one) => [one.endpoint, one])), [requests])
  const { data: usage } = useQuery({ ...queries.usage(), enabled: admin })
  const cached = useMemo(() => new Map(cache?.endpoints.map((one) => [one.id, one])), [cache])
  // Keeps typing fast: the rows follow when there is time.
  const deferred = useDeferredValue(search)
  const words = deferred.toLowerCase().split(/\s+/).filter(Boolean)
  const found = endpoints.filter(({ name, description }) =>
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
  )
  if (endpoints.length === 0) {
    return (
      <Empty title="No endpoints">
        <p>
          {admin
            ? 'Create the first one: a SELECT over your sources, with parameters.'
            : 'There is nothing to show yet: this token cannot request an endpoint that has data.'}
        </p>
      </Empty>
    )
  }
  if (found.length === 0) return <Empty title={`Nothing matches “${deferred}”`}>Try fewer words.</Empty>
  const columns = [
    ['Name'],
    ['Cache', 'optional'],
    ...(admin ? [['Newest result', 'right optional'] as const] : []),
    ...(hasFigures
      ? ['Requests today', 'p95', 'Cache hits', 'Errors'].map((title) => [title, 'right optional'] as const)
      : []),
  ] as const
  const table = (listed: typeof found) => (
    <Table columns={columns}>
      {listed.map((endpoint) => (
        <EndpointRow
          key={endpoint.id}
          endpoint={endpoint}
          cached={cached.get(endpoint.id)}
          admin={admin}
          figures={hasFigures ? (figures.get(endpoint.name) ?? (requests ? '–' : '…')) : null}
        />
      ))}
    </Table>
  )
  if (!admin) return table(found)
  const own = found.filter(({ id }) => !builtInEndpoints.has(id))
  const builtIn = found.filter(({ id }) => builtInEndpoints.has(id))
  const filled = usage && new Set(usage.sources.filter(({ entries }) => entries > 0).map(({ name }) => name))
  const isFilled = filled && builtIn.some(({ id }) => filled.has(builtInEndpoints.get(id) as string))
  return (
    <>
      {own.length > 0 && table(own)}
      {own.length === 0 && words.length === 0 && (
        <Empty title="No endpoints of your own">
          <p>Create the first one: a SELECT over your sources, with parameters.</p>
        </Empty>
      )}
      <BuiltIn count={builtIn.length} isFilled={words.length > 0 || isFilled}>
        {table(builtIn)}
      </BuiltIn>
    </>
  )
}

interface EndpointRowProps {
  endpoint: Endpoint | CallableEndpoint
  cached: Cache['endpoints'][number] | undefined
  admin: boolean
  /** A text stands for each of them. Null: statistics are off. */
  figures: Figures | '…' | '–' | null
}

const EndpointRow = memo(function EndpointRow({ endpoint, cached, admin, figures }: EndpointRowProps) {
  const { name, description, cache_seconds } = endpoint
  const isPublished = !('published' in endpoint) || endpoint.published
  const age = cached && `${seconds(cached.newest_age_seconds)} old`
  const cells =
    figures === null
      ? []
      : typeof figures === 'string'
        ? new Array<string>(4).fill(figures)
        : cellsOf(figures)
  const short = [
    ...(figures === null || figures === '–' ? [] : figures === '…' ? ['…'] : inShort(figures)),
    ...(age ? [`newest result ${age}`] : []),
  ]
  return (
    <tr>
      <td>
        <Link className="name" href={`/console/endpoints/${encodeURIComponent(name)}`}>
          <Breakable text={name} />
        </Link>{' '}
        {!isPublished && <span className="badge">not published</span>}
        <div className="under">{description}</div>
        {short.length > 0 && <div className="under narrow-only">{short.join(' · ')}</div>}
      </td>
      <td className="optional nowrap">
        {cache_seconds === null ? <span className="faint">not cached</span> : seconds(cache_seconds)}
      </td>
      {admin && (
        <td className="right optional" title={cached && `${count(cached.results)} in the cache`}>
          {age ?? <span className="faint">–</span>}
        </td>
      )}
      {cells.map((text, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a cell is identified by its column
        <td key={index} className="right optional">
          {text}
        </td>
      ))}
    </tr>
  )
})

function cellsOf({ requests, errors, hits, p95_ms }: Figures): string[] {
  return [count(requests), milliseconds(p95_ms), percent(hits / requests), count(errors)]
}

function inShort({ requests, errors, hits, p95_ms }: Figures): string[] {
  return [
    `${counted(requests, 'request')} today`,
    `p95 ${milliseconds(p95_ms)}`,
    `${percent(hits / requests)} cache hits`,
    ...(errors > 0 ? [counted(errors, 'error')] : []),
  ]
}
