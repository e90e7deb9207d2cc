import { useMemo } from 'react'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { LazyPlot } from './lazy-plot.tsx'
import type { PlotProps } from './plot.tsx'
import { stepOf, withGaps } from './time-gaps.ts'

const dayMs = 86_400_000

interface TimeSeriesProps extends Pick<PlotProps, 'label' | 'series' | 'kind' | 'height'> {
  /** Milliseconds, sorted and unique. */
  timestamps: readonly number[]
  /** Whether the times are midnights in UTC that stand for days. */
  isDays?: boolean
}

/** Numbers over time. Stacked series are bars on top of each other. */
export function TimeSeries({ timestamps, series, isDays = false, ...rest }: TimeSeriesProps) {
  const zone = useZone()
  // Pages fetch the same numbers again and again.
  const content = JSON.stringify([timestamps, series])
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal numbers need no new plot
  const drawn = useMemo(() => withGaps(timestamps, series), [content])
  const last = timestamps.at(-1) ?? 0
  const step = stepOf(timestamps)
  // Buckets begin at whole minutes, hours or days; other times are instants.
  const isRunning = step !== undefined && last % Math.min(step, dayMs) === 0 && last + step > Date.now()
  return (
    <LazyPlot
      {...rest}
      isRunning={isRunning}
      points={drawn.seconds}
      series={drawn.series}
      isUtc={isDays || zone === 'utc'}
      pointText={(index) => {
        const ms = (drawn.seconds[index] ?? 0) * 1000
        return isDays ? showInstant(ms, 'utc').slice(0, 10) : timeText(ms, zone)
      }}
    />
  )
}

function timeText(ms: number, zone: 'local' | 'utc'): string {
  return `${showInstant(ms, zone, ms % 1000 === 0 ? 'seconds' : 'full')}${zone === 'utc' ? ' UTC' : ''}`
}
