import { Suspense, useMemo } from 'react'
import { lazily } from '../ui/lazily.ts'
import { Waiting } from '../ui/states.tsx'
import type { ChartKind, Series } from './series.ts'

const Plot = lazily(() => import('./plot.tsx'))

interface NameSeriesProps {
  label: string
  names: readonly string[]
  series: readonly Series[]
  kind: ChartKind
  height?: number
}

/** Numbers by name, such as requests by path. */
export function NameSeries({ label, names, series, kind, height = 260 }: NameSeriesProps) {
  const points = useMemo(() => names.map((_, index) => index), [names])
  return (
    <Suspense fallback={<Waiting what="the chart" height={height + 36} />}>
      <Plot
        key={series.map(({ name }) => name).join('\n')}
        label={label}
        points={points}
        names={names}
        series={series}
        kind={kind}
        height={height}
        isUtc={false}
        pointText={(index) => names[index] ?? ''}
      />
    </Suspense>
  )
}
