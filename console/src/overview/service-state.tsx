import type { Status, Usage } from '../api/shapes.ts'
import { Figure } from '../ui/figure.tsx'
import { bytes, counted, percent, short, sum } from '../ui/format.ts'

/** Engine, cache, disk and entries as they are now. */
export function ServiceState({ status, usage }: { status: Status | undefined; usage: Usage | undefined }) {
  return (
    <dl className="figures eight" aria-label="State of the service">
      <EngineFigure status={status} />
      <CacheFigure usage={usage} />
      <DiskFigure usage={usage} />
      <Figure
        name="Entries stored"
        value={usage ? short(sum(usage.sources.map(({ entries }) => entries))) : '…'}
        under={
          usage &&
          `in ${usage.sources.filter(({ entries }) => entries > 0).length} of ${counted(usage.sources.length, 'source')}`
        }
      />
    </dl>
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

function CacheFigure({ usage }: { usage: Usage | undefined }) {
  if (!usage) return <Figure name="Cache" value="…" />
  const { results, bytes: size, max_bytes, hits, misses } = usage.cache
  const looked = hits + misses
  return (
    <Figure
      name="Cache hits"
      value={percent(looked > 0 ? hits / looked : null)}
      under={`${counted(results, 'result')}, ${bytes(size)} of ${bytes(max_bytes)}`}
    />
  )
}

function DiskFigure({ usage }: { usage: Usage | undefined }) {
  if (!usage) return <Figure name="On disk" value="…" />
  const { disk, sources } = usage
  return (
    <Figure
      name="On disk"
      value={bytes(sum(sources.map((source) => source.bytes)))}
      under={disk === null ? 'on a ClickHouse server' : `${bytes(disk.free_bytes)} free`}
    />
  )
}
