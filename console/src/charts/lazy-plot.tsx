import { Suspense } from 'react'
import { lazily } from '../ui/lazily.ts'
import { Waiting } from '../ui/states.tsx'
import type { PlotProps } from './plot.tsx'

const Plot = lazily(() => import('./plot.tsx'))

/** Loaded after the page, because the library is large. */
export function LazyPlot(props: PlotProps) {
  return (
    <Suspense fallback={<Waiting what="the chart" height={props.height + 36} />}>
      {/* A hidden series stays hidden only while the chart shows the same ones. */}
      <Plot key={props.series.map(({ name }) => name).join('\n')} {...props} />
    </Suspense>
  )
}
