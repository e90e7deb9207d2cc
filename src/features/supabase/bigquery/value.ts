import { invalidQuery } from '../../../core/base/errors.ts'
import { finiteNumber } from '../../../core/engine/tables.ts'
import { sqlText } from '../../../core/sql/names.ts'
import { parseIsoTimestamp } from '../../../shared/timestamps.ts'
import type { OrderKey } from './syntax.ts'

/** What the translation knows of an expression. `json` is the text of any JSON value, an array or a struct among them. */
export type ValueType =
  | 'string'
  | 'int'
  | 'number'
  | 'bool'
  | 'timestamp'
  | 'datetime'
  | 'date'
  | 'interval'
  | 'json'
  | 'null'

/** A translated expression: SQL of the engine, and its type. */
export interface Value {
  readonly sql: string
  readonly type: ValueType
  /** Set if it is a value inside of JSON text, which can be read with any type. */
  readonly path?: JsonPath
  /** Set if it is JSON of metadata, where BigQuery has an array of one object for each object that is not an element. */
  readonly nested?: 'field' | 'element' | undefined
  readonly members?: readonly Column[]
  readonly literal?: string
}

/** A column of a table or of a query, or a field of a struct. */
export interface Column {
  name: string
  value: Value
}

/** The typed column of a source for a path. */
type ColumnOf = (path: string) => { name: string; type: 'text' | 'number' } | undefined

export interface JsonPath {
  /** Expression of the JSON text. */
  readonly base: string
  readonly keys: readonly (string | number)[]
  /** The table with typed columns, if the text is metadata. A subquery has none, and may have returned a part of it. */
  readonly typed?: { table: string; columnOf: ColumnOf; isPart?: true } | undefined
}

const derived = { table: '', columnOf: () => undefined, isPart: true } as const

export const nothing: Value = { sql: 'NULL', type: 'null' }

export function pathValue(path: JsonPath): Value {
  const column = typedColumn(path)
  if (column?.type === 'number') return { sql: column.sql, type: 'number', path }
  if (column) return { sql: pathText(path), type: 'string', path }
  return { sql: pathJson(path), type: 'json', path, nested: path.typed && 'field' }
}

export function member(path: JsonPath, ...keys: (string | number)[]): Value {
  return pathValue({ ...path, keys: [...path.keys, ...keys] })
}

/** The first element of an array; any other value is itself. */
export function firstOf(path: JsonPath): Value {
  const nested = path.typed && 'element'
  if (path.typed && !path.typed.isPart && path.keys.length === 0) return { ...pathValue(path), nested }
  // As a list of one text, because the text can be long.
  const first = `if(startsWith(x, '['), ${pathJson({ base: 'x', keys: [1] })}, x)`
  return { sql: `arrayMap(x -> ${first}, [${pathJson(path)}])[1]`, type: 'json', nested }
}

/** The path of a value that can have fields. */
export function pathOf({ path, type, sql, nested }: Value): JsonPath | undefined {
  return path ?? (type === 'json' ? { base: sql, keys: [], typed: nested && derived } : undefined)
}

export function typedColumn({ keys, typed }: JsonPath) {
  const found = keys.length > 0 ? typed?.columnOf(keys.join('.')) : undefined
  return found && typed && { sql: `${typed.table}.\`${found.name}\``, type: found.type }
}

/** Objects that every sender writes as objects. */
const plainObjects = new Set<string | number | undefined>(['request', 'response', 'parsed'])

/** Reads a path. Some senders write an array of one object where others write the object. */
function extract({ base, keys, typed }: JsonPath, read: (keys: string) => string): string {
  const list = (some: readonly (string | number)[]) =>
    [base, ...some.map((key) => (typeof key === 'number' ? String(key) : sqlText(key)))].join(', ')
  const [direct, parent, last] = [read(list(keys)), keys.slice(0, -1), keys.at(-1) ?? 0]
  const isPlain = !typed?.isPart && (parent.length === 0 || plainObjects.has(keys[0]))
  if (!typed || isPlain || typeof last === 'number') return direct
  return `if(JSONType(${list(parent)}) = 'Array', ${read(list([...parent, 1, last]))}, ${direct})`
}

function pathText(path: JsonPath): string {
  const read = extract(path, (keys) => `JSONExtract(${keys}, 'Nullable(String)')`)
  const column = typedColumn(path)
  if (!column) return read
  // A text column holds an empty text where there is no value.
  return column.type === 'text'
    ? `if(${column.sql} = '', ${read}, ${column.sql})`
    : `if(isNull(${column.sql}), ${read}, toString(${column.sql}))`
}

