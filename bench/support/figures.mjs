export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

export const median = (values) => quantile(values, 0.5)

/** What the rounds gave: the one in the middle, the least and the most of them. */
export function spreadOf(values) {
  return {
    median: median(values),
    least: Math.min(...values),
    most: Math.max(...values),
    rounds: values.length,
  }
}

/** A number from the environment, for those who want another size. */
export function numberFrom(variable, fallback) {
  const given = process.env[variable]
  if (!given) return fallback
  const number = Number(given)
  if (!(number >= 1)) throw new Error(`${variable} must be a number of at least 1; "${given}" was given.`)
  return number
}

/** Several of them, separated by commas, from the smallest to the largest. */
export function numbersFrom(variable, fallback) {
  const given = process.env[variable]
  if (!given) return fallback
  const numbers = given.split(',').map(Number)
  if (numbers.every((number) => number >= 1)) return numbers.sort((a, b) => a - b)
  throw new Error(`${variable} must be numbers of at least 1 with commas between them; "${given}" was given.`)
}
