import { invalidParameter } from '../base/errors.ts'

/** When an alert fires: the number of rows, or a column of any or of all rows, compared with a number. */
export interface Condition {
  of: 'rows' | 'any' | 'all'
  /** Of any or all rows. */
  column: string
  operator: keyof typeof margins
  limit: number
}

export type Row = Readonly<Record<string, unknown>>

export interface Decision {
  met: boolean
  /** The value that decided. Null if there is none. */
  value: number | null
}

/** How clearly a value meets the comparison: negative if it does not, and zero at the limit. */
const margins = {
  '>': (value: number, limit: number) => value - limit,
  '>=': (value: number, limit: number) => value - limit,
  '<': (value: number, limit: number) => limit - value,
  '<=': (value: number, limit: number) => limit - value,
  '=': (value: number, limit: number) => -Math.abs(value - limit),
  '!=': (value: number, limit: number) => Math.abs(value - limit),
}
const isMetAtLimit = new Set<string>(['>=', '<=', '='])

const form = /^(?:rows|(any|all)\((.{1,200})\))\s*(>=|<=|!=|[<>=])\s*(-?\d{1,18}(?:\.\d{1,18})?)$/

/** Undefined if the text is not a condition. */
export function parseCondition(text: string): Condition | undefined {
  const [whole, of = 'rows', column = '', operator, limit] = form.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  return { of, column: column.trim(), operator, limit: Number(limit) } as Condition
}

/** Throws if a row lacks the column. */
export function decide({ of, column, operator, limit }: Condition, rows: readonly Row[]): Decision {
  const margin = (value: number) => margins[operator](value, limit)
  const isMet = (value: number) => margin(value) > 0 || (margin(value) === 0 && isMetAtLimit.has(operator))
  if (of === 'rows') return { met: isMet(rows.length), value: rows.length }
  const values = rows.map((row) => numberIn(row, column))
  const sorted = values.filter((value) => value !== null).sort((one, other) => margin(other) - margin(one))
  const value = (of === 'any' ? sorted[0] : sorted.at(-1)) ?? null
  // A null meets no comparison, so it keeps a condition about all rows from being met.
  const isComplete = of === 'any' || sorted.length === values.length
  return { met: value !== null && isComplete && isMet(value), value }
}

/** Integers that a double cannot hold, and decimals, are text in results. */
function numberIn(row: Row, column: string): number | null {
  const value = row[column]
  if (value === undefined) throw invalidParameter('when', `The result has no column "${column}" any more.`)
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}
