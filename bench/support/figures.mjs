export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

export const median = (values) => quantile(values, 0.5)

/** Rows of text under a title, with columns as wide as they need to be. */
export function table(title, rows) {
  const columns = Object.keys(rows[0] ?? {})
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => String(row[column]).length)),
  )
  const line = (cells) => cells.map((cell, i) => String(cell).padEnd(widths[i])).join('  ')
  return [
    title,
    '',
    line(columns),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map((row) => line(columns.map((c) => row[c]))),
  ].join('\n')
}

/** A number from the environment, for those who want another size. */
export function numberFrom(variable, fallback) {
  const given = process.env[variable]
  if (!given) return fallback
  const number = Number(given)
  if (!(number >= 1)) throw new Error(`${variable} must be a number of at least 1; "${given}" was given.`)
  return number
}
