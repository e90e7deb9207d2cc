import { useMemo } from 'react'
import { LazyPlot } from './lazy-plot.tsx'
import { NameBars } from './name-bars.tsx'
import type { PlotProps } from './plot.tsx'

type NameSeriesProps = Pick<PlotProps, 'label' | 'series' | 'kind' | 'height'> & { names: readonly string[] }

/** Longer names would be tilted and cut. */
const maxName = 12

/** Numbers by name, such as requests by path. */
export function NameSeries({ names, ...rest }: NameSeriesProps) {
  const { series, kind } = rest
  const points = useMemo(() => names.map((_, index) => index), [names])
  const hasLongNames = names.some((name) => name.length > maxName)
  // Bars below zero need an axis.
  const canLie = kind !== 'lines' && series.every(({ values }) => values.every((value) => (value ?? 0) >= 0))
  if (hasLongNames && canLie) return <NameBars {...rest} names={names} isStacked={kind === 'stacked'} />
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
