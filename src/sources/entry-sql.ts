import { invalidParameter } from '../base/errors.ts'
import { formatMicros, parseIsoTimestamp } from '../base/text/timestamps.ts'
import { textAtPath } from '../catalog/tables.ts'
import { jsonRowSql } from '../engine/json-rows.ts'
import { type BoundValues, conditionSql } from './search/condition-sql.ts'
import type { SearchCondition } from './search/search-condition.ts'
import type { Comparison, Condition, EntryFilter } from './search-shape.ts'

/** Selects an entry as the text of a JSON object, with its metadata as it was sent. */
export const entryRow = jsonRowSql([
  { name: 'id', sql: 'id' },
  { name: 'timestamp', sql: 'toUnixTimestamp64Micro(timestamp)' },
  { name: 'project', sql: 'project' },
  { name: 'event_message', sql: 'event_message' },
  { name: 'metadata', sql: 'metadata', isJson: true },
])

interface BoundConditions {
  /** Of a WHERE clause, with placeholders for the values. */
  sql: string
  parameters: BoundValues
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

/** A search without a start covers one hour, so that nobody reads ninety days by mistake. */
const defaultRangeMicros = 3_600_000_000n

/** The bounds of a filter in microseconds; `to` stays undefined if there is none. */
export function rangeOf(filter: Pick<EntryFilter, 'from' | 'to'>, nowMicros: bigint) {
  const to = filter.to === undefined ? undefined : parseIsoTimestamp(filter.to)
  const from = filter.from === undefined ? undefined : parseIsoTimestamp(filter.from)
  const bounds = { from: from ?? (to ?? nowMicros) - defaultRangeMicros, to }
  if (to !== undefined && bounds.from >= to) throw invalidParameter('to', 'to must be later than from.')
  return bounds
}

/** The time range and project of a filter. */
export function rangeConditions(
  filter: Pick<EntryFilter, 'from' | 'to' | 'project'>,
  nowMicros: bigint,
): BoundConditions {
  const { from, to } = rangeOf(filter, nowMicros)
  const terms = [`timestamp >= {from:${instant}}`]
  const parameters: BoundValues = { from: formatMicros(from) }
  if (to !== undefined) {
    terms.push(`timestamp < {to:${instant}}`)
    parameters.to = formatMicros(to)
  }
  if (filter.project !== undefined) {
    terms.push('project = {project:String}')
    parameters.project = filter.project
  }
  return { sql: terms.join(' AND '), parameters }
}

/** All conditions of a filter. Values are parameters; column names and paths are quoted in the SQL. */
export function conditionsOf(
  filter: EntryFilter,
  nowMicros: bigint,
  query?: SearchCondition,
): BoundConditions {
  const { sql, parameters } = rangeConditions(filter, nowMicros)
  const terms = [sql]
  for (const [index, text] of filter.text.entries()) {
    terms.push(`positionCaseInsensitiveUTF8(event_message, {text${index}:String}) > 0`)
    parameters[`text${index}`] = text
  }
  for (const [index, condition] of filter.filters.entries()) {
    const name = `value${index}`
    const term = termOf(condition, name)
    // A comparison with an absent value is null, which NOT would keep.
    terms.push(condition.not ? `NOT ifNull(${term}, 0)` : term)
    if (condition.is !== 'exists') parameters[name] = comparedValue(condition)
  }
  if (query) terms.push(`(${conditionSql(query, parameters)})`)
  return { sql: terms.join(' AND '), parameters }
}

function termOf({ path, is }: Condition, name: string): string {
  const text = textAt(path)
  if (is === 'exists') return `isNotNull(${text})`
  if (is === 'eq') return `${text} = {${name}:String}`
  // An absent value is different, too.
  if (is === 'ne') return `ifNull(${text}, '') != {${name}:String}`
  if (is === 'contains') return `positionCaseInsensitiveUTF8(${text}, {${name}:String}) > 0`
  return `toFloat64OrNull(${text}) ${operators[is]} {${name}:Float64}`
}

function comparedValue({ path, is, value }: Condition): string | number {
  if (is === 'eq' || is === 'ne' || is === 'contains') return value
  const number = Number(value)
  if (value.trim() !== '' && Number.isFinite(number)) return number
  throw invalidParameter('filters', `Compare ${path} with a number; "${value.slice(0, 60)}" is not a number.`)
}

/** The value at a path as text; null if there is none. A dot inside of a key is written %2E. */
export function textAt(path: string): string {
  if (columns.has(path)) return `toNullable(${path})`
  const parts = path.replace(/^metadata\./, '').split('.')
  if (parts.some((part) => part === '' || part.includes('\0'))) {
    throw invalidParameter('path', `"${path}" is not a path. Separate names by one dot, as in request.url.`)
  }
  return textAtPath(parts.map((part) => part.replace(/%2E/gi, '.')))
}
