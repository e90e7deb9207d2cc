import type { Row } from '../../api/shapes.ts'

export interface Sorting {
  column: string
  down: boolean
}

// Shared, because creating a collator takes longer than comparing.
const collator = new Intl.Collator(undefined, { numeric: true })

const isNothing = (value: unknown) => value === null || value === undefined

/** Indexes of the rows in display order. */
export function orderOf(rows: readonly Row[], sorting: Sorting | undefined): number[] {
  const order = rows.map((_, index) => index)
  if (!sorting) return order
  const { column, down } = sorting
  const values = rows.map((row) => comparable(row[column]))
  return order.sort((one, other) => {
    const a = values[one]
    const b = values[other]
    // Missing values go last in both directions.
    if (isNothing(a) || isNothing(b)) return Number(isNothing(a)) - Number(isNothing(b)) || one - other
    const difference =
      typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
    return (down ? -difference : difference) || one - other
  })
}

function comparable(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
