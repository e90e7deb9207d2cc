import type { Row } from '../../api/api-types.ts'

export interface Sorting {
  column: string
  down: boolean
}

// One for all comparisons: to make one for each takes most of the time.
const collator = new Intl.Collator(undefined, { numeric: true })

const isNothing = (value: unknown) => value === null || value === undefined

/** Indexes of the rows in the order that they are shown in. */
export function orderOf(rows: readonly Row[], sorting: Sorting | undefined): number[] {
  const order = rows.map((_, index) => index)
  if (!sorting) return order
  const { column, down } = sorting
  const values = rows.map((row) => comparable(row[column]))
  return order.sort((one, other) => {
    const a = values[one]
    const b = values[other]
    // What is not there goes last, whatever the direction.
    if (isNothing(a) || isNothing(b)) return Number(isNothing(a)) - Number(isNothing(b)) || one - other
    const difference =
      typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
    return (down ? -difference : difference) || one - other
  })
}

function comparable(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
