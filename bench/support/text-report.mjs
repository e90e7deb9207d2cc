/** Results as text for a terminal: one table after the other, with columns as wide as they need to be. */
export function textOf({ name, about, seconds, tables, notes = [], skipped, failed }) {
  const head = `== ${name}: ${about}${seconds === undefined ? '' : ` (${Math.round(seconds)} s)`}`
  if (failed !== undefined) return `${head}\n\nFAILED: ${failed}`
  if (skipped !== undefined) return `${head}\n\nLeft out: ${skipped}`
  return [head, ...tables.map(tableText), ...notes].join('\n\n')
}

export function machineText(machine) {
  return Object.entries(machine)
    .map(([what, value]) => `${what.padEnd(10)} ${value}`)
    .join('\n')
}

function tableText(table) {
  const { columns, rows } = cellsOf(table)
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map((row) => row[i].length)))
  const line = (cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd()
  return [
    table.title,
    ...(table.compares ? [table.compares] : []),
    ...(table.warning ? [table.warning] : []),
    '',
    line(columns),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
  ].join('\n')
}

/** The columns that a table's rows have, and a text for each cell. */
export function cellsOf({ rows, first = 'case' }) {
  const columns = [first]
  const add = (column) => columns.includes(column) || columns.push(column)
  const cells = rows.map((row) => {
    const named = namedCells(row, first)
    for (const column of Object.keys(named)) add(column)
    return named
  })
  return { columns, rows: cells.map((row) => columns.map((column) => row[column] ?? '')) }
}

function namedCells({ name, unit, sides = {}, ratio, aim, reached, more = {} }, first) {
  const cells = { [first]: name }
  for (const [side, spread] of Object.entries(sides)) {
    cells[unit ? `${side}, ${unit}` : side] = spreadText(spread)
  }
  if (ratio) cells.ratio = spreadText(ratio)
  if (aim) {
    cells.aim = aimText(aim)
    cells.reached = reached === null ? 'not judged' : reached ? 'yes' : 'no'
  }
  for (const [what, value] of Object.entries(more)) {
    cells[what] = typeof value === 'number' ? shown(value) : value
  }
  return cells
}

export function aimText({ atLeast, atMost }) {
  return atLeast === undefined ? `≤ ${shown(atMost)}` : `≥ ${shown(atLeast)}`
}

/** The median, and in brackets the least and the most of the rounds. */
export function spreadText({ median, least, most, rounds }) {
  return rounds > 1 ? `${shown(median)} (${shown(least)}–${shown(most)})` : shown(median)
}

/** Three digits or so: more of them would claim what was not measured. */
export function shown(value) {
  // What is no number, or beyond all, comes from another process as null: a busy machine may do nothing in a round.
  if (!Number.isFinite(value)) return '–'
  if (Number.isInteger(value)) return value.toLocaleString('en-US')
  const size = Math.abs(value)
  if (size >= 100) return Math.round(value).toLocaleString('en-US')
  if (size >= 10) return value.toFixed(1)
  return size >= 0.1 || size === 0 ? value.toFixed(2) : value.toPrecision(2)
}
