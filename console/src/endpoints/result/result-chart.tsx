import { useMemo, useState } from 'react'
import type { Column, Row } from '../../api/shapes.ts'
import { TimeSeries } from '../../charts/time-series.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Empty } from '../../ui/states.tsx'
import { chartSeriesOf } from './chart-series.ts'

/** Rows as lines over time, split by a column where several rows have the same time. */
export function ResultChart({ rows, columns }: { rows: readonly Row[]; columns: readonly Column[] }) {
  const [measure, setMeasure] = useState<string>()
  const drawn = useMemo(() => chartSeriesOf(rows, columns, measure), [rows, columns, measure])
  if (!drawn) {
    return (
      <Empty title="No chart">
        <p>
          Charts need a time column with at least two points, and a number column. If several rows have the
          same time, a text column with recurring values, such as a name, must distinguish them.
        </p>
      </Empty>
    )
  }
  const { timestamps, series, split } = drawn
  return (
    <div className="card card-body">
      {split && (
        <div className="tabs-line">
          {split.measures.length > 1 ? (
            <Choices
              label="Measure"
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
      <TimeSeries
        label="Chart of the result"
        timestamps={timestamps}
        series={series}
        kind="lines"
        height={300}
      />
    </div>
  )
}
