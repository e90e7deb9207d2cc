import { invalidParameter } from '../base/errors.ts'
import { formatMicros, parseIsoTimestamp } from '../base/text/timestamps.ts'
import { jsonRowSql } from '../engine/json-rows.ts'
import { type BoundValues, conditionSql } from './search/condition-sql.ts'
import type { SearchCondition } from './search/search-condition.ts'
import type { EntryFilter } from './search-shape.ts'

function rowWith(timestamp: string): string {
  return jsonRowSql([
    { name: 'id', sql: 'id' },
    { name: 'timestamp', sql: timestamp },
    { name: 'project', sql: 'project' },
    { name: 'event_message', sql: 'event_message' },
    { name: 'metadata', sql: 'metadata', isJson: true },
  ])
}

/** Selects an entry as the text of a JSON object, with its metadata as it was sent. */
export const entryRow = rowWith('toUnixTimestamp64Micro(timestamp)')

/** The same with an ISO 8601 timestamp. */
export const isoEntryRow = rowWith("concat(replaceOne(toString(timestamp), ' ', 'T'), 'Z')")

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

export function rangeConditions(filter: Pick<EntryFilter, 'from' | 'to' | 'project'>, nowMicros: bigint) {
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

/** All conditions of a filter, for a WHERE clause. Values are parameters; column names and paths are quoted in the SQL. */
export function conditionsOf(filter: EntryFilter, nowMicros: bigint, query?: SearchCondition) {
  const { sql, parameters } = rangeConditions(filter, nowMicros)
  return { sql: query ? `${sql} AND (${conditionSql(query, parameters)})` : sql, parameters }
}
