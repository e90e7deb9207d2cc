/** When an alert fires: the number of rows, or a column of any or of all rows, compared with a number. */
export interface Condition {
  subject: { of: 'rows' } | { of: 'any' | 'all'; column: string }
  operator: Operator
  limit: number
}

type Operator = keyof typeof operators
export type Row = Readonly<Record<string, unknown>>

export interface Decision {
  met: boolean
  /** The value that decided. Null if there is none. */
  value: number | null
}

interface Comparison {
  isMet: (value: number, limit: number) => boolean
  /** Higher for values that meet the comparison more clearly. */
  strength: (value: number, limit: number) => number
}

const upward = (value: number) => value
const downward = (value: number) => -value
const operators = {
  '>': { isMet: (value, limit) => value > limit, strength: upward },
  '>=': { isMet: (value, limit) => value >= limit, strength: upward },
  '<': { isMet: (value, limit) => value < limit, strength: downward },
  '<=': { isMet: (value, limit) => value <= limit, strength: downward },
  '=': { isMet: (value, limit) => value === limit, strength: (value, limit) => -Math.abs(value - limit) },
  '!=': { isMet: (value, limit) => value !== limit, strength: (value, limit) => Math.abs(value - limit) },
} satisfies Record<string, Comparison>

const form = /^(?:rows|(any|all)\((.{1,200})\))\s*(>=|<=|!=|[<>=])\s*(-?\d{1,18}(?:\.\d{1,18})?)$/

/** Undefined if the text is not a condition. */
export function parseCondition(text: string): Condition | undefined {
  const [whole, of, column, operator, limit] = form.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  return {
    subject:
      of === undefined ? { of: 'rows' } : { of: of as 'any' | 'all', column: (column as string).trim() },
    operator: operator as Operator,
    limit: Number(limit),
  }
}

/** `rows` is called only if the condition is about a column. Throws if a row lacks the column. */
export function decide(
  { subject, operator, limit }: Condition,
  count: number,
  rows: () => readonly Row[],
): Decision {
  const { isMet, strength } = operators[operator]
  if (subject.of === 'rows') return { met: isMet(count, limit), value: count }
  const values = rows().map((row) => numberIn(row, subject.column))
  const numbers = values.filter((value) => value !== null)
  const isBetter = (one: number, other: number) =>
    subject.of === 'any'
      ? strength(one, limit) > strength(other, limit)
      : strength(one, limit) < strength(other, limit)
  const value = numbers.reduce<number | null>(
    (best, each) => (best === null || isBetter(each, best) ? each : best),
    null,
  )
  // A null meets no comparison, so it keeps a condition about all rows from being met.
  const isComplete = subject.of === 'any' || numbers.length === values.length
  return { met: value !== null && isComplete && isMet(value, limit), value }
}

/** At most this many rows that show why: those that meet a condition about any row, or the first ones. */
export function tellingRows(
  { subject, operator, limit }: Condition,
  rows: readonly Row[],
  most: number,
): Row[] {
  if (subject.of !== 'any') return rows.slice(0, most)
  const meets = (row: Row) => {
    const value = numberIn(row, subject.column)
    return value !== null && operators[operator].isMet(value, limit)
  }
  const meeting = rows.filter(meets)
  return (meeting.length > 0 ? meeting : rows).slice(0, most)
}

/** Integers that a double cannot hold, and decimals, are text in results. */
function numberIn(row: Row, column: string): number | null {
  const value = row[column]
  if (value === undefined) throw new Error(`The result has no column "${column}" any more.`)
  const number = value === null || value === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}

/** Whether the engine's type is a number. */
export function isNumberType(type: string): boolean {
  return /^(?:LowCardinality\()?(?:Nullable\()?(?:U?Int|Float|Decimal|BFloat)/.test(type)
}
