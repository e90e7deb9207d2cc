interface Values {
  name: string
  values: (number | null)[]
}

/**
 * Puts an empty point into every gap, so that no line is drawn over a time of which nothing is known. Takes milliseconds in
 * order, gives seconds. Where the times have no step to tell a gap by, there are none.
 */
export function withGaps(
  points: readonly number[],
  series: readonly Values[],
): { seconds: number[]; series: Values[] } {
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
  return { seconds, series: series.map(({ name, values }) => ({ name, values: spread(values) })) }
}

/** The time between two rows where none is missing. */
export function stepOf(points: readonly number[]): number | undefined {
  const steps = points.slice(1).map((at, index) => Math.round(at - (points[index] as number)))
  const smallest = steps.reduce((least, step) => Math.min(least, step), Number.POSITIVE_INFINITY)
  // Rows at any instant are events, and no series with a step.
  if (smallest < 1000 || !Number.isFinite(smallest)) return undefined
  const common = steps.reduce(commonDivisor)
  // Months and days with a change of the clock have no common step, but nearly the same length.
  return common * 4 < smallest ? smallest : common
}

function commonDivisor(one: number, other: number): number {
  let [large, small] = [one, other]
  while (small !== 0) [large, small] = [small, large % small]
  return large
}

/** Places of values between two empty ones: a line has no length there, so they are drawn as points. */
export function loneValues(values: readonly (number | null)[]): number[] {
  const isEmpty = (index: number) => values[index] === null || values[index] === undefined
  return values.flatMap((_value, index) =>
    !isEmpty(index) && isEmpty(index - 1) && isEmpty(index + 1) ? [index] : [],
  )
}
