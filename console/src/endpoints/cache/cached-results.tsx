import type { EndpointCacheState } from '../../api/shapes.ts'
import { Table } from '../../ui/table.tsx'
import { bytes, count, counted, seconds } from '../../ui/text/format.ts'

type CachedResult = EndpointCacheState['results'][number]

const columns = [
  ['Parameters'],
  ['State'],
  ['Age', 'right optional'],
  ['Next refresh', 'right optional'],
  ['Expires', 'right optional'],
  ['Size', 'right optional'],
  ['Uses', 'right'],
  ['Last used', 'right optional'],
] as const

const maxValue = 120
const states = { fresh: 'good', stale: 'warn', expired: '' } as const
const after = (value: number) => `in ${seconds(value)}`

export function CachedResults({ results }: { results: readonly CachedResult[] }) {
  return (
    <Table columns={columns} label="Cached results, most used first">
      {results.map((result) => (
        <tr key={result.key}>
          <td>
            <Parameters result={result} />
            <div className="under narrow-only">
              {seconds(result.age_seconds)} old
              {result.refresh_in_seconds !== null && ` · refresh ${after(result.refresh_in_seconds)}`} ·{' '}
              {bytes(result.bytes)} · used {seconds(result.last_used_seconds)} ago
            </div>
          </td>
          <td>
            <span className={`badge ${states[result.state]}`}>{result.state}</span>{' '}
            {result.warm && <span className="badge">warm</span>}{' '}
            {result.failure !== null && (
              <span className="badge bad" title="The last refresh failed with this error.">
                {result.failure}
              </span>
            )}
          </td>
          <td className="right optional">{seconds(result.age_seconds)}</td>
          <td className="right optional">
            {result.refresh_in_seconds === null ? '–' : after(result.refresh_in_seconds)}
          </td>
          <td className="right optional">
            {result.state === 'expired' ? '–' : after(result.expires_in_seconds)}
          </td>
          <td
            className="right optional"
            title={result.rows === null ? undefined : counted(result.rows, 'row')}
          >
            {bytes(result.bytes)}
          </td>
          <td className="right">{count(result.uses)}</td>
          <td className="right optional">{seconds(result.last_used_seconds)} ago</td>
        </tr>
      ))}
    </Table>
  )
}

function Parameters({ result: { parameters, project, format } }: { result: CachedResult }) {
  const named = Object.entries(parameters)
  return (
    <>
      {named.length === 0 ? (
        <span className="faint">no parameters</span>
      ) : (
        <span className="mono example">
          {named
            .map(
              ([name, value]) =>
                `${name}=${value.length > maxValue ? `${value.slice(0, maxValue)}…` : value}`,
            )
            .join(' ')}
        </span>
      )}
      <div className="under">
        {format}
        {project !== null && `, for tokens of project ${project}`}
      </div>
    </>
  )
}
