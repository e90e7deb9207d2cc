import { invalidQuery } from '../../base/errors.ts'
import type { Column, ScopeTable } from './scope.ts'
import type { Expression, Query } from './syntax.ts'
import { type ColumnOf, dateTimeText, nothing, type Value, type ValueType } from './value.ts'

/** A table that queries can read. */
export interface LogTable {
  /** The view with its entries. */
  view: string
  /** Columns for paths of metadata. */
  columns: readonly { name: string; path: string; type: 'text' | 'number' }[]
  /** Expression for the whole metadata, if some readers need more than was sent. */
  wholeMetadata?: (column: string) => string
}

export const baseColumns = ['id', 'timestamp', 'event_message', 'metadata', 'project']

export function logTable(
  ref: string,
  names: readonly string[],
  { columns, wholeMetadata }: LogTable,
): ScopeTable {
  const columnOf: ColumnOf = (path) => columns.find((column) => column.path === path)
  const metadata = `${ref}.metadata`
  const path = { base: metadata, keys: [], typed: { table: ref, columnOf } }
  const column = (name: string, type: ValueType) => ({ name, value: { sql: `${ref}.${name}`, type } })
  return {
    ref,
    names,
    columns: [
      column('id', 'string'),
      column('timestamp', 'timestamp'),
      column('event_message', 'string'),
      { name: 'metadata', value: { sql: wholeMetadata?.(metadata) ?? metadata, type: 'json', path } },
    ],
    hidden: [{ name: 'identifier', value: { sql: `${ref}.project`, type: 'string' } }],
  }
}

export function derivedTable(ref: string, names: readonly string[], columns: readonly Column[]): ScopeTable {
  return {
    ref,
    names: names.map((name) => name.toLowerCase()),
    columns: columns.map(({ name, type }, index) => ({ name, value: { sql: `${ref}.O${index + 1}`, type } })),
  }
}

/** For the right side of a LEFT JOIN: without this, the engine fills missing rows with zeros and empty texts. */
export function nullable(sql: string, columns: readonly Column[]): string {
  const list = columns.map((_, index) => `toNullable(O${index + 1}) AS O${index + 1}`)
  return `SELECT ${list.join(', ')} FROM (\n${sql}\n)`
}

export function byName(outputs: readonly { name: string; value: Value }[]): ReadonlyMap<string, Value> {
  return new Map(outputs.map(({ name, value }) => [name.toLowerCase(), value]))
}

export function limits({ limit, offset }: Query): string {
  return `${limit === undefined ? '' : `\nLIMIT ${limit}`}${offset === undefined ? '' : `\nOFFSET ${offset}`}`
}

/** The name of a column without an alias. */
export function leafName(value: Expression): string | undefined {
  if (value.kind === 'name') return value.parts.at(-1)
  return value.kind === 'element' && typeof value.key === 'string' ? value.key : undefined
}

/** BigQuery calls columns without a name f0_, f1_ and so on. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name, index) => {
    const own = name === '' ? `f${index}_` : name
    let distinct = own
    for (let number = 1; taken.has(distinct); number++) distinct = `${own}_${number}`
    taken.add(distinct)
    return distinct
  })
}

/** A column as Studio expects it. */
export function outward(column: string, type: ValueType): string {
  if (type === 'bool') return `toBool(${column})`
  if (type === 'datetime') return dateTimeText(column)
  if (type === 'date') return `toString(${column})`
  if (type === 'interval') throw invalidQuery('An INTERVAL cannot be selected.')
  return type === 'null' ? nothing.sql : column
}
