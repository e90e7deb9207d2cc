import { spreadOf } from './figures.mjs'
import { ratioOf } from './rounds.mjs'

/**
 * A row that compares sides: for each the figure of every round, and the ratio of the first to the second. An aim is
 * `{ atLeast }` or `{ atMost }`, of the ratio where there is one and else of the first side.
 */
export function comparison({ name, unit, sides, aim, over = true, more }) {
  const [first, second] = Object.values(sides)
  const ratio = over && second !== undefined ? ratioOf(first, second) : undefined
  const spreads = Object.fromEntries(Object.entries(sides).map(([side, values]) => [side, spreadOf(values)]))
  return {
    name,
    unit,
    sides: spreads,
    ...(ratio && { ratio }),
    ...(aim && { aim, reached: reaches(aim, ratio ?? spreads[Object.keys(sides)[0]]) }),
    ...(more && { more }),
  }
}

/** A row of things that are told and not compared. */
export function observation(name, more) {
  return { name, more }
}

function reaches({ atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }, { median }) {
  return median >= atLeast && median <= atMost
}

/**
 * With an engine that is emulated, what has to do with it says nothing of a native one: no aim is called reached or
 * missed then.
 */
export function judged(result, emulated) {
  // A benchmark that is left out has no tables.
  const tables = (result.tables ?? []).map((table) => {
    if (!emulated || table.engine === 'no part') return table
    return { ...table, rows: table.rows.map((row) => (row.aim ? { ...row, reached: null } : row)) }
  })
  return { ...result, tables }
}
