import type { Requests } from '../../api/shapes.ts'
import { NameLink, Table } from '../../ui/table.tsx'
import { count, counted, milliseconds, percent } from '../../ui/text/format.ts'
import { Part, type PartQuery } from '../part.tsx'
import { type Range, usageLink } from '../time-range.tsx'

type Ranked = Requests['endpoints'][number]

interface Ranking {
  title: string
  column: string
  rank: (one: Ranked) => number
  value: (one: Ranked) => string
  under: (one: Ranked, requests: Requests) => string
  empty: string
  list?: 'failed'
}

const rankings: readonly Ranking[] = [
  {
    title: 'Top endpoints',
    column: 'Requests',
    rank: ({ requests }) => requests,
    value: ({ requests }) => count(requests),
    under: ({ requests, hits }) => `${percent(hits / requests)} cache hits`,
    empty: 'No requests.',
  },
  {
    title: 'Slowest endpoints',
    column: 'p95',
    rank: ({ p95_ms }) => p95_ms ?? 0,
    value: ({ p95_ms }) => milliseconds(p95_ms),
    under: ({ requests }) => counted(requests, 'request'),
    empty: 'No requests.',
  },
  {
    title: 'Failing endpoints',
    column: 'Errors',
    rank: ({ errors }) => errors,
    value: ({ errors }) => count(errors),
    under: ({ endpoint, errors, requests }, { codes }) =>
      [
        `${percent(errors / requests)} of requests`,
        ...codes.filter((one) => one.endpoint === endpoint).map(({ code }) => code),
      ].join(' · '),
    empty: 'No request failed.',
    list: 'failed',
  },
]

const maxRows = 5

/** Each endpoint links to the page with its requests over time. */
export function EndpointRankings({ query, range }: { query: PartQuery<Requests>; range: Range }) {
  return (
    <div className="parts three">
      {rankings.map(({ title, column, rank, value, under, empty, list }) => (
        <Part key={title} title={title} query={query} height={160}>
          {(requests) => {
            const ranked = requests.endpoints
              .filter((one) => rank(one) > 0)
              .toSorted((one, other) => rank(other) - rank(one))
              .slice(0, maxRows)
            if (ranked.length === 0) return <p className="card-body soft">{empty}</p>
            return (
              <Table columns={[['Endpoint'], [column, 'right']]}>
                {ranked.map((one) => (
                  <tr key={one.endpoint}>
                    <td>
                      <NameLink href={usageLink(one.endpoint, range, list)} name={one.endpoint} />
                      <div className="under">{under(one, requests)}</div>
                    </td>
                    <td className="right">{value(one)}</td>
                  </tr>
                ))}
              </Table>
            )
          }}
        </Part>
      ))}
    </div>
  )
}
