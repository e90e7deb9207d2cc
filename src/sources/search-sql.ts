import { readShape } from '../base/validation.ts'
import { sqlText } from '../sql/names.ts'
import type { EntryQueries, EntryReader } from './entry-queries.ts'
import type { BoundValues } from './search/condition-sql.ts'
import { searchSqlShape } from './search-shape.ts'

/** A search as SQL of an endpoint, with its values: the entries, and their number. */
export function searchSql(queries: EntryQueries, name: string, body: unknown, reader: EntryReader) {
  const { last_seconds: seconds, ...filter } = readShape(searchSqlShape, body)
  const { source, sql, parameters } = queries.search(name, filter, reader)
  const conditions = withValues(sql, parameters)
  const range = /^timestamp >= toDateTime64\('[^']*', 6, 'UTC'\)/
  const where =
    seconds === undefined
      ? conditions
      : conditions.replace(range, `timestamp >= @now - INTERVAL ${seconds} SECOND AND timestamp <= @now`)
  const from = `FROM ${source.name}\nWHERE ${where}`
  return {
    query: `SELECT timestamp, id, project, event_message, metadata\n${from}\nORDER BY timestamp DESC, id DESC`,
    count: `SELECT count() AS entries\n${from}`,
  }
}

const textOrPlace = /'(?:[^'\\]|\\.)*'?|\{(\w+):(\w+)(?:\(6, 'UTC'\))?\}/gs

/** Values become literals in one pass, so that neither a value nor a key of a path can be taken for the place of another. */
function withValues(sql: string, values: BoundValues): string {
  return sql.replace(textOrPlace, (literal, name: string | undefined, type: string) => {
    if (name === undefined) return literal
    const value = values[name] as string | number
    if (type === 'Float64') return `toFloat64(${sqlText(String(value))})`
    if (type === 'String') return sqlText(String(value)).replaceAll('\0', '\\0')
    const [seconds, micros] = String(value).split('.')
    const time = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ')
    return `toDateTime64('${time}.${micros}', 6, 'UTC')`
  })
}
