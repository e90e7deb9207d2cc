import { invalidParameter } from '../../core/base/errors.ts'

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

/** The rows of a result. Several alerts share it, so the numbers of a column are read once. */
export class ResultRows {
  readonly rows: readonly Row[]
  readonly #numbers = new Map<string, Float64Array>()

  constructor(rows: readonly Row[]) {
    this.rows = rows
  }

  /** A column, with NaN where there is no number. Throws if a row lacks it. */
  numbers(column: string): Float64Array {
    const known = this.#numbers.get(column)
    if (known) return known
    const numbers = Float64Array.from(this.rows, (row) => numberIn(row, column))
    this.#numbers.set(column, numbers)
    return numbers
  }
}

/** Decides by all rows, or by those with the given indices. Throws if a row lacks the column. */
export function decide(condition: Condition, result: ResultRows, indices?: readonly number[]): Decision {
  const { of, column } = condition
  const count = (indices ?? result.rows).length
  if (of === 'rows') return { met: isMet(condition, count), value: count }
  let value: number | null = null
  let isComplete = true
  const numbers = result.numbers(column)
  for (let at = 0; at < count; at++) {
    const number = numbers[indices?.[at] ?? at] as number
    // A null meets no comparison, so it keeps a condition about all rows from being met.
    if (Number.isNaN(number)) isComplete = of === 'any'
    else if (value === null || decides(condition, number, value)) value = number
  }
  return { met: value !== null && isComplete && isMet(condition, value), value }
}

/** The rows that meet a condition about any row; all rows if it is about something else. */
export function decidingRows(condition: Condition, result: ResultRows): readonly Row[] {
  if (condition.of !== 'any') return result.rows
  const numbers = result.numbers(condition.column)
  const meeting = result.rows.filter((_, index) => isMet(condition, numbers[index] as number))
  return meeting.length > 0 ? meeting : result.rows
}

function decides({ of, operator, limit }: Condition, number: number, other: number): boolean {
  const difference = margins[operator](number, limit) - margins[operator](other, limit)
  return of === 'any' ? difference > 0 : difference < 0
}

function isMet({ operator, limit }: Condition, value: number): boolean {
  const margin = margins[operator](value, limit)
  return margin > 0 || (margin === 0 && isMetAtLimit.has(operator))
}

/** Integers that a double cannot hold, and decimals, are text in results. */
function numberIn(row: Row, column: string): number {
  const value = row[column]
  if (value === undefined) throw invalidParameter('when', `The result has no column "${column}" any more.`)
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : Number.NaN
}
