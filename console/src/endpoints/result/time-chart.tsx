import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { short } from '../../ui/format.ts'
import { showInstant, useZone } from '../../ui/instants.ts'
import { useTheme } from '../../ui/theme.ts'
import { toggled } from '../../ui/toggled.ts'
import { loneValues, type Series } from './time-gaps.ts'

const height = 300

const days = 24 * 3600
/** Formats of ticks by the seconds between them, with additions at the start of a year or day. */
const tickForms: uPlot.Axis.Values = [
  [365 * days, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * days, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [days, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
]

interface TimeChartProps {
  seconds: number[]
  series: Series[]
  /** Whether all lines show the same measure. */
  isOneMeasure: boolean
}

/** Lines over time. The legend toggles lines and shows the values under the pointer. */
export default function TimeChart({ seconds, series, isOneMeasure }: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const theme = useTheme()
  const zone = useZone()
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() =>
    isOneMeasure ? new Set() : firstHidden(series),
  )
  const [at, setAt] = useState<number | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: hiding a line needs no new plot
  useEffect(() => {
    const element = box.current as HTMLDivElement
    // A canvas needs resolved colors.
    const color = (name: string) => {
      element.style.color = `var(--${name})`
      return getComputedStyle(element).color
    }
    const axis = {
      stroke: color('faint'),
      grid: { stroke: color('line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
    }
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        ...(zone === 'utc' && { tzDate: (second: number) => uPlot.tzDate(new Date(second * 1000), 'UTC') }),
        axes: [
          { ...axis, values: tickForms },
          { ...axis, size: 56, values: (_plot, ticks) => ticks.map(short) },
        ],
        scales: { y: { range: (_plot, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.06] } },
        series: [
          {},
          ...series.map(({ name, values }, index) => ({
            label: name,
            stroke: color(`series-${(index % 6) + 1}`),
            width: 1.6,
            // There are six colors.
            dash: index < 6 ? [] : [5, 4],
            show: !hidden.has(name),
            spanGaps: false,
            points: pointsOf(values),
          })),
        ],
        hooks: { setCursor: [({ cursor }) => setAt(cursor.idx ?? null)] },
      },
      [seconds, ...series.map(({ values }) => values)],
      element,
    )
    plot.current = made
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    watcher.observe(element)
    return () => {
      watcher.disconnect()
      made.destroy()
    }
  }, [seconds, series, theme, zone])

  const toggle = (name: string) => {
    const next = toggled(hidden, name)
    setHidden(next)
    plot.current?.setSeries(series.findIndex((one) => one.name === name) + 1, { show: !next.has(name) })
  }
  const label = `Chart of ${series.map(({ name }) => name).join(', ')} over ${seconds.length} points in time`
  return (
    <div className="stack">
      <div className="legend" role="group" aria-label="Lines of the chart">
        {series.map(({ name, values }, index) => (
          <button key={name} type="button" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)}>
            <i
              className={index < 6 ? undefined : 'dashed'}
              style={{ color: `var(--series-${(index % 6) + 1})` }}
            />
            {name}
            <output>{at === null ? '' : valueText(values[at])}</output>
          </button>
        ))}
      </div>
      <p className="faint number">
        {at === null ? '\u00a0' : showInstant((seconds[at] ?? 0) * 1000, zone, 'seconds')}
      </p>
      <div className="chart" ref={box} role="img" aria-label={label} />
    </div>
  )
}

/** Marks all points of a short line, and otherwise only points without a line. */
function pointsOf(values: readonly (number | null)[]): uPlot.Series.Points {
  if (values.length < 40) return { show: true, size: 5 }
  const lone = loneValues(values)
  return { show: false, size: 5, filter: () => lone }
}

function valueText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : short(value)
}

/** Initially draws only lines of similar size, because counts and durations on one axis hide each other. */
function firstHidden(series: readonly Series[]): ReadonlySet<string> {
  const highest = (values: readonly (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0))
  const most = Math.max(...series.map(({ values }) => highest(values)))
  const small = series.filter(({ values }) => highest(values) < most / 50)
  return new Set(small.length < series.length && series.length > 4 ? small.map(({ name }) => name) : [])
}
