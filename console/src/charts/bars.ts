import type uPlot from 'uplot'
import type { ChartKind, Series } from './series.ts'

const maxBarPx = 72
/** Bars among many empty buckets are wider than their bucket, so that they can be seen. */
export const minSparseBarPx = 5

interface Stack {
  /** Where each bar begins. */
  bases: number[]
  /** Where it ends; null without a value. */
  tops: (number | null)[]
}

/** Puts values on top of each other: positive ones up and negative ones down from zero. */
export function stacksOf(series: readonly Pick<Series, 'values'>[]): Stack[] {
  const up: number[] = []
  const down: number[] = []
  return series.map(({ values }) => {
    const bases: number[] = []
    const tops = values.map((value, index) => {
      const side = value !== null && value < 0 ? down : up
      const base = side[index] ?? 0
      bases.push(base)
      if (value === null) return null
      side[index] = base + value
      return base + value
    })
    return { bases, tops }
  })
}

/** Stacks of bars, or of areas: areas on top of each other add up, beside each other they would hide each other. */
export function stacksFor(kind: ChartKind, series: readonly Pick<Series, 'values'>[]): Stack[] {
  const isNegative = series.some(({ values }) => values.some((value) => value !== null && value < 0))
  const isStacked = kind === 'stacked' || (kind === 'area' && series.length > 1 && !isNegative)
  return isStacked ? stacksOf(series) : []
}

const unitSeconds = [86_400, 3_600, 60, 1]

/** The smallest distance between two points, which a group of bars fills; of one time, the largest unit that begins there. */
export function slotOf(points: readonly number[], isTime: boolean): number {
  const gaps = points.slice(1).map((at, index) => at - (points[index] as number))
  if (gaps.length > 0) return gaps.reduce((least, gap) => Math.min(least, gap))
  return (isTime && unitSeconds.find((seconds) => (points[0] ?? 0) % seconds === 0)) || 1
}

interface BarAxis {
  points: readonly number[]
  isTime: boolean
  slot: number
  /** The part of the axis that bars of one point need at least. */
  least: number
}

/** The ends of an axis below bars, from those of its points. The only bucket is among empty ones of its length. */
export function barRange({ points, isTime, slot, least }: BarAxis) {
  const [first = 0] = points
  return (from: number, to: number): [number, number] => {
    const room = points.length > 1 || !isTime ? slot * 0.6 : slot * 3
    if (points.length < 2) return [first - room, first + room]
    const most = Math.max(room, ((to - from) * least) / 2)
    return [from - most, to + most]
  }
}

interface BarPlace {
  /** Position among the bars of one point, and their number. */
  place: number
  of: number
  slot: number
  bases?: readonly number[]
  minPx: number
}

type Values = Pick<Series, 'values'>

/** Whether so few of many buckets have values that bars of their width would look like scratches. */
export function isSparse(series: readonly Values[], points: readonly number[]): boolean {
  const buckets = 1 + ((points.at(-1) ?? 0) - (points[0] ?? 0)) / slotOf(points, true)
  const filled = series.map(({ values }) => values.filter((value) => value).length)
  return buckets > 24 && Math.max(0, ...filled) <= buckets / 10
}

/** Whether lines would be dots: fewer than three times have values, which are not all zero, and others have none. */
export function isBetterAsBars(series: readonly Values[], points: readonly number[]): boolean {
  const filled = points.filter((_, index) => series.some(({ values }) => typeof values[index] === 'number'))
  const hasLine = filled.length > 2 || (filled.length === 2 && points.length === 2)
  return !hasLine && series.some(({ values }) => values.some((value) => value))
}

/** Draws a series as bars, around the position of each point. */
export function barPaths({ place, of, slot, bases, minPx }: BarPlace): uPlot.Series.PathBuilder {
  return (plot, index, from, to) => {
    const xs = plot.data[0]
    const tops = plot.data[index] as readonly (number | null | undefined)[]
    const x = (value: number) => plot.valToPos(value, 'x', true)
    const y = (value: number) => plot.valToPos(value, 'y', true)
    const start = xs[from] ?? 0
    const room = Math.min((x(start + slot) - x(start)) * 0.8, maxBarPx * of * devicePixelRatio)
    const width = Math.max(minPx * devicePixelRatio, room / of)
    const fill = new Path2D()
    for (let at = from; at <= to; at++) {
      const top = tops[at]
      if (top === null || top === undefined) continue
      const [one, other] = [y(top), y(bases?.[at] ?? 0)]
      const left = x(xs[at] as number) - (width * of) / 2 + place * width
      // A bar of a small value stays visible.
      const height = Math.max(Math.abs(one - other), top === (bases?.[at] ?? 0) ? 0 : 1)
      fill.rect(left, Math.min(one, other), Math.max(1, width - (of > 1 && width > 4 ? 1 : 0)), height)
    }
    return { fill, stroke: null, clip: null, flags: 1 }
  }
}
