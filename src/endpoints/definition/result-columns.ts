import type { Engine, Limits, Statement } from '../../engine/engine.ts'
import { jsonRowSql, outwardJson, readJsonRows, withinBytes, written } from '../../engine/json-rows.ts'
import { sqlName } from '../../sql/names.ts'

export interface ResultColumn {
  name: string
  /** The engine's name of the type. */
  type: string
}

/** Names and types of a query's result columns, without running it. */
export async function describeColumns(
  engine: Engine,
  { sql, ...statement }: Pick<Statement, 'sql' | 'parameters' | 'settings'>,
  limits: Limits = { deadlineMs: 30_000 },
): Promise<ResultColumn[]> {
  const { body } = await engine.query(
    { ...statement, sql: `DESCRIBE (\n${sql}\n)`, format: 'JSONEachRow' },
    limits,
  )
  return readJsonRows<ResultColumn>(body).map(({ name, type }) => ({ name, type }))
}

const exactInteger = 2 ** 53 - 1

/**
 * A column as it is returned: instants as integers or as text without a zone, and exact integers. Otherwise a setting
 * makes the engine write instants as ISO 8601.
 */
function outward({ name, type }: ResultColumn, isoTimestamps: boolean): string {
  const column = sqlName(name)
  const bare = bareType(type)
  if (isoTimestamps && bare.startsWith('DateTime')) return column
  if (bare.startsWith('DateTime64')) {
    return `toUnixTimestamp64Micro(${/^DateTime64\(6[,)]/.test(bare) ? column : `toDateTime64(${column}, 6, 'UTC')`})`
  }
  if (bare.startsWith('DateTime')) return `formatDateTime(${column}, '%Y-%m-%dT%H:%i:%S', 'UTC')`
  if (/^U?Int(?:64|128|256)$/.test(bare)) {
    const beyond = bare.startsWith('U')
      ? `${column} > ${exactInteger}`
      : `${column} > ${exactInteger} OR ${column} < -${exactInteger}`
    return `if(${beyond}, toString(${column}), ${column})`
  }
  return column
}

function bareType(type: string): string {
  return type.replace(/^LowCardinality\((.*)\)$/, '$1').replace(/^Nullable\((.*)\)$/, '$1')
}

/** Whether a text column is returned as JSON: `metadata`, and the columns that the definition lists. */
export function isJsonColumn({ name, type }: ResultColumn, listed: readonly string[]): boolean {
  const bare = bareType(type)
  // Endpoints that were saved when metadata had the type JSON still list it as JSON.
  return bare.startsWith('JSON') || ((name === 'metadata' || listed.includes(name)) && bare === 'String')
}

export type OutwardForm = 'json' | 'text-rows' | 'typed'

/** Wraps the saved query in one that converts its columns and limits its rows. */
export function wrapQuery(
  sql: string,
  columns: readonly ResultColumn[],
  rows: number,
  form: OutwardForm,
  json: readonly string[] = [],
  isoTimestamps = false,
  maxRowBytes?: number,
): string {
  const names = columns.map(({ name }) => sqlName(name))
  const where = maxRowBytes === undefined ? '' : `WHERE ${withinBytes(names, maxRowBytes)} `
  return `SELECT ${listOf(columns, form, json, isoTimestamps)} FROM (\n${sql}\n) ${where}LIMIT ${rows}`
}

function listOf(
  columns: readonly ResultColumn[],
  form: OutwardForm,
  json: readonly string[],
  isoTimestamps: boolean,
): string {
  switch (form) {
    case 'typed':
      return columns.map((column) => `${asWritten(column)} AS ${sqlName(column.name)}`).join(', ')
    case 'json':
      return columns
        .map((column) => `${asWritten(column, outward(column, isoTimestamps))} AS ${sqlName(column.name)}`)
        .join(', ')
    case 'text-rows':
      return jsonRowSql(
        columns.map((column) =>
          isJsonColumn(column, json)
            ? { name: column.name, sql: `toString(${sqlName(column.name)})`, isJson: true }
            : { name: column.name, sql: outward(column, isoTimestamps) },
        ),
      )
  }
}

/** Types that store a text once and refer to it, however often it is written. */
const dictionaries = [
  [/LowCardinality\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g, '$1'],
  [/Enum(?:8|16)\((?:[^()']|'(?:[^'\\]|\\.)*')*\)/g, 'String'],
] as const

/** A column with the size that the output has, except for what the format adds. */
function asWritten({ name, type }: ResultColumn, sql = sqlName(name)): string {
  // However many, empty tuples have no size.
  if (type.includes('Tuple()')) return written(`toJSONString(${sql})`, 'String')
  const full = dictionaries.reduce((text, [dictionary, plain]) => text.replace(dictionary, plain), type)
  return written(sql, full === type || sql !== sqlName(name) ? undefined : full)
}

/** Keeps the order of the saved query, and keeps JSON values unchanged. */
export const outwardSettings = {
  query_plan_remove_redundant_sorting: 0,
  optimize_duplicate_order_by_and_distinct: 0,
  use_variant_as_common_type: 1,
  // Text at a path of metadata stays text, even if it looks like a date.
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  ...outwardJson,
} as const
