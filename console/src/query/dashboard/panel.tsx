import { useMemo } from 'react'
import type { Column, Dashboard, Row } from '../../api/shapes.ts'
import { valueText } from '../../charts/series.ts'
import { Button } from '../../ui/button.tsx'
import { Figure } from '../../ui/facts.tsx'
import { Boundary, Waiting } from '../../ui/states.tsx'
import { count } from '../../ui/text/format.ts'
import { showInstant, useZone } from '../../ui/text/instants.ts'
import { type Chart, chartColumnsOf, choiceOf, labelsOf, unitOf } from '../result/chart-choice.ts'
import { ResultChart } from '../result/result-chart.tsx'
import { type Labels, wordLabels } from '../result/result-columns.ts'
import { ResultTable } from '../result/result-table.tsx'
import { callOf, changeOf, type Item } from './model.ts'
import { usePanel } from './use-panel.ts'

export interface PanelContext {
  dashboard: Pick<Dashboard, 'parameters' | 'endpoints'>
  values: Record<string, string>
  tick: 'live' | number
  token?: string | undefined
  onRefused?: ((error: Error) => void) | undefined
}

const chartHeight = 200

/** The rows of one endpoint. An error concerns this panel only; the rows of before stay. */
export function Panel({ item, context }: { item: Item; context: PanelContext }) {
  const { dashboard, values, tick, token, onRefused } = context
  const endpoint = item.endpoint as string
  const call = useMemo(() => callOf(item, dashboard, values), [item, dashboard, values])
  const isReady = call.missing.length === 0
  const { rows, error, isLoading, retry } = usePanel(endpoint, {
    values: isReady ? call.values : undefined,
    tick,
    token,
    onRefused,
  })
  const known = dashboard.endpoints.find(({ name }) => name === endpoint)
  if (!isReady) return <p className="panel-note">Choose {call.missing.join(' and ')} above.</p>
  return (
    <div className="panel-body" aria-busy={isLoading}>
      {error && (
        <div className="panel-note bad" role="alert">
          <p>{error.message}</p>
          <Button look="small" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
      {rows === undefined ? (
        !error && <Waiting what={item.title || endpoint} height={chartHeight} />
      ) : (
        <div className={isLoading ? 'stale' : ''}>
          <Boundary what="part">
            <PanelRows item={item} rows={rows} columns={known?.columns ?? []} chart={known?.chart ?? null} />
          </Boundary>
        </div>
      )}
    </div>
  )
}

interface PanelRowsProps {
  item: Item
  rows: readonly Row[]
  columns: readonly Column[]
  /** Of the endpoint. */
  chart: Chart | null
}

function PanelRows({ item, rows, columns, chart: own }: PanelRowsProps) {
  const { chart: wanted, x, y, series, labels = wordLabels } = item
  const chart = useMemo((): Chart | null => {
    const axes = { x: x ?? null, y: y ? [...y] : [], series: series ?? null }
    const isOwn = wanted === undefined && x === undefined && y === undefined && series === undefined
    if (isOwn) return own
    return { type: wanted === 'area' ? 'lines' : (wanted ?? own?.type ?? 'lines'), ...axes }
  }, [wanted, x, y, series, own])
  if (rows.length === 0) return <p className="panel-note">No data for these parameters.</p>
  const choice = choiceOf(rows, columns, chart)
  if (choice.type === 'number') {
    return <Numbers rows={rows} columns={columns} y={choice.y} labels={labels} />
  }
  // Without a chart of its own, rows that cannot be drawn are a table.
  if (choice.type === 'table' || (choice.type === 'none' && wanted === undefined)) {
    const shown = y ? columns.filter(({ name }) => y.includes(name)) : columns
    const cut = y ? rows.map((row) => Object.fromEntries(y.map((name) => [name, row[name]]))) : rows
    return <ResultTable rows={cut} columns={shown} labels={labels} />
  }
  return (
    <ResultChart
      rows={rows}
      columns={columns}
      chart={chart}
      labels={labels}
      isArea={wanted === 'area'}
      height={chartHeight}
    />
  )
}

interface NumbersProps {
  rows: readonly Row[]
  columns: readonly Column[]
  y: readonly string[]
  labels: Labels
}

function Numbers({ rows, columns, y, labels }: NumbersProps) {
  const zone = useZone()
  const titles = labelsOf(y, labels)
  const [time] = chartColumnsOf(rows, columns).times
  const instant = time && ((row: Row) => time.instant(row[time.name]))
  return (
    <dl className="big-figures">
      {y.map((name, index) => {
        const { value, change, sinceMs } = changeOf(rows, name, instant)
        const unit = unitOf(name)
        const isPlain = value !== null && unit === undefined && Math.abs(value) >= 1 && Math.abs(value) < 1e9
        return (
          <Figure
            key={name}
            name={titles[index] as string}
            value={isPlain ? count(value) : valueText(value, unit)}
            under={
              change !== undefined &&
              `${changeText(change)} since ${showInstant(sinceMs ?? 0, zone, 'short')}`
            }
          />
        )
      })}
    </dl>
  )
}

const changeText = (change: number) =>
  `${change > 0 ? '+' : change < 0 ? '−' : '±'}${Math.abs(change * 100).toFixed(Math.abs(change) < 0.1 ? 1 : 0)} %`
