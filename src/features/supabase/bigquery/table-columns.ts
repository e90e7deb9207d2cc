import { invalidQuery } from '../../../core/base/errors.ts'
import type { Budget } from './budget.ts'
import { type Columns, columnsOf, type ScopeTable } from './scope.ts'
import type { Expression, Query } from './syntax.ts'
import { type Column, dateTimeText, nothing, type Value, type ValueType } from './value.ts'

export interface LogTable {
  view: string
  /** Columns for paths of metadata. */
  columns: readonly { name: string; path: string; type: 'text' | 'number' }[]
  /** Expression for the whole metadata, if some readers need more than was sent. */
  wholeMetadata?: (column: string) => string
}

export const baseColumns = ['id', 'timestamp', 'event_message', 'metadata', 'project']

const logColumns = columnsOf([
  { name: 'id', value: { sql: 'id', type: 'string' } },
  { name: 'timestamp', value: { sql: 'timestamp', type: 'timestamp' } },
  { name: 'event_message', value: { sql: 'event_message', type: 'string' } },
  { name: 'metadata', value: { sql: 'metadata', type: 'json' } },
  { name: 'identifier', value: { sql: 'project', type: 'string' } },
])

export function logTable(ref: string, names: readonly string[], table: LogTable): ScopeTable {
  const base = `${ref}.metadata`
  const columnOf = (path: string) => table.columns.find((column) => column.path === path)
  const metadata: Value = {
    sql: table.wholeMetadata?.(base) ?? base,
    type: 'json',
    path: { base, keys: [], typed: { table: ref, columnOf } },
    nested: 'field',
  }
  const read = ({ name, value }: Column) =>
    name === 'metadata' ? metadata : { ...value, sql: `${ref}.${value.sql}` }
  return { ref, names, columns: logColumns, isLog: true, read }
}

export function derivedTable(ref: string, names: readonly string[], columns: Columns): ScopeTable {
  const read = ({ value }: Column) => ({ ...value, sql: `${ref}.${value.sql}` })
  return { ref, names, columns, isLog: false, read }
}

/** For the right side of a LEFT JOIN: without this, the engine fills missing rows with zeros and empty texts. */
export function nullable(sql: string, { list: columns }: Columns, budget: Budget): string {
  const list = columns.map(({ value }) => `toNullable(${value.sql}) AS ${value.sql}`)
  return budget.produce(`SELECT ${list.join(', ')} FROM (\n${sql}\n)`, 0)
}

export function byName(outputs: readonly Column[]): ReadonlyMap<string, Value> {
  return new Map(outputs.map(({ name, value }) => [name.toLowerCase(), value]))
}

export function limits({ limit, offset }: Query): string {
  return `${limit === undefined ? '' : `\nLIMIT ${limit}`}${offset === undefined ? '' : `\nOFFSET ${offset}`}`
}

export function leafName(value: Expression): string | undefined {
  if (value.kind === 'name') return value.parts.at(-1)
  return value.kind === 'element' && typeof value.key === 'string' ? value.key : undefined
}

/** BigQuery calls columns without a name f0_, f1_ and so on. */
export function distinctNames(names: readonly string[]): string[] {
  const uses = new Map<string, number>()
  return names.map((name, index) => {
    const own = name === '' ? `f${index}_` : name
    let distinct = own
    while (uses.has(distinct)) {
      const number = (uses.get(own) ?? 0) + 1
      uses.set(own, number)
      distinct = `${own}_${number}`
    }
    uses.set(distinct, 0)
    return distinct
  })
}

/** A column as Studio expects it. */
export function output(column: string, type: ValueType): string {
  if (type === 'bool') return `toBool(${column})`
  if (type === 'datetime') return dateTimeText(column)
  if (type === 'date') return `toString(${column})`
  if (type === 'interval') throw invalidQuery('An INTERVAL cannot be selected.')
  return type === 'null' ? nothing.sql : column
}
