import { Suspense, useMemo, useState } from 'react'
import type { Column, Row } from '../../api/api-types.ts'
import { Choices } from '../../ui/choices.tsx'
import { lazily } from '../../ui/lazily.ts'
import { Empty, Waiting } from '../../ui/states.tsx'
import { chartSeriesOf } from './chart-series.ts'

const TimeChart = lazily(() => import('./time-chart.tsx'))

/** Rows over time, as lines; split by a column where that tells rows of one instant apart. */
export function ResultChart({ rows, columns }: { rows: readonly Row[]; columns: readonly Column[] }) {
  const [measure, setMeasure] = useState<string>()
  const drawn = useMemo(() => chartSeriesOf(rows, columns, measure), [rows, columns, measure])
  if (!drawn) {
    return (
      <Empty title="Nothing to draw">
        <p>
          A chart needs two instants or more in a column of time, and a column of numbers. Rows of the same
          instant must differ in a column of text, such as a name, whose values come back.
        </p>
      </Empty>
    )
  }
  const { seconds, series, split } = drawn
  return (
    <div className="card card-body">
      {split && (
        <div className="tabs-line">
          {split.measures.length > 1 ? (
            <Choices
              label="What is drawn"
              options={split.measures.map((name) => [name, name] as const)}
              value={split.measure}
              onChange={setMeasure}
            />
          ) : (
            <span className="soft">{split.measure}</span>
          )}
          <span className="faint">
            by {split.by}
            {split.left > 0 && `, the ${series.length} largest of ${series.length + split.left}`}
          </span>
        </div>
      )}
      <Suspense fallback={<Waiting what="the chart" height={340} />}>
        <TimeChart
          key={series.map(({ name }) => name).join()}
          seconds={seconds}
          series={series}
          isOneMeasure={split !== undefined}
        />
      </Suspense>
    </div>
  )
}