function pathJson(path: JsonPath): string {
  if (path.keys.length === 0) return path.base
  return extract(path, (keys) => `nullIf(nullIf(JSONExtractRaw(${keys}), ''), 'null')`)
}

export function textOf(value: Value): string {
  const { sql, type, path } = value
  if (path) return path.keys.length === 0 ? path.base : pathText(path)
  switch (type) {
    case 'string':
    case 'null':
      return sql
    case 'json':
      return `JSONExtract(${sql}, 'Nullable(String)')`
    case 'bool':
      return `toString(toBool(${sql}))`
    case 'timestamp':
      return dateTimeText(sql, '%Y-%m-%d %H:%i:%S', '+00')
    case 'datetime':
      return dateTimeText(sql)
    default:
      return `toString(${sql})`
  }
}

/** Without a fraction if it is zero. */
export function dateTimeText(sql: string, format = '%Y-%m-%dT%H:%i:%S', zone = ''): string {
  const [whole, exact] = ['', '.%f'].map(
    (fraction) => `formatDateTime(${sql}, '${format}${fraction}${zone}')`,
  )
  return `if(toUnixTimestamp64Micro(${sql}) % 1000000 = 0, ${whole}, ${exact})`
}

export function numberOf(value: Value): string {
  const { sql, type, path } = value
  const column = path && typedColumn(path)
  if (column?.type === 'number') return column.sql
  if (type === 'int' || type === 'number' || type === 'null') return sql
  if (type === 'bool') return `toInt64(${sql})`
  if (type === 'string' || type === 'json') return finiteNumber(textOf(value))
  throw invalidQuery(`A ${type} cannot be used as a number. Use UNIX_MICROS or TIMESTAMP_DIFF.`)
}

function integerOf(value: Value): string {
  const { sql, type, path } = value
  if (type === 'int' || type === 'null') return sql
  if (type === 'bool') return `toInt64(${sql})`
  if (type === 'timestamp' || type === 'datetime' || type === 'date')
    return `toUnixTimestamp64Micro(${timeOf(value)})`
  if (type === 'number' || (path && typedColumn(path)?.type === 'number'))
    return `accurateCastOrNull(round(${numberOf(value)}), 'Int64')`
  return `toInt64OrNull(${textOf(value)})`
}

export function boolOf(value: Value): string {
  const { sql, type } = value
  if (type === 'bool' || type === 'null') return sql
  if (type === 'int' || type === 'number') return `(${sql} != 0)`
  if (type === 'string' || type === 'json') return `(lower(${textOf(value)}) = 'true')`
  throw invalidQuery(`A ${type} cannot be used as a condition. Compare it with a value.`)
}

/** As DateTime64 with microseconds. */
function timeOf(value: Value): string {
  const { sql, type, literal } = value
  if (type === 'timestamp' || type === 'datetime' || type === 'null') return sql
  if (type === 'date') return `toDateTime64(${sql}, 6, 'UTC')`
  if (type === 'int') return `fromUnixTimestamp64Micro(toInt64(${sql}), 'UTC')`
  if (literal !== undefined && type === 'string') return timeLiteral(literal)
  if (type === 'string' || type === 'json')
    return `parseDateTime64BestEffortOrNull(${textOf(value)}, 6, 'UTC')`
  throw invalidQuery(`A ${type} cannot be used as a timestamp.`)
}

/** A date alone is its first instant. */
export function withTime(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
}

function timeLiteral(text: string): string {
  const micros = parseIsoTimestamp(withTime(text.trim().replace(/ UTC$/, 'Z')))
  if (micros === undefined) {
    throw invalidQuery(`"${text.slice(0, 60)}" is not a timestamp. Write it as 2026-01-31T12:00:00Z.`)
  }
  return `fromUnixTimestamp64Micro(${micros}, 'UTC')`
}

/** As JSON text; null is the text null. */
export function jsonOf(value: Value): string {
  const { sql, type, path } = value
  if (path) return `ifNull(${pathJson(path)}, 'null')`
  if (type === 'json') return `ifNull(${sql}, 'null')`
  if (type === 'timestamp') return `ifNull(toString(toUnixTimestamp64Micro(${sql})), 'null')`
  const output = type === 'string' || type === 'int' || type === 'number' ? sql : textOf(value)
  return type === 'bool' || type === 'null'
    ? `ifNull(${output}, 'null')`
    : `ifNull(toJSONString(${output}), 'null')`
}

