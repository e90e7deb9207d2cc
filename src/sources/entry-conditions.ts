import { invalidParameter } from '../base/errors.ts'
import { formatMicros, parseIsoTimestamp } from '../base/timestamps.ts'
import { textAtPath } from '../catalog/tables.ts'
import type { Comparison, Condition, EntryFilter } from './search-shape.ts'

export interface BoundConditions {
  /** Of a WHERE; the values are beside it. */
  sql: string
  parameters: Record<string, string | number>
}

const columns = new Set(['project', 'id', 'event_message'])

const operators: Record<Exclude<Comparison, 'exists' | 'contains'>, string> = {
  eq: '=',
  ne: '!=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
}

const instant = "DateTime64(6, 'UTC')"

/** Whoever names no beginning means the last hour: nobody should read ninety days by mistake. */
const usualRangeMicros = 3_600_000_000n

/** Bounds of a filter in microseconds; without an end there is none. */
export function rangeOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint) {
  const to = filter.to === undefined ? undefined : parseIsoTimestamp(filter.to)
  const from = filter.from === undefined ? undefined : parseIsoTimestamp(filter.from)
  const bounds = { from: from ?? (to ?? nowMicros) - usualRangeMicros, to }
  if (to !== undefined && bounds.from >= to) throw invalidParameter('to', 'to must be later than from.')
  return bounds
}

/** Conditions of a filter, as SQL with values beside it. Only names of columns and paths are in the text, quoted. */
export function conditionsOf(filter: EntryFilter, nowMicros: bigint): BoundConditions {
  const { from, to } = rangeOf(filter, nowMicros)
  const terms = [`timestamp >= {from:${instant}}`]
  const parameters: Record<string, string | number> = { from: formatMicros(from) }
  if (to !== undefined) {
    terms.push(`timestamp < {to:${instant}}`)
    parameters.to = formatMicros(to)
  }
  if (filter.project !== undefined) {
    terms.push('project = {project:String}')
    parameters.project = filter.project
  }
  for (const [index, text] of filter.text.entries()) {
    terms.push(`positionCaseInsensitiveUTF8(event_message, {text${index}:String}) > 0`)
    parameters[`text${index}`] = text
  }
  for (const [index, condition] of filter.filters.entries()) {
    const name = `value${index}`
    terms.push(termOf(condition, name))
    if (condition.is !== 'exists') parameters[name] = comparedValue(condition)
  }
  return { sql: terms.join(' AND '), parameters }
}

function termOf({ path, is, not }: Condition, name: string): string {
  const term = plainTermOf({ path, is }, name)
  // Of what is not there nothing holds.
  return not ? `NOT ifNull(${term}, 0)` : term
}

function plainTermOf({ path, is }: Pick<Condition, 'path' | 'is'>, name: string): string {
  const text = textAt(path)
  if (is === 'exists') return `isNotNull(${text})`
  if (is === 'eq') return `${text} = {${name}:String}`
  // What is not there is different, too.
  if (is === 'ne') return `ifNull(${text}, '') != {${name}:String}`
  if (is === 'contains') return `positionCaseInsensitiveUTF8(${text}, {${name}:String}) > 0`
  return `toFloat64OrNull(${text}) ${operators[is]} {${name}:Float64}`
}

function comparedValue({ path, is, value }: Condition): string | number {
  if (is === 'eq' || is === 'ne' || is === 'contains') return value
  const number = Number(value)
  if (value.trim() !== '' && Number.isFinite(number)) return number
  throw invalidParameter('filters', `${path} is compared with a number; "${value.slice(0, 60)}" is none.`)
}

/** What stands at a path, as a text; null where nothing does. A dot inside of a key is written %2E. */
export function textAt(path: string): string {
  if (columns.has(path)) return `toNullable(${path})`
  const parts = path.replace(/^metadata\./, '').split('.')
  if (parts.some((part) => part === '' || part.includes('\0'))) {
    throw invalidParameter('path', `${path} is no path: it has names with one dot between them.`)
  }
  return textAtPath(parts.map((part) => part.replace(/%2E/gi, '.')))
}
