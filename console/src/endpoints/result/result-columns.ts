import type { Column, Row } from '../../api/shapes.ts'
import { instantOf } from '../../ui/instants.ts'

export interface ShownColumn {
  name: string
  type: string
  /** Whether it is aligned to the right, as numbers are. */
  right: boolean
  width: number
  /** Milliseconds, if a value of this column is a time. */
  instant: (value: unknown) => number | undefined
  /** Whether the times are days, which are the same in every time zone. */
  isDays: boolean
}

const sample = 50

/** How each column is shown, by its type if that is known, and otherwise by the first rows. */
export function columnsOf(rows: readonly Row[], known: readonly Column[]): ShownColumn[] {
  const types = new Map(known.map(({ name, type }) => [name, type]))
  const names = rows[0] ? Object.keys(rows[0]) : known.map(({ name }) => name)
  return names.map((name) => {
    const type = types.get(name) ?? ''
    const values = rows.slice(0, sample).map((row) => row[name])
    const filled = values.filter((value) => value !== null && value !== undefined)
    const instant = (value: unknown) =>
      type === '' && !/time|date|at$/i.test(name) ? undefined : instantOf(value, type)
    const isTime = filled.length > 0 && filled.every((value) => instant(value) !== undefined)
    const isNumber = filled.length > 0 && filled.every((value) => typeof value === 'number')
    const longest = Math.max(
      name.length + 2,
      ...filled.map((value) => (typeof value === 'object' ? 40 : String(value).length)),
    )
    const width = isTime ? 216 : Math.min(460, Math.max(90, longest * 8 + 26))
    return {
      name,
      type,
      right: isNumber && !isTime,
      width: Math.round(width),
      instant: isTime ? instant : () => undefined,
      isDays: isTime && filled.every((value) => String(value).length === 10),
    }
  })
}