/** JSON text as BigQuery has it: a field of metadata that is an object is an array of one object. */
export function nestedJson(value: Value): string {
  if (value.members) return objectOf(value.members, nestedJson)
  const json = jsonOf(value)
  if (!value.nested) return json
  const object = withArrays(json)
  return `if(startsWith(${json}, '{'), ${value.nested === 'element' ? object : `concat('[', ${object}, ']')`}, ${json})`
}

function withArrays(object: string, levels = 6): string {
  const m = `m${levels}`
  const inner = levels === 1 ? `${m}.2` : withArrays(`${m}.2`, levels - 1)
  const member = `concat(toJSONString(${m}.1), ':', if(startsWith(${m}.2, '{'), concat('[', ${inner}, ']'), ${m}.2))`
  return `concat('{', arrayStringConcat(arrayMap(${m} -> ${member}, JSONExtractKeysAndValuesRaw(${object})), ','), '}')`
}

/** An object as JSON text. */
export function jsonObject(members: readonly Column[]): Value {
  return { sql: objectOf(members, jsonOf), type: 'json', members }
}

function objectOf(members: readonly Column[], write: (value: Value) => string): string {
  const parts = members.map(
    ({ name, value }, index) =>
      `${sqlText(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)}, ${write(value)}`,
  )
  return `concat(${[...parts, members.length === 0 ? `'{}'` : `'}'`].join(', ')})`
}

/** The type that several values have in common. */
export function commonType(values: readonly { type: ValueType }[]): ValueType {
  const types = new Set(values.map(({ type }) => type))
  types.delete('null')
  const [only = 'null'] = types
  if (types.size <= 1) return only
  const has = (...some: ValueType[]) => some.some((type) => types.has(type))
  if (has('timestamp', 'datetime', 'date')) return types.has('datetime') ? 'datetime' : 'timestamp'
  if (has('number', 'int') && !types.has('string')) return 'number'
  return has('bool') && !types.has('string') ? 'bool' : 'string'
}

/** Text that is compared with numbers is read as a number; everything else is compared as text. */
export function comparedType(values: readonly Value[]): ValueType {
  const type = commonType(values)
  if (type !== 'string')
    return type === 'json' || type === 'null' ? 'string' : type === 'int' ? 'number' : type
  const isNumeric = values.some((each) => each.type === 'number' || each.type === 'int')
  const texts = values.filter((each) => each.type === 'string')
  const areNumbers = texts.every(
    ({ literal: text }) => text === undefined || (text !== '' && Number.isFinite(Number(text))),
  )
  return isNumeric && areNumbers ? 'number' : 'string'
}

/**
 * The text column of a path alone, if the path is compared with these texts only: the column has an empty text for a
 * missing value, which neither equals nor matches them.
 */
export function textColumn({ path }: Value, texts: readonly Value[]): string | undefined {
  const column = path && typedColumn(path)
  const isApart = texts.every(({ type, literal = '' }) => type === 'string' && /[^%]/.test(literal))
  return column?.type === 'text' && isApart ? column.sql : undefined
}

/** A key of ORDER BY. The engine sorts nulls last; in BigQuery they are the smallest values. */
export function sortKey(value: Value, { direction, nulls }: OrderKey): string {
  const place = nulls || (direction === 'ASC' ? ' NULLS FIRST' : '')
  return sortedBy(value, (sql) => `${sql} ${direction}${place}`)
}

/** A key for a function that sorts an array, in reverse if the direction is DESC. */
export function arraySortKey(value: Value, { direction, nulls }: OrderKey): string {
  const areLargest = nulls === (direction === 'ASC' ? ' NULLS LAST' : ' NULLS FIRST')
  return sortedBy(value, (sql) => `${areLargest ? 'isNull' : 'isNotNull'}(${sql}), ${sql}`)
}

/** JSON may hold numbers, which must not be sorted as text. */
function sortedBy({ sql, type }: Value, key: (sql: string) => string): string {
  return type === 'json' ? `${key(`toFloat64OrNull(${sql})`)}, ${key(sql)}` : key(sql)
}

/** How a value is read with the types that arguments have, too. */
const readers = { string: textOf, number: numberOf, int: integerOf, bool: boolOf, timestamp: timeOf }

export function convert(value: Value, type: string): string {
  const reader = readers[(type === 'datetime' ? 'timestamp' : type) as keyof typeof readers]
  return reader?.(value) ?? value.sql
}
