import { useQuery } from '@tanstack/react-query'
import { memo, useMemo } from 'react'
import { queries } from '../api/queries.ts'
import { edits, reads } from '../api/rights.ts'
import type { Cache, CallableEndpoint, Endpoint, Requests, Whoami } from '../api/shapes.ts'
import { Groups, ListPage } from '../definitions/list-page.tsx'
import { builtInEndpoints } from '../ui/built-in/built-in.ts'
import { shownEndpoints } from '../ui/built-in/shown-endpoints.ts'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { count, counted, milliseconds, percent, seconds } from '../ui/text/format.ts'

type Listed = Endpoint | CallableEndpoint

export default function EndpointList({ who }: { who: Whoami }) {
  const all = useQuery({ ...queries.endpoints(), enabled: reads(who) })
  const shown = shownEndpoints(who)
  return (
    <ListPage<Listed>
      title="Endpoints"
      about="Saved queries, each callable by URL."
      create={edits(who) ? ['New endpoint', '/console/new-endpoint'] : undefined}
      query={reads(who) ? all : { data: shown, error: null, refetch: all.refetch }}
      textOf={({ name, description }) => `${name} ${description}`}
      hint="name or description"
      empty={
        <Empty title="No endpoints">
          <p>
            {reads(who)
              ? firstOne
              : 'There is nothing to show yet: this token cannot request an endpoint that has data.'}
          </p>
        </Empty>
      }
    >
      {(found, isSearch) =>
        reads(who) ? <AdminList found={found} isSearch={isSearch} /> : <EndpointTable endpoints={found} />
      }
    </ListPage>
  )
}

const firstOne = 'Create the first one: a SELECT over your sources, with parameters.'

type Figures = Requests['endpoints'][number]

function AdminList({ found, isSearch }: { found: readonly Listed[]; isSearch: boolean }) {
  const { data: requests } = useQuery(queries.requests('1day'))
  const { data: cache } = useQuery(queries.cache())
  const { data: usage } = useQuery(queries.usage())
  const figures = useMemo(() => new Map(requests?.endpoints.map((one) => [one.endpoint, one])), [requests])
  const cached = useMemo(() => new Map(cache?.endpoints.map((one) => [one.id, one])), [cache])
  const filled = usage && new Set(usage.sources.filter(({ entries }) => entries > 0).map(({ name }) => name))
  const sources = found.flatMap(({ id }) => builtInEndpoints.get(id) ?? [])
  return (
    <Groups
      found={found}
      isSearch={isSearch}
      isBuiltIn={({ id }) => builtInEndpoints.has(id)}
      isFilled={filled && sources.some((source) => filled.has(source))}
      empty={
        <Empty title="No endpoints of your own">
          <p>{firstOne}</p>
        </Empty>
      }
    >
      {(endpoints) => (
        <EndpointTable
          endpoints={endpoints}
          cached={cached}
          // The columns are shown before their values, so that nothing moves.
          figuresOf={requests === null ? undefined : (name) => figures.get(name) ?? (requests ? '–' : '…')}
        />
      )}
    </Groups>
  )
}

interface EndpointTableProps {
  endpoints: readonly Listed[]
  /** For admins. */
  cached?: ReadonlyMap<string, Cache['endpoints'][number]>
  /** Undefined: statistics are off. */
  figuresOf?: ((name: string) => Figures | '…' | '–') | undefined
}

function EndpointTable({ endpoints, cached, figuresOf }: EndpointTableProps) {
  const columns = [
    ['Name'],
    ['Cache', 'optional'],
    ...(cached ? [['Newest result', 'right optional'] as const] : []),
    ...(figuresOf
      ? ['Requests today', 'p95', 'Cache hits', 'Errors'].map((title) => [title, 'right optional'] as const)
      : []),
  ] as const
  return (
    <Table columns={columns}>
      {endpoints.map((endpoint) => (
        <EndpointRow
          key={endpoint.id}
          endpoint={endpoint}
          cached={cached?.get(endpoint.id)}
          admin={cached !== undefined}
          figures={figuresOf?.(endpoint.name) ?? null}
        />
      ))}
    </Table>
  )
}

interface EndpointRowProps {
  endpoint: Listed
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
        <NameLink href={`/console/endpoints/${encodeURIComponent(name)}`} name={name} />{' '}
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
