import type uPlot from 'uplot'
import type { Series } from './series.ts'

const maxBarPx = 72
/** The radius of a point. */
export const dotPx = 3.5

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

/** The smallest distance between two points, which a group of bars fills. */
export function slotOf(points: readonly number[]): number {
  const gaps = points.slice(1).map((at, index) => at - (points[index] as number))
  return gaps.length === 0 ? 1 : gaps.reduce((least, gap) => Math.min(least, gap))
}

interface BarPlace {
  /** Position among the bars of one point, and their number. */
  place: number
  of: number
  slot: number
  bases?: readonly number[]
  /** Points instead of bars, which would be too narrow to see. */
  isDotted: boolean
}

/** Whether so few of many buckets have values that their bars would look like scratches. */
export function isSparse(series: readonly Pick<Series, 'values'>[], points: number): boolean {
  const filled = series.map(({ values }) => values.filter((value) => value).length)
  return points > 24 && Math.max(0, ...filled) <= points / 10
}

/** Draws a series as bars, around the position of each point. */
export function barPaths({ place, of, slot, bases, isDotted }: BarPlace): uPlot.Series.PathBuilder {
  return (plot, index, from, to) => {
    const xs = plot.data[0]
    const tops = plot.data[index] as readonly (number | null | undefined)[]
    const x = (value: number) => plot.valToPos(value, 'x', true)
    const y = (value: number) => plot.valToPos(value, 'y', true)
    const start = xs[from] ?? 0
    const room = Math.min((x(start + slot) - x(start)) * 0.8, maxBarPx * of * devicePixelRatio)
    const width = Math.max(1, room / of)
    const fill = new Path2D()
    for (let at = from; at <= to; at++) {
      const top = tops[at]
      if (top === null || top === undefined) continue
      const [one, other] = [y(top), y(bases?.[at] ?? 0)]
      if (isDotted) {
        const [middle, radius] = [x(xs[at] as number), dotPx * devicePixelRatio]
        if (one === other) continue
        fill.moveTo(middle + radius, one)
        fill.arc(middle, one, radius, 0, 2 * Math.PI)
        continue
      }
      const left = x(xs[at] as number) - (width * of) / 2 + place * width
      // A bar of a small value stays visible.
      const height = Math.max(Math.abs(one - other), top === (bases?.[at] ?? 0) ? 0 : 1)
      fill.rect(left, Math.min(one, other), Math.max(1, width - (of > 1 && width > 4 ? 1 : 0)), height)
    }
    return { fill, stroke: null, clip: null, flags: 1 }
  }
}
