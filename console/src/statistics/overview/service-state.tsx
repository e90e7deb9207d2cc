import type { Requests, Status, Usage } from '../../api/shapes.ts'
import { Figure } from '../../ui/facts.tsx'
import { bytes, counted, percent, short, sum } from '../../ui/text/format.ts'

interface Loading<T> {
  data: T | undefined
  error: Error | null
}

interface ServiceStateProps {
  status: Loading<Status>
  usage: Loading<Usage>
  /** Requests of the range, where they are recorded. */
  totals: Requests['totals'] | undefined
}

/** Engine, cache, disk and entries as they are now. */
export function ServiceState({ status, usage, totals }: ServiceStateProps) {
  const { data } = usage
  // A part of the page that failed shows the error.
  const unknown = usage.error ? '–' : '…'
  return (
    <dl className="figures eight">
      {status.data ? (
        <EngineFigure status={status.data} />
      ) : (
        <Figure name="Engine" value={status.error ? '–' : '…'} under={status.error?.message} />
      )}
      {data ? (
        <CacheFigure cache={data.cache} totals={totals} />
      ) : (
        <Figure name="Cache hits" value={unknown} />
      )}
      {data ? <DiskFigure usage={data} /> : <Figure name="On disk" value={unknown} />}
      <Figure
        name="Entries stored"
        value={data ? short(sum(data.sources.map(({ entries }) => entries))) : unknown}
        under={
          data &&
          `in ${data.sources.filter(({ entries }) => entries > 0).length} of ${counted(data.sources.length, 'source')}`
        }
      />
    </dl>
  )
}

function EngineFigure({ status: { ready, reason, engine } }: { status: Status }) {
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

/** Without statistics, the hits since the start. */
function CacheFigure({ cache, totals }: { cache: Usage['cache'] } & Pick<ServiceStateProps, 'totals'>) {
  const { results, bytes: size, max_bytes, stale, misses, joined } = cache
  const hits = totals?.hits ?? cache.hits + stale
  const requests = totals?.requests ?? hits + misses + joined
  return (
    <Figure
      name="Cache hits"
      value={percent(requests > 0 ? hits / requests : null)}
      under={`${counted(results, 'result')}, ${bytes(size)} of ${bytes(max_bytes)}`}
    />
  )
}

function DiskFigure({ usage: { disk, sources } }: { usage: Usage }) {
  return (
    <Figure
      name="On disk"
      value={bytes(sum(sources.map((source) => source.bytes)))}
      under={disk === null ? 'on a ClickHouse server' : `${bytes(disk.free_bytes)} free`}
    />
  )
}
