import type { Column, Row } from '../../api/shapes.ts'
import { readable } from '../../ui/text/format.ts'
import { instantOf } from '../../ui/text/instants.ts'

/** What columns are called, by name. Without any, a column is called by its name, as in SQL. */
export type Labels = Readonly<Record<string, string>> | undefined

/** Columns are called by the words of their names. */
export const wordLabels: Labels = {}

export interface ShownColumn {
  name: string
  /** What its head says. */
  title: string
  type: string
  /** Whether it is aligned to the right, as numbers are. */
  right: boolean
  /** Pixels that show a value as a whole. */
  width: number
  /** Pixels that it needs if the columns do not fit. */
  leastWidth: number
  /** A value as it is shown. */
  text: (value: unknown) => string
  /** Milliseconds, if a value of this column is a time. */
  instant: (value: unknown) => number | undefined
  /** Whether the times are days, which are the same in every time zone. */
  isDays: boolean
}

const sample = 50

/** Numbers that nobody adds up are read without separators. */
const isCode = (name: string) =>
  /(?:^|_)(?:id|code|year|port|pid|status|version)$|(?:Id|Code|Year|Port|Pid|Status|Version)$/.test(name)

const textPx = 7.5
const aroundPx = 24
const leastPx = 72
const leastTextPx = 94

/** How each column is shown, by its type if that is known, and otherwise by the first rows. */
export function columnsOf(rows: readonly Row[], known: readonly Column[], labels?: Labels): ShownColumn[] {
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
    const text = (value: unknown) =>
      typeof value === 'number' && !isCode(name) ? readable(value) : String(value)
    const lengths = filled.map((value) => (typeof value === 'object' ? 40 : text(value).length))
    const isWhole = isTime && filled.every((value) => (instant(value) as number) % 1000 === 0)
    const longest = isTime ? (isWhole ? 19 : 23) : Math.max(0, ...lengths)
    const px = (length: number) => Math.round(Math.min(460, Math.max(leastPx, length * textPx + aroundPx)))
    const title = labels ? (labels[name] ?? name.replaceAll('_', ' ')) : name
    // The title is wrapped after its underscores and spaces.
    const titlePart = Math.max(...title.split(/(?<=[._:/\s-])/).map((part) => part.length))
    const least = isNumber || isTime ? px(longest) : Math.min(px(longest), leastTextPx)
    return {
      name,
      title,
      type,
      right: isNumber && !isTime,
      width: px(Math.max(longest, title.length + 2)),
      leastWidth: Math.max(least, px(titlePart + 1)),
      text,
      instant: isTime ? instant : () => undefined,
      isDays: isTime && filled.every((value) => String(value).length === 10),
    }
  })
}
