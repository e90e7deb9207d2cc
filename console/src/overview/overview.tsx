import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { EndpointStat, Status, Usage } from '../api/api-types.ts'
import { queries, statsEndpoint } from '../api/queries.ts'
import { Breakable } from '../ui/breakable.tsx'
import { bytes, count, milliseconds, percent, short } from '../ui/format.ts'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetBox } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Spark } from '../ui/spark.tsx'
import { Empty, Loaded } from '../ui/states.tsx'

export default function Overview() {
  const status = useQuery(queries.status())
  const usage = useQuery(queries.usage())
  const stats = useQuery(queries.stats('1hr'))
  return (
    <div className="page">
      <PageHead title="Overview" />
      <dl className="figures eight">
        <EngineFigure status={status.data} />
        <ArrivalFigures usage={usage.data} />
        <DiskFigure usage={usage.data} />
        <CallFigures stats={stats.data && others(stats.data)} />
      </dl>
      <section className="stack" aria-labelledby="arriving">
        <h2 id="arriving">Arriving</h2>
        <Loaded query={usage} what="the sources" height={360}>
          {(data) => <Arriving usage={data} />}
        </Loaded>
      </section>
    </div>
  )
}

/** Without the calls that show these figures: of those nobody wants to know. */
function others(stats: readonly EndpointStat[]): EndpointStat[] {
  return stats.filter(({ endpoint }) => endpoint !== statsEndpoint)
}

function Figure({ name, value, under }: { name: string; value: ReactNode; under?: ReactNode }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd className="under">{under}</dd>
    </div>
  )
}

function EngineFigure({ status }: { status: Status | undefined }) {
  if (!status) return <Figure name="Engine" value="…" />
  const { engine } = status
  const restarts = engine.restarts === 0 ? 'no restart' : `${engine.restarts} restarts`
  return (
    <Figure
      name="Engine"
      value={
        <span className={`badge ${status.ready ? 'good' : 'bad'}`}>
          <span className="dot" />
          {status.ready ? 'Ready' : 'Not ready'}
        </span>
      }
      under={
        status.ready ? `ClickHouse ${engine.version ?? ''}, ${restarts}` : (status.reason ?? engine.reason)
      }
    />
  )
}

/** The last minute that is over. */
const lastWhole = (values: readonly number[]) => values.at(-2) ?? 0

function ArrivalFigures({ usage }: { usage: Usage | undefined }) {
  if (!usage) {
    return (
      <>
        <Figure name="Entries per minute" value="…" />
        <Figure name="Entries held" value="…" />
      </>
    )
  }
  const now = usage.sources.reduce((sum, { per_minute }) => sum + lastWhole(per_minute), 0)
  const held = usage.sources.reduce((sum, { entries }) => sum + entries, 0)
  const filled = usage.sources.filter(({ entries }) => entries > 0).length
  return (
    <>
      <Figure name="Entries per minute" value={short(now)} under="last whole minute" />
      <Figure
        name="Entries held"
        value={short(held)}
        under={`in ${filled} of ${usage.sources.length} sources`}
      />
    </>
  )
}

function CallFigures({ stats }: { stats: EndpointStat[] | null | undefined }) {
  const note = stats === null ? 'not recorded here' : 'last hour'
  const unknown = stats === null ? '–' : '…'
  const calls = stats?.reduce((sum, row) => sum + row.calls, 0) ?? 0
  const errors = stats?.reduce((sum, row) => sum + row.errors, 0) ?? 0
  const weighted = (of: (row: EndpointStat) => number | null) =>
    stats && calls > 0 ? stats.reduce((sum, row) => sum + (of(row) ?? 0) * row.calls, 0) / calls : null
  const slowest = stats?.reduce((most, row) => Math.max(most, row.p95_ms ?? 0), 0) ?? 0
  const known = stats ? undefined : unknown
  return (
    <>
      <Figure
        name="Calls per minute"
        value={known ?? short(calls / 60)}
        under={stats ? `${count(calls)} in the ${note}` : note}
      />
      <Figure name="From the cache" value={known ?? percent(weighted((row) => row.hit_ratio))} under={note} />
      <Figure
        name="p95 of a call"
        value={known ?? (calls > 0 ? milliseconds(slowest) : '–')}
        under={stats ? 'slowest endpoint and minute' : note}
      />
      <Figure name="Errors" value={known ?? count(errors)} under={note} />
    </>
  )
}

function DiskFigure({ usage }: { usage: Usage | undefined }) {
  if (!usage) return <Figure name="On disk" value="…" />
  const used = usage.sources.reduce((sum, source) => sum + source.bytes, 0)
  const { disk } = usage
  const full = disk !== null && disk.free_bytes < disk.reserve_bytes
  return (
    <Figure
      name="On disk"
      value={bytes(used)}
      under={
        disk === null
          ? 'of a ClickHouse server'
          : full
            ? 'Too little is free: logs are refused'
            : `${bytes(disk.free_bytes)} free`
      }
    />
  )
}

function Arriving({ usage }: { usage: Usage }) {
  const busy = usage.sources
    .filter(({ entries }) => entries > 0)
    .toSorted((one, other) => sum(other.per_minute) - sum(one.per_minute) || other.entries - one.entries)
  const [send] = sendSnippets(location.origin, 'edge_logs')
  if (busy.length === 0) {
    return (
      <Empty title="No entries yet">
        <p>
          Send one, with a token of the scope <code>ingest</code>, and watch it arrive here:
        </p>
        <SnippetBox text={send?.text ?? ''} label="Send an entry" />
        <p>
          Other senders are on the page of <Link href="/console/sources">each source</Link>.
        </p>
      </Empty>
    )
  }
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Last hour</th>
            <th scope="col" className="right">
              Last minute
            </th>
            <th scope="col" className="right optional">
              Entries
            </th>
            <th scope="col" className="right optional">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {busy.map(({ name, entries, bytes: size, per_minute }) => (
            <tr key={name}>
              <td>
                <Link className="name" href={`/console/explore?source=${name}`}>
                  <Breakable text={name} />
                </Link>
              </td>
              <td>
                <Spark values={per_minute} label="Entries in the last hour" />
              </td>
              <td className="right">{count(lastWhole(per_minute))}</td>
              <td className="right optional">{count(entries)}</td>
              <td className="right optional">{bytes(size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
