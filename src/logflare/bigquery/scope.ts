import type { WellheadError } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import {
  type JsonPath,
  jsonObject,
  jsonOf,
  member,
  pathOf,
  pathValue,
  typedColumn,
  type Value,
  type ValueType,
} from './value.ts'

export interface Column {
  name: string
  type: ValueType
}

/** A table of a FROM clause. */
export interface ScopeTable {
  /** Its name in the translated SQL. */
  ref: string
  /** Names that the author can use for it, in lower case. */
  names: readonly string[]
  columns: readonly NamedValue[]
  /** Columns that * does not select. */
  hidden?: readonly NamedValue[]
}

interface NamedValue {
  name: string
  value: Value
}

/** What names mean inside of one SELECT. Names of tables, columns and aliases ignore case, as in BigQuery. */
export class Scope {
  readonly tables: ScopeTable[] = []
  readonly #paths = new Map<string, JsonPath>()
  readonly #grouped = new Set<string>()
  /** Selected columns by name, where they can be used. */
  outputs: ReadonlyMap<string, Value> | undefined
  readonly refuse: (message: string, at: number) => WellheadError
  /** Counts the length of the translation, because short SQL can have a long one. */
  readonly spend: (length: number, at: number) => void

  constructor({ refuse, spend }: Pick<Scope, 'refuse' | 'spend'>) {
    this.refuse = refuse
    this.spend = spend
  }

  /** An alias of UNNEST is another name for a path: metadata holds objects, not arrays of one object. */
  addPath(alias: string, path: JsonPath): void {
    this.#paths.set(alias.toLowerCase(), path)
  }

  /** From now on, the value of a path that is a group key can be read only through the key. */
  group(value: Value): void {
    if (value.path) this.#grouped.add(keyOf(value.path))
  }

  has(name: string): boolean {
    const lower = name.toLowerCase()
    return this.#paths.has(lower) || this.tables.some(({ names }) => names.includes(lower))
  }

  resolve(parts: readonly string[], at: number): Value {
    const found = this.#find(parts, at)
    if (!found.path || !this.#grouped.has(keyOf(found.path))) return found
    return { sql: found.sql, type: found.type }
  }

  #find(parts: readonly string[], at: number): Value {
    const [first = '', ...rest] = parts
    const lower = first.toLowerCase()
    const output = rest.length === 0 ? this.outputs?.get(lower) : undefined
    if (output) return output
    const path = this.#paths.get(lower)
    if (path) return rest.length === 0 ? pathValue(path) : member(path, ...rest)
    const table = this.tables.find(({ names }) => names.includes(lower))
    if (table) return rest.length === 0 ? jsonObject(table.columns) : this.#ofTable(table, rest, at)
    const column = this.#column(lower, at)
    if (column) return inside(column, rest) ?? this.#noField(first, rest, at)
    const field = this.#field(parts)
    if (field) return field
    throw this.#unknown(first, at)
  }

  #ofTable(table: ScopeTable, [name = '', ...rest]: readonly string[], at: number): Value {
    const column = columnsOf(table).find((each) => each.name.toLowerCase() === name.toLowerCase())
    if (column) return inside(column.value, rest) ?? this.#noField(name, rest, at)
    const names = table.columns.map((each) => each.name)
    const closest = didYouMean(closestName(name, names))
    throw this.refuse(`${table.names[0]} has no column "${name}".${closest} Columns: ${shown(names)}.`, at)
  }

  #noField(name: string, rest: readonly string[], at: number): never {
    throw this.refuse(`The column "${name}" has no field "${rest[0]}".`, at)
  }

  #column(lower: string, at: number): Value | undefined {
    const found = this.tables.flatMap((table) =>
      columnsOf(table).filter(({ name }) => name.toLowerCase() === lower),
    )
    if (found.length > 1) {
      throw this.refuse(`The name "${lower}" is ambiguous. Write the table before it: table.${lower}.`, at)
    }
    return found[0]?.value
  }

  /** A bare name can be a field of any object that was unnested. */
  #field(parts: readonly string[]): Value | undefined {
    const candidates = [...this.#paths.values()].map((path) => ({ ...path, keys: [...path.keys, ...parts] }))
    const typed = candidates.filter((path) => typedColumn(path) !== undefined)
    const [only] = typed.length === 1 ? typed : candidates
    if (only === undefined) return undefined
    if (typed.length === 1 || candidates.length === 1) return pathValue(only)
    // Read as JSON, so that all have the same type.
    const values = candidates.map((path) => `nullIf(${jsonOf({ ...pathValue(path), path })}, 'null')`)
    return { sql: `coalesce(${values.join(', ')})`, type: 'json' }
  }

  #unknown(name: string, at: number): WellheadError {
    const names = this.tables.flatMap(({ columns, names }) => [
      ...columns.map((column) => column.name),
      ...names,
    ])
    const closest = closestName(name, names)
    const help =
      closest === undefined
        ? ' To read a field of metadata, add CROSS JOIN UNNEST(metadata) AS m and write m.field.'
        : didYouMean(closest)
    return this.refuse(`Unrecognized name "${name}".${help}`, at)
  }
}

function columnsOf({ columns, hidden = [] }: ScopeTable): readonly NamedValue[] {
  return [...columns, ...hidden]
}

function keyOf({ base, keys }: JsonPath): string {
  return JSON.stringify([base, keys])
}

function inside(value: Value, keys: readonly string[]): Value | undefined {
  if (keys.length === 0) return value
  const path = pathOf(value)
  return path && member(path, ...keys)
}

function shown(names: readonly string[]): string {
  return names.length > 20 ? `${names.slice(0, 20).join(', ')} and more` : names.join(', ')
}
