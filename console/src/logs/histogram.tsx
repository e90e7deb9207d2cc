import { type PointerEvent, useRef, useState } from 'react'
import type { Histogram as Counts } from '../api/shapes.ts'
import { count, counted, sum } from '../ui/format.ts'
import { showInstant, useZone } from '../ui/instants.ts'

interface HistogramProps {
  counts: Counts | undefined
  /** Whether the counts belong to an earlier search. */
  isOld: boolean
  hasFailed: boolean
  fromMs: number
  toMs: number
  onRange: (fromMs: number, toMs: number) => void
}

const width = 1000
const height = 84

/** Entries over time. Dragging selects a range; the range field does the same without a pointer. */
export function Histogram({ counts, isOld, hasFailed, fromMs, toMs, onRange }: HistogramProps) {
  const zone = useZone()
  const [brush, setBrush] = useState<[number, number]>()
  const box = useRef<SVGSVGElement>(null)
  const buckets = counts?.buckets ?? []
  const step = (counts?.bucket_seconds ?? 60) * 1000
  const highest = Math.max(1, ...buckets.map((bucket) => bucket.count))
  const total = counted(sum(buckets.map((bucket) => bucket.count)), 'entry', 'entries')
  const place = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * width
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
  const text = counts
    ? `${total} from ${showInstant(fromMs, zone, 'seconds')} to ${showInstant(toMs, zone, 'seconds')}`
    : ''
  return (
    <figure className={isOld ? 'old' : undefined} aria-busy={isOld}>
      <svg
        ref={box}
        className="histogram"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={text || 'Counting'}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setBrush([under(event), under(event)])
        }}
        onPointerMove={(event) => brush && setBrush([brush[0], under(event)])}
        onPointerUp={end}
        onPointerCancel={() => setBrush(undefined)}
      >
        {buckets.map((bucket) => {
          const from = Math.max(0, place(bucket.timestamp / 1000))
          const to = Math.min(width, place(bucket.timestamp / 1000 + step))
          const size = Math.max(1.5, (bucket.count / highest) * (height - 4))
          return (
            <rect
              key={bucket.timestamp}
              className="bar"
              x={from}
              y={height - size}
              width={Math.max(0.8, to - from - 1)}
              height={size}
            >
              <title>{`${showInstant(bucket.timestamp / 1000, zone, 'seconds')}: ${count(bucket.count)}`}</title>
            </rect>
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
      <figcaption className="axis">
        <span>{showInstant(fromMs, zone, 'short')}</span>
        <span role="status">
          {counts ? total : hasFailed ? 'The entries could not be counted.' : '\u00a0'}
        </span>
        <span>{showInstant(toMs, zone, 'short')}</span>
      </figcaption>
    </figure>
  )
}
