import type { Engine, Limits, Statement } from '../../engine/engine.ts'
import {
  jsonRowSql,
  jsonText,
  outwardJson,
  readJsonRows,
  withinBytes,
  written,
} from '../../engine/json-rows.ts'
import { sqlName } from '../../sql/names.ts'
import { type OutwardForm, outwardSql } from './outward-types.ts'
import type { CompiledQuery } from './parameters.ts'

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

function bareType(type: string): string {
  return type.replace(/^LowCardinality\((.*)\)$/, '$1').replace(/^Nullable\((.*)\)$/, '$1')
}

/** Whether a text column is returned as JSON: `metadata`, and the columns that the definition lists. */
export function isJsonColumn({ name, type }: ResultColumn, listed: readonly string[]): boolean {
  const bare = bareType(type)
  // Endpoints that were saved when metadata had the type JSON still list it as JSON.
  return bare.startsWith('JSON') || ((name === 'metadata' || listed.includes(name)) && bare === 'String')
}

interface Member extends ResultColumn {
  sql: string
  isJson?: boolean
  isCount?: boolean
}

interface Wrapping {
  /** The most rows. */
  rows: number
  /** Rows of text are JSON that the query itself writes. In a template, text columns are JSON already. */
  form: OutwardForm | 'text-rows' | 'template'
  json?: readonly string[]
  isoTimestamps?: boolean | undefined
  maxRowBytes?: number | undefined
}

/** Wraps the saved query in one that converts its columns and limits its rows. */
export function wrapQuery(
  { sent, certain }: Pick<CompiledQuery, 'sent' | 'certain'>,
  columns: readonly ResultColumn[],
  { rows, form, json = [], isoTimestamps = false, maxRowBytes }: Wrapping,
): string {
  const isJsonForm = form === 'text-rows' || form === 'template'
  const outward = isJsonForm ? 'json' : form
  const members = columns.map((column): Member => {
    const { name, type } = column
    const own = sqlName(name)
    if (isJsonForm && isJsonColumn(column, json)) return { ...column, sql: `toString(${own})`, isJson: true }
    const isCount = outward === 'json' && certain.counts.has(name)
    return { ...column, sql: isCount ? own : outwardSql(name, type, outward, isoTimestamps), isCount }
  })
  const selected =
    form === 'text-rows'
      ? jsonRowSql(members)
      : members.map((member) => `${memberSql(member, certain.stored)} AS ${sqlName(member.name)}`).join(', ')
  const names = columns.map(({ name }) => sqlName(name))
  const where = maxRowBytes === undefined ? '' : `WHERE ${withinBytes(names, maxRowBytes)} `
  return `SELECT ${selected} FROM (\n${sent}\n) ${where}LIMIT ${rows}`
}

/** A column as a member of a JSON object, or of another form. */
function memberSql(member: Member, stored: ReadonlySet<string>): string {
  const { name, sql, isJson, isCount } = member
  if (isCount) return sql
  // Only rows that others inserted have no metadata.
  if (isJson && stored.has(name)) return `if(empty(${sqlName(name)}), '""', ${sqlName(name)})`
  return isJson ? written(`ifNull(${jsonText(sql)}, 'null')`, 'String') : asWritten(member, sql)
}

/** Types that store a text once and refer to it, however often it is written. */
const dictionaries = [
  [/LowCardinality\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g, '$1'],
  [/Enum(?:8|16)\((?:[^()']|'(?:[^'\\]|\\.)*')*\)/g, 'String'],
] as const

/** A column with the size that the output has, except for what the format adds. */
function asWritten({ name, type }: ResultColumn, sql: string): string {
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
