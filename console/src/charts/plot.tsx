import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTheme } from '../ui/brand/theme.ts'
import { toggled } from '../ui/toggled.ts'
import { lastLabelPx, nameAxis, sideSize, timeSteps, timeTicks, utcDate, wholeSteps } from './axes.ts'
import { barPaths, barRange, isBetterAsBars, isSparse, minSparseBarPx, slotOf, stacksFor } from './bars.ts'
import { type ChartKind, colorsOf, commonUnit, type Series, summaryOf, valueText } from './series.ts'
import { loneValues } from './time-gaps.ts'

export interface PlotProps {
  label: string
  /** Seconds, or positions of names. */
  points: readonly number[]
  /** Names of the points; undefined where they are times. */
  names?: readonly string[]
  series: readonly Series[]
  kind: ChartKind
  height: number
  isUtc: boolean
  /** Whether the last point is a bucket that is still being filled. */
  isRunning?: boolean
  /** The point in words. */
  pointText: (index: number) => string
}

/** The legend toggles series and shows the values under the pointer, or else the last ones. Arrow keys move the pointer. */
export default function Plot(props: PlotProps) {
  const { label, points, names, series, kind, height, isUtc, isRunning = false, pointText } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const left = useRef(-1)
  const summary = useId()
  const theme = useTheme()
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState<number | null>(null)
  const isTime = names === undefined
  const isLines = (kind === 'lines' || kind === 'area') && !(isTime && isBetterAsBars(series, points))
  const words = useMemo(() => summaryOf(series), [series])
  const colors = useMemo(() => colorsOf(series), [series])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colors
  useEffect(() => {
    const element = box.current as HTMLDivElement
    // A canvas needs resolved colors.
    const color = (name: string) => {
      element.style.color = `var(--${name})`
      return getComputedStyle(element).color
    }
    const shown = series.filter(({ name }) => !hidden.has(name))
    const stacks = stacksFor(kind, shown)
    const hasScratches = isTime && isSparse(shown, points)
    const minPx = hasScratches ? minSparseBarPx : 1
    const slot = slotOf(points, isTime)
    const groupPx = hasScratches ? minPx * (stacks.length > 0 ? 1 : shown.length) : 0
    const range = barRange({ points, isTime, slot, least: groupPx / Math.max(1, element.clientWidth) })
    const unit = commonUnit(shown)
    const incrs = timeSteps(points, slot)
    const isWhole =
      unit === undefined && shown.every(({ values }) => values.every((one) => Number.isInteger(one ?? 0)))
    const axis = {
      stroke: color('faint'),
      grid: { stroke: color('line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
    }
    const drawn = (one: Series): uPlot.Series => {
      const look = colors[series.indexOf(one)]
      const stroke = color(look?.color ?? 'text')
      const isPale = look?.isPale ?? false
      if (isLines) {
        return {
          stroke,
          width: 1.6,
          dash: isPale ? [5, 4] : [],
          ...((series.length === 1 || kind === 'area') && {
            fill: pale(stroke, kind === 'area' ? 0.25 : 0.1),
          }),
          spanGaps: false,
          points: pointsOf(one.values),
        }
      }
      const place = shown.indexOf(one)
      const bar = stacks[place]
        ? { place: 0, of: 1, bases: stacks[place].bases }
        : { place, of: shown.length }
      const fill = isPale ? pale(stroke, 0.45) : stroke
      return { stroke, fill, points: { show: false }, paths: barPaths({ ...bar, slot, minPx }) }
    }
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        padding: [10, names ? 10 : lastLabelPx, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { show: isLines, size: 6 },
          drag: { x: isTime, y: false },
        },
        ...(isUtc && { tzDate: utcDate }),
        axes: [
          {
            ...axis,
            ...(names
              ? nameAxis(names)
              : { values: timeTicks, space: 64, size: 40, ...(incrs && { incrs }) }),
          },
          {
            ...axis,
            space: 26,
            size: sideSize,
            ...(isWhole && { incrs: wholeSteps }),
            values: (_plot, ticks) => ticks.map((tick) => valueText(tick, unit)),
          },
        ],
        scales: {
          x: {
            time: isTime,
            ...((!isLines || points.length < 2) && { range: (_plot, from, to) => range(from, to) }),
          },
          y: { range: (_plot, low, high) => yRange(low, high) },
        },
        // Each area begins where the one below ends.
        bands: isLines ? stacks.slice(1).map((_, index) => ({ series: [index + 2, index + 1] })) : [],
        series: [{}, ...shown.map(drawn)],
        hooks: {
          draw: isRunning
            ? [fadeLast(isLines ? slot : slot / 2, groupPx / 2, pale(color('surface'), 0.6))]
            : [],
          setCursor: [
            ({ cursor }) => {
              left.current = cursor.left ?? -1
              setAt(cursor.idx ?? null)
            },
          ],
        },
      },
      [[...points], ...shown.map(({ values }, index) => stacks[index]?.tops ?? values)],
      element,
    )
    plot.current = made
    // New data arrives while the pointer rests.
    if (left.current >= 0) made.setCursor({ left: left.current, top: 0 })
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    watcher.observe(element)
    return () => {
      watcher.disconnect()
      made.destroy()
    }
  }, [points, names, series, kind, height, isUtc, isRunning, hidden, theme])

  const last = points.length - 1
  const chosen = Math.min(at ?? last, last)
  const onKey = (event: KeyboardEvent) => {
    const next = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: last }[event.key]
    const to = next === undefined ? undefined : points[Math.min(last, Math.max(0, next))]
    if (to === undefined || plot.current === undefined) return
    event.preventDefault()
    plot.current.setCursor({ left: plot.current.valToPos(to, 'x'), top: 0 })
  }
  const chosenText = `${pointText(chosen)}${isRunning && chosen === last ? ', so far' : ''}`
  const valueAt = ({ values, unit }: Series) => valueText(values[chosen], unit)
  return (
    <div className="plot">
      <div className="legend" role="group" aria-label={`Series of ${label}`}>
        {series.map((one, index) => (
          <button
            key={one.name}
            type="button"
            aria-pressed={!hidden.has(one.name)}
            disabled={series.length === 1}
            onClick={() => setHidden(toggled(hidden, one.name))}
          >
            <i
              className={colors[index]?.isPale ? 'dashed' : undefined}
              style={{ color: `var(--${colors[index]?.color})` }}
            />
            <span className="name">{one.name}</span>
            <output aria-live="off">{valueAt(one)}</output>
          </button>
        ))}
        <span className="faint number">{chosenText}</span>
      </div>
      <div
        className="chart"
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-describedby={summary}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={chosen}
        aria-valuetext={`${chosenText}: ${series.map((one) => `${one.name} ${valueAt(one)}`).join(', ')}`}
        onKeyDown={onKey}
      />
      <p id={summary} className="hidden-text">
        {words}
      </p>
    </div>
  )
}

/** Pales what is drawn of the last point. */
const fadeLast = (width: number, px: number, color: string) => (plot: uPlot) => {
  const { left, top, width: all, height } = plot.bbox
  const from = plot.valToPos((plot.data[0].at(-1) ?? 0) - width, 'x', true) - px * devicePixelRatio
  plot.ctx.fillStyle = color
  // A zoomed chart may not reach it.
  if (from < left + all)
    plot.ctx.fillRect(Math.max(left, from), top, left + all - Math.max(left, from), height)
}

/** Zero is always visible, so that sizes can be compared. */
function yRange(low: number | null, high: number | null): [number, number] {
  const [from, to] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)]
  return from === to ? [0, 1] : [from * 1.06, to * 1.06]
}

/** A color as `getComputedStyle` writes it, transparent. */
const pale = (color: string, alpha: number) => color.replace('rgb(', 'rgba(').replace(')', `, ${alpha})`)

/** Marks all points of a short line, and otherwise only points without a line. */
function pointsOf(values: readonly (number | null)[]): uPlot.Series.Points {
  if (values.length < 40) return { show: true, size: 5 }
  const lone = loneValues(values)
  return { show: false, size: 5, filter: () => lone }
}
