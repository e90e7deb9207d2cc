import { useMemo } from 'react'
import { LazyPlot } from './lazy-plot.tsx'
import type { PlotProps } from './plot.tsx'

type NameSeriesProps = Pick<PlotProps, 'label' | 'series' | 'kind' | 'height'> & { names: readonly string[] }

/** Numbers by name, such as requests by path. */
export function NameSeries({ names, ...rest }: NameSeriesProps) {
  const points = useMemo(() => names.map((_, index) => index), [names])
  return (
    <LazyPlot
      {...rest}
      names={names}
      points={points}
      isUtc={false}
      pointText={(index) => names[index] ?? ''}
    />
  )
}
