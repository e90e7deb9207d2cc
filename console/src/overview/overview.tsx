import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queries, statsEndpoint } from '../api/queries.ts'
import type { EndpointStat, Status, Usage } from '../api/shapes.ts'
import { Figure } from '../ui/figure.tsx'
import { bytes, count, counted, milliseconds, percent, short, sum } from '../ui/format.ts'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetBox } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Spark } from '../ui/spark.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Breakable, Table } from '../ui/table.tsx'

export default function Overview() {
  const status = useQuery(queries.status())
  const usage = useQuery(queries.usage())
  // Without the requests for these statistics.
  const { data: stats } = useQuery({
    ...queries.stats('1hr'),
    select: (all) => all?.filter(({ endpoint }) => endpoint !== statsEndpoint) ?? null,
  })
  return (
    <div className="page">
      <PageHead title="Overview" />
      <dl className="figures eight">
        <EngineFigure status={status.data} />
        <EntryFigures usage={usage.data} />
        <DiskFigure usage={usage.data} />
        <RequestFigures stats={stats} />
      </dl>
      <section className="stack" aria-labelledby="sources">
        <h2 id="sources">Sources with entries</h2>
        <Loaded query={usage} what="the sources" height={360}>
          {(data) => <Sources usage={data} />}
        </Loaded>
      </section>
    </div>
  )
}

function EngineFigure({ status }: { status: Status | undefined }) {
  if (!status) return <Figure name="Engine" value="…" />
  const { ready, reason, engine } = status
  return (
    <Figure
      name="Engine"
      value={
        <span className={`badge ${ready ? 'good' : 'bad'}`}>
          <span className="dot" />
          {ready ? 'Ready' : 'Not ready'}
        </span>
      }
      under={
        ready
          ? `ClickHouse ${engine.version ?? ''}, ${counted(engine.restarts, 'restart')}`
          : (reason ?? engine.reason)
      }
    />
  )
}

/** The last minute that is over. */
const lastWhole = (values: readonly number[]) => values.at(-2) ?? 0

function EntryFigures({ usage }: { usage: Usage | undefined }) {
  const sources = usage?.sources ?? []
  const filled = sources.filter(({ entries }) => entries > 0).length
  const shown = (value: (source: Usage['sources'][number]) => number) =>
    usage ? short(sum(sources.map(value))) : '…'
  return (
    <>
      <Figure
        name="Entries per minute"
        value={shown(({ per_minute }) => lastWhole(per_minute))}
        under={usage && 'last full minute'}
      />
      <Figure
        name="Entries stored"
        value={shown(({ entries }) => entries)}
        under={usage && `in ${filled} of ${sources.length} sources`}
      />
    </>
  )
}

function DiskFigure({ usage }: { usage: Usage | undefined }) {
  if (!usage) return <Figure name="On disk" value="…" />
  const { disk, sources } = usage
  const note =
    disk === null
      ? 'on a ClickHouse server'
      : disk.free_bytes < disk.reserve_bytes
        ? 'Disk almost full: new entries are rejected'
        : `${bytes(disk.free_bytes)} free`
  return <Figure name="On disk" value={bytes(sum(sources.map((source) => source.bytes)))} under={note} />
}

function RequestFigures({ stats }: { stats: EndpointStat[] | null | undefined }) {
  const note = stats === null ? 'not recorded' : 'last hour'
  const unknown = stats ? undefined : stats === null ? '–' : '…'
  const rows = stats ?? []
  const requests = sum(rows.map(({ calls }) => calls))
  const hits = sum(rows.map(({ hit_ratio, calls }) => (hit_ratio ?? 0) * calls))
  const slowest = Math.max(0, ...rows.map(({ p95_ms }) => p95_ms ?? 0))
  return (
    <>
      <Figure
        name="Requests per minute"
        value={unknown ?? short(requests / 60)}
        under={stats ? `${count(requests)} in the last hour` : note}
      />
      <Figure
        name="Cache hits"
        value={unknown ?? percent(requests > 0 ? hits / requests : null)}
        under={note}
      />
      <Figure
        name="p95 latency"
        value={unknown ?? (requests > 0 ? milliseconds(slowest) : '–')}
        under={stats ? 'slowest endpoint and minute' : note}
      />
      <Figure name="Errors" value={unknown ?? count(sum(rows.map(({ errors }) => errors)))} under={note} />
    </>
  )
}

function Sources({ usage }: { usage: Usage }) {
  const filled = usage.sources
    .filter(({ entries }) => entries > 0)
    .toSorted((one, other) => sum(other.per_minute) - sum(one.per_minute) || other.entries - one.entries)
  if (filled.length === 0) {
    return (
      <Empty title="No entries yet">
        <p>
          Send one with a token that has the scope <code>ingest</code>:
        </p>
        <SnippetBox text={sendSnippets(location.origin, 'edge_logs')[0]?.text ?? ''} label="Send an entry" />
        <p>
          The page of <Link href="/console/sources">each source</Link> shows other ways to send entries.
        </p>
      </Empty>
    )
  }
  const columns = [
    ['Source'],
    ['Last hour'],
    ['Last minute', 'right'],
    ['Entries', 'right optional'],
    ['Size', 'right optional'],
  ] as const
  return (
    <Table columns={columns}>
      {filled.map(({ name, entries, bytes: size, per_minute }) => (
        <tr key={name}>
          <td>
            <Link className="name" href={`/console/explore?source=${name}`}>
              <Breakable text={name} />
            </Link>
          </td>
          <td>
            <Spark values={per_minute} />
          </td>
          <td className="right">{count(lastWhole(per_minute))}</td>
          <td className="right optional">{count(entries)}</td>
          <td className="right optional">{bytes(size)}</td>
        </tr>
      ))}
    </Table>
  )
}
