import type { Series } from './series.ts'

/**
 * Inserts an empty point into every gap, so that no line is drawn across it. Takes sorted milliseconds and returns seconds.
 * Times without a regular step have no gaps.
 */
export function withGaps(
  points: readonly number[],
  series: readonly Series[],
): { seconds: number[]; series: Series[] } {
  const step = stepOf(points)
  const seconds: number[] = []
  const places: (number | undefined)[] = []
  for (const [index, at] of points.entries()) {
    const before = points[index - 1]
    if (before !== undefined && step !== undefined && at - before > step * 1.5) {
      seconds.push((before + step) / 1000)
      places.push(undefined)
    }
    seconds.push(at / 1000)
    places.push(index)
  }
  const spread = (values: readonly (number | null)[]) =>
    places.map((place) => (place === undefined ? null : (values[place] ?? null)))
  return { seconds, series: series.map((one) => ({ ...one, values: spread(one.values) })) }
}

/** The regular time between two rows. */
export function stepOf(points: readonly number[]): number | undefined {
  const steps = points.slice(1).map((at, index) => Math.round(at - (points[index] as number)))
  const smallest = steps.reduce((least, step) => Math.min(least, step), Number.POSITIVE_INFINITY)
  // Rows closer than a second are events without a step.
  if (smallest < 1000 || !Number.isFinite(smallest)) return undefined
  const common = steps.reduce(commonDivisor)
  // Months, and days with a clock change, differ slightly in length.
  return common * 4 < smallest ? smallest : common
}

function commonDivisor(one: number, other: number): number {
  let [large, small] = [one, other]
  while (small !== 0) [large, small] = [small, large % small]
  return large
}

/** Indexes of values between two empty ones, which have no line and are drawn as points. */
export function loneValues(values: readonly (number | null)[]): number[] {
  const isEmpty = (index: number) => values[index] === null || values[index] === undefined
  return values.flatMap((_value, index) =>
    !isEmpty(index) && isEmpty(index - 1) && isEmpty(index + 1) ? [index] : [],
  )
}
