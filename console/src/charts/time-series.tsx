import { Suspense, useMemo } from 'react'
import { showInstant, useZone } from '../ui/instants.ts'
import { lazily } from '../ui/lazily.ts'
import { Waiting } from '../ui/states.tsx'
import type { ChartKind, Series } from './series.ts'
import { withGaps } from './time-gaps.ts'

const Plot = lazily(() => import('./plot.tsx'))

interface TimeSeriesProps {
  label: string
  /** Milliseconds, sorted and unique. */
  timestamps: readonly number[]
  series: readonly Series[]
  kind: ChartKind
  height?: number
  /** Whether the times are midnights in UTC that stand for days. */
  isDays?: boolean
  /** Called with milliseconds when a range is dragged. Without it, dragging zooms in. */
  onRange?: (fromMs: number, toMs: number) => void
}

/** Numbers over time. Stacked series are bars on top of each other. */
export function TimeSeries(props: TimeSeriesProps) {
  const { label, timestamps, series, kind, height = 260, isDays = false, onRange } = props
  const zone = useZone()
  // Pages fetch the same numbers again and again.
  const content = JSON.stringify([timestamps, series])
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal numbers need no new plot
  const drawn = useMemo(() => withGaps(timestamps, series), [content])
  return (
    <Suspense fallback={<Waiting what="the chart" height={height + 36} />}>
      <Plot
        // A hidden series stays hidden only while the chart shows the same ones.
        key={series.map(({ name }) => name).join('\n')}
        label={label}
        points={drawn.seconds}
        series={drawn.series}
        kind={kind}
        height={height}
        isUtc={isDays || zone === 'utc'}
        pointText={(index) => {
          const ms = (drawn.seconds[index] ?? 0) * 1000
          return isDays ? showInstant(ms, 'utc').slice(0, 10) : timeText(ms, zone)
        }}
        onRange={onRange && ((from, to) => onRange(Math.floor(from * 1000), Math.ceil(to * 1000)))}
      />
    </Suspense>
  )
}

function timeText(ms: number, zone: 'local' | 'utc'): string {
  return `${showInstant(ms, zone, ms % 1000 === 0 ? 'seconds' : 'full')}${zone === 'utc' ? ' UTC' : ''}`
}
