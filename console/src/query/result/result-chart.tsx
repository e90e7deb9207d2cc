import { useMemo } from 'react'
import type { Column, Row } from '../../api/shapes.ts'
import { NameSeries } from '../../charts/name-series.tsx'
import { valueText } from '../../charts/series.ts'
import { TimeSeries } from '../../charts/time-series.tsx'
import { Figure } from '../../ui/facts.tsx'
import { Empty } from '../../ui/states.tsx'
import { count, counted, short } from '../../ui/text/format.ts'
import { type Chart, type Choice, chartColumnsOf, choiceOf, labelsOf } from './chart-choice.ts'
import { chartSeriesOf, figuresOf } from './chart-series.ts'
import { ChartSettings } from './chart-settings.tsx'
import type { Labels } from './result-columns.ts'
import { ResultTable } from './result-table.tsx'

interface ResultChartProps {
  rows: readonly Row[]
  columns: readonly Column[]
  /** Null: chosen from the columns. */
  chart: Chart | null
  labels?: Labels
  /** Undefined where the chart cannot be changed. */
  onChange?: (chart: Chart | null) => void
  hasSettings?: boolean
  /** Whether lines are filled. */
  isArea?: boolean
  height: number
}

/** Rows as a chart or as numbers, or why they cannot be drawn. */
export function ResultChart(props: ResultChartProps) {
  const { rows, columns, chart, labels, onChange, hasSettings = false, isArea = false, height } = props
  const found = useMemo(() => chartColumnsOf(rows, columns), [rows, columns])
  const choice = useMemo(() => choiceOf(rows, columns, chart), [rows, columns, chart])
  const settings = hasSettings && onChange && (
    <ChartSettings chart={chart} choice={choice} columns={found} onChange={onChange} />
  )
  if (choice.type === 'table') {
    return (
      <>
        {settings}
        <ResultTable rows={rows} columns={columns} labels={labels} />
      </>
    )
  }
  return (
    <div className="card card-body">
      {settings}
      {choice.type === 'none' ? (
        <Empty title="No chart">
          <p>{choice.why}</p>
        </Empty>
      ) : choice.type === 'number' ? (
        <Figures rows={rows} y={choice.y} time={found.times[0]} labels={labels} />
      ) : (
        <Drawing
          rows={rows}
          choice={choice}
          labels={labels}
          isArea={isArea}
          height={height}
          explains={onChange !== undefined}
          others={chart?.y.length ? [] : found.numbers.map(({ name }) => name)}
        />
      )}
    </div>
  )
}

interface FiguresProps {
  rows: readonly Row[]
  y: readonly string[]
  time: { name: string; instant: (value: unknown) => number | undefined } | undefined
  labels: Labels
}

function Figures({ rows, y, time, labels }: FiguresProps) {
  const instant = time && ((row: Row) => time.instant(row[time.name]) ?? Number.NEGATIVE_INFINITY)
  const figures = figuresOf(rows, y, instant)
  const titles = labelsOf(y, labels)
  return (
    <dl className="big-figures">
      {figures.map(({ name, value, unit }, index) => (
        <Figure
          key={name}
          name={titles[index] as string}
          value={
            value !== null && unit === undefined && Math.abs(value) >= 1 && Math.abs(value) < 1e9
              ? count(value)
              : valueText(value, unit)
          }
          under={rows.length > 1 && `${instant ? 'Latest' : 'First'} of ${counted(rows.length, 'row')}`}
        />
      ))}
    </dl>
  )
}

interface DrawingProps {
  rows: readonly Row[]
  choice: Extract<Choice, { x: unknown }>
  labels: Labels
  isArea: boolean
  height: number
  /** Whether to name the columns that were chosen and left out. */
  explains: boolean
  /** Columns of numbers, some of which may not be drawn. */
  others: readonly string[]
}

function Drawing({ rows, choice, labels, isArea, height, explains, others }: DrawingProps) {
  const { points, series, left, leftPoints } = useMemo(
    () => chartSeriesOf(rows, choice, labels),
    [rows, choice, labels],
  )
  const { type, x, y, series: by } = choice
  const label = `Chart of ${by === undefined ? series.map(({ name }) => name).join(', ') : `${y[0]} by ${by}`} over ${x.name}`
  const unused = others.filter((name) => name !== x.name && name !== by && !y.includes(name))
  const notes = [
    explains && by !== undefined && `${y[0]} by ${by}.`,
    left.length > 0 &&
      `The ${series.length} largest of ${series.length + left.length}. Not shown: ${named(left)}.`,
    explains && by === undefined && unused.length > 0 && `Not shown: ${named(unused)}.`,
    leftPoints > 0 &&
      `The first ${points.length} of ${short(points.length + leftPoints)} values of ${x.name}.`,
  ].filter(Boolean)
  const common = { label, series, kind: isArea && type === 'lines' ? ('area' as const) : type, height }
  return (
    <>
      {choice.isTime ? (
        <TimeSeries {...common} timestamps={points as number[]} isDays={x.isDays} />
      ) : (
        <NameSeries {...common} names={points as string[]} />
      )}
      {notes.length > 0 && <p className="faint">{notes.join(' ')}</p>}
    </>
  )
}

const maxNamed = 40

const named = (names: readonly string[]) =>
  names.length > maxNamed
    ? `${names.slice(0, maxNamed).join(', ')} and ${count(names.length - maxNamed)} more`
    : names.join(', ')
