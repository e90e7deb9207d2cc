import { type PointerEvent, useMemo, useRef, useState } from 'react'
import type { Histogram as Counts } from '../api/shapes.ts'
import { count, counted, sum } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { countOf, type SplitSeries, seriesOf } from './split-series.ts'

interface HistogramProps {
  counts: Counts | undefined
  /** Whether the counts belong to an earlier search. */
  isOld: boolean
  hasFailed: boolean
  fromMs: number
  toMs: number
  /** The field that splits it. */
  by: string | undefined
  onRange: (fromMs: number, toMs: number) => void
  /** Shows only the entries of a series; undefined where that is not possible. */
  onSeries: (name: string) => (() => void) | undefined
}

const width = 1000
const height = 84
/** Rare failures stay visible beside many successes. */
const leastSize = 2

/** Entries over time. Dragging selects a range; the range field does the same without a pointer. */
export function Histogram(props: HistogramProps) {
  const { counts, isOld, hasFailed, fromMs, toMs, by, onRange, onSeries } = props
  const zone = useZone()
  const [brush, setBrush] = useState<[number, number]>()
  const box = useRef<SVGSVGElement>(null)
  const buckets = useMemo(() => counts?.buckets ?? [], [counts])
  const series = useMemo(() => seriesOf(buckets, by), [buckets, by])
  const step = (counts?.bucket_seconds ?? 60) * 1000
  const highest = Math.max(1, ...buckets.map((bucket) => bucket.count))
  const total = counted(sum(buckets.map((bucket) => bucket.count)), 'entry', 'entries')
  const place = (ms: number) => Math.min(width, Math.max(0, ((ms - fromMs) / (toMs - fromMs)) * width))
  const under = ({ clientX }: PointerEvent) => {
    const { left, width: shown } = (box.current as SVGSVGElement).getBoundingClientRect()
    return Math.min(1, Math.max(0, (clientX - left) / shown))
  }
  const end = () => {
    if (!brush) return
    const [one, other] = brush.toSorted((a, b) => a - b) as [number, number]
    setBrush(undefined)
    if (other - one > 0.005)
      onRange(Math.floor(fromMs + one * (toMs - fromMs)), Math.ceil(fromMs + other * (toMs - fromMs)))
  }
  const range = `from ${showInstant(fromMs, zone, 'seconds')} to ${showInstant(toMs, zone, 'seconds')}`
  const parts = series.map(({ text, total }) => `, ${count(total)} ${text || 'without a value'}`).join('')
  return (
    <figure className={isOld ? 'old' : undefined} aria-busy={isOld}>
      <svg
        ref={box}
        className="histogram"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={counts ? `${total} ${range}${parts}` : 'Counting'}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setBrush([under(event), under(event)])
        }}
        onPointerMove={(event) => brush && setBrush([brush[0], under(event)])}
        onPointerUp={end}
        onPointerCancel={() => setBrush(undefined)}
      >
        {buckets.map((bucket) => {
          const ms = bucket.timestamp / 1000
          const from = place(ms)
          return (
            <g key={bucket.timestamp}>
              <title>
                {[
                  `${showInstant(ms, zone, 'seconds')}: ${count(bucket.count)}`,
                  ...linesOf(bucket, series),
                ].join('\n')}
              </title>
              {stacked(bucket, series, highest).map(({ tone, y, size }) => (
                <rect
                  key={tone + y}
                  className={tone}
                  x={from}
                  y={y}
                  width={Math.max(0.8, place(ms + step) - from - 1)}
                  height={size}
                />
              ))}
            </g>
          )
        })}
        {brush && (
          <rect
            className="brush"
            x={Math.min(...brush) * width}
            y={0}
            width={Math.abs(brush[1] - brush[0]) * width}
            height={height}
          />
        )}
      </svg>
      <figcaption>
        <div className="axis">
          <span>{showInstant(fromMs, zone, 'short')}</span>
          <span role="status">
            {counts ? total : hasFailed ? 'The entries could not be counted.' : '\u00a0'}
          </span>
          <span>{showInstant(toMs, zone, 'short')}</span>
        </div>
        {series.length > 0 && (
          <ul className="split-legend">
            {series.map((one) => (
              <li key={one.name}>
                <LegendItem {...one} onChoose={onSeries(one.name)} />
              </li>
            ))}
          </ul>
        )}
      </figcaption>
    </figure>
  )
}

function LegendItem({ text, tone, total, onChoose }: SplitSeries & { onChoose: (() => void) | undefined }) {
  const content = (
    <>
      <i className={tone} />
      {text || 'no value'} <b>{count(total)}</b>
    </>
  )
  if (!onChoose) return <span>{content}</span>
  return (
    <button type="button" title="Show only these entries" onClick={onChoose}>
      {content}
    </button>
  )
}

function linesOf(bucket: Counts['buckets'][number], series: readonly SplitSeries[]): string[] {
  return series
    .filter(({ name }) => countOf(bucket, name) > 0)
    .map(({ name, text }) => `${text || 'no value'}: ${count(countOf(bucket, name))}`)
}

/** The bar of a bucket, one part per series from the bottom. */
function stacked(bucket: Counts['buckets'][number], series: readonly SplitSeries[], highest: number) {
  const split = series.flatMap(({ name, tone }) => {
    const value = countOf(bucket, name)
    return value > 0 ? [{ tone, value }] : []
  })
  const parts = split.length > 0 ? split : [{ tone: 'bar', value: bucket.count }]
  let y = height
  return parts.map(({ tone, value }) => {
    const size = Math.max(leastSize, (value / highest) * (height - 4 - leastSize * (parts.length - 1)))
    y -= size
    return { tone, y, size }
  })
}
