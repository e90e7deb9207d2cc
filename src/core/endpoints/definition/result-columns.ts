import { z } from 'zod'
import { invalidQuery } from '../../base/errors.ts'
import type { Engine, Limits, Statement } from '../../engine/engine.ts'
import {
  jsonRowSql,
  jsonValueSql,
  outputJson,
  queryRows,
  withinBytes,
  written,
} from '../../engine/json-rows.ts'
import { sqlName, sqlText } from '../../sql/names.ts'
import {
  bareTypeOf,
  type EngineType,
  mayHoldText,
  type OutputForm,
  type OutputOptions,
  outputSql,
  parseEngineType,
} from './output-types.ts'
import type { CompiledQuery } from './parameters.ts'

export interface ResultColumn {
  name: string
  type: string
}

export const columnsView = z.array(z.object({ name: z.string(), type: z.string() }))

export async function describeColumns(
  engine: Pick<Engine, 'query'>,
  { sql, ...statement }: Pick<Statement, 'sql' | 'parameters' | 'settings'>,
  limits: Limits = { deadlineMs: 30_000 },
): Promise<ResultColumn[]> {
  const described = { ...statement, sql: `DESCRIBE (\n${sql}\n)` }
  const columns = await queryRows<ResultColumn>(engine, described, { ...limits, asReader: true })
  checkNames(columns, sql)
  return columns.map(({ name, type }) => ({ name, type }))
}

const replacement = '\ufffd'

/** A column without an alias is named after its SQL, whose escapes can be any bytes. No other SQL can name it then. */
function checkNames(columns: readonly ResultColumn[], sql: string): void {
  const at = columns.findIndex(({ name }) => name.includes(replacement))
  if (at < 0 || sql.includes(replacement)) return
  const place = columns.length === 1 ? 'the column' : `column ${at + 1}`
  throw invalidQuery(`The name of ${place} is not valid UTF-8. Give it an alias, such as AS value.`)
}

/** Why a column of an endpoint cannot be used, as a sentence. */
export function columnProblem(
  { name: endpoint, columns }: { name: string; columns: readonly ResultColumn[] },
  column: string,
  mustBeNumber: boolean,
): string | undefined {
  const type = columns.find(({ name }) => name === column)?.type
  const names = columns.map(({ name }) => name).join(', ')
  if (type === undefined) return `${endpoint} has no column "${column}". It has ${names}.`
  const isNumber = /^(?:U?Int|B?Float|Decimal)/.test(bareTypeOf(type).name)
  if (mustBeNumber && !isNumber) return `The column "${column}" is not a number but ${type}.`
  return undefined
}

/** Whether a text column is returned as JSON: `metadata`, and the columns that the definition lists. */
export function isJsonColumn({ name, type }: ResultColumn, listed: readonly string[]): boolean {
  const bare = bareTypeOf(type).name
  return bare === 'JSON' || ((name === 'metadata' || listed.includes(name)) && bare === 'String')
}

type Certain = CompiledQuery['certain']

/** Whether the texts of a column are certainly UTF-8. */
function isCertainText({ name, type }: ResultColumn, { texts }: Certain): boolean {
  return !mayHoldText(type) || texts.has(name)
}

/** Whether the query itself writes a column as JSON: text that is JSON already, or that may not be UTF-8. */
export function isWrittenAsJson(column: ResultColumn, certain: Certain, listed: readonly string[]): boolean {
  return isJsonColumn(column, listed) || !isCertainText(column, certain)
}

interface Wrapping {
  rows: number
  /** Rows of text are JSON that the query itself writes. In a template, some columns are JSON that it writes. */
  form: OutputForm | 'text-rows' | 'template'
  json?: readonly string[]
  isoTimestamps?: boolean | undefined
  maxRowBytes?: number | undefined
}

/** Wraps the saved query in one that converts its columns and limits its rows. */
export function wrapQuery(
  { prunedSql, certain }: Pick<CompiledQuery, 'prunedSql' | 'certain'>,
  columns: readonly ResultColumn[],
  { rows, form, json = [], isoTimestamps = false, maxRowBytes }: Wrapping,
): string {
  const memberOf = (column: ResultColumn) => {
    const { name, type } = column
    const isCertain = isCertainText(column, certain)
    if (isJsonColumn(column, json))
      return { name, sql: `toString(${sqlName(name)})`, isJson: true, isCertain }
    const wanted = { form: 'json', isoTimestamps, isCertain } as const
    return { name, sql: outputSql(sqlName(name), type, wanted), isCertain }
  }
  const columnSql = (column: ResultColumn): string => {
    const own = sqlName(column.name)
    const isCertain = isCertainText(column, certain)
    if (form === 'template' && isWrittenAsJson(column, certain, json)) {
      // Only rows that others inserted have no metadata.
      if (certain.stored.has(column.name)) return `if(empty(${own}), '""', ${own})`
      return written(jsonValueSql(memberOf(column)), 'String')
    }
    const output = form === 'template' || form === 'text-rows' ? 'json' : form
    if (output === 'json' && certain.counts.has(column.name)) return own
    return writtenSql(column, { form: output, isoTimestamps, isCertain })
  }
  const names = columns.map(({ name }) => sqlName(name))
  const selected =
    form === 'text-rows'
      ? jsonRowSql(columns.map(memberOf))
      : columns.map((column, index) => `${columnSql(column)} AS ${names[index]}`).join(', ')
  const where = maxRowBytes === undefined ? '' : `WHERE ${withinBytes(names, maxRowBytes)} `
  return `SELECT ${selected} FROM (\n${prunedSql}\n) ${where}LIMIT ${rows}`
}

/** The type without types that store a text once and refer to it, however often it is written. */
function withoutDictionaries({ name, arguments: parts, text }: EngineType): string {
  if (name.startsWith('Enum')) return 'String'
  const full = parts.map(
    (part) => part.text.slice(0, -part.type.text.length) + withoutDictionaries(part.type),
  )
  if (name === 'LowCardinality') return full.join()
  return full.length === 0 ? text : `${name}(${full.join(', ')})`
}

/** A column as it leaves the service, with the size that the output has, except for what the format adds. */
function writtenSql({ name, type }: ResultColumn, wanted: OutputOptions): string {
  const hasDictionary = /LowCardinality|Enum/.test(type)
  const full = hasDictionary ? withoutDictionaries(parseEngineType(type)) : type
  const value = hasDictionary ? `CAST(${sqlName(name)}, ${sqlText(full)})` : sqlName(name)
  const sql = outputSql(value, full, wanted)
  // However many, empty tuples have no size. CSV has them as JSON anyway.
  return written(wanted.form !== 'csv' && type.includes('Tuple()') ? `toJSONString(${sql})` : sql)
}

/** Keeps the order of the saved query, and keeps JSON values unchanged. */
export const outputSettings = {
  query_plan_remove_redundant_sorting: 0,
  optimize_duplicate_order_by_and_distinct: 0,
  use_variant_as_common_type: 1,
  // Text at a path of metadata stays text, even if it looks like a date.
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
  ...outputJson,
} as const
