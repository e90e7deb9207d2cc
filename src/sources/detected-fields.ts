import type { Source } from '../catalog/source.ts'
import { present } from './search/condition-sql.ts'
import { searchField } from './search/search-condition.ts'
import { newestSql, pathSettings, pathsIn, type RunRows } from './seen-paths.ts'

/** The cost of a search for fields does not grow with the number of entries. */
const sampledEntries = 2_000
const maxFields = 40

interface Matches {
  source: Source
  table: string
  /** Of a WHERE clause. */
  sql: string
}

interface DetectedField {
  path: string
  /** Number of sampled entries that have it, and of all that were sampled. */
  entries: number
  sampled: number
  values: { value: string; count: number }[]
}

/** The fields of the newest matching entries that no typed column stores, frequent ones first, with up to `maxValues` values. */
export async function detectedFields(
  { source: { columns }, table, sql }: Matches,
  maxValues: number,
  rows: RunRows,
): Promise<DetectedField[]> {
  const newest = `(${newestSql(`${table} WHERE ${sql}`, sampledEntries)})`
  const seen = await rows<Omit<DetectedField, 'values'>>(
    `SELECT p.1 AS path, count() AS entries, (SELECT count() FROM ${newest}) AS sampled FROM ${pathsIn(newest)} ` +
      "WHERE match(p.2, '^(?:String|Bool|U?Int[0-9]+|Float[0-9]+)$') " +
      `GROUP BY path ORDER BY entries DESC, path LIMIT ${maxFields + columns.length}`,
    pathSettings,
  )
  const found = seen.flatMap((one) => {
    const field = searchField(`metadata.${one.path}`, columns)
    return field?.kind === 'path' ? [{ ...one, value: present(field) }] : []
  })
  const fields = found.slice(0, maxFields)
  if (fields.length === 0) return []
  const values = await topValues(fields, newest, maxValues, rows)
  return fields.map(({ value: _, ...field }, index) => ({ ...field, values: values[index] ?? [] }))
}

/** The most frequent values of each field. The engine counts three times as many exactly. */
export async function topValues(
  fields: readonly { value: string }[],
  from: string,
  maxValues: number,
  rows: RunRows,
): Promise<DetectedField['values'][]> {
  const tops = fields.map(
    ({ value }, index) =>
      `topKIf(${maxValues}, 3, 'counts')(substringUTF8(${value}, 1, 500), ${value} != '') AS _top${index}`,
  )
  const [row = {}] = await rows<Record<string, { item: string; count: number }[]>>(
    `SELECT ${tops.join(', ')} FROM ${from}`,
  )
  return fields.map((_, index) =>
    (row[`_top${index}`] ?? []).map(({ item, count }) => ({ value: item, count })),
  )
}
