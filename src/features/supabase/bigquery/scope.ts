import { grouped } from '../../../core/base/grouped.ts'
import { closestName, didYouMean } from '../../../core/base/text/closest-name.ts'
import type { Budget } from './budget.ts'
import {
  type Column,
  type JsonPath,
  jsonObject,
  jsonOf,
  member,
  pathOf,
  pathValue,
  typedColumn,
  type Value,
} from './value.ts'

/** All uses of a subquery share them. */
export type Columns = ReturnType<typeof columnsOf>

/** The columns of a table, also by name in lower case. */
export function columnsOf(list: readonly Column[]) {
  return { list, byName: grouped(list, ({ name }) => name.toLowerCase()) }
}

export interface ScopeTable {
  /** Its name in the translated SQL. */
  ref: string
  /** Names that the author can use for it, in lower case. */
  names: readonly string[]
  columns: Columns
  /** Whether its rows are entries. Then * does not select the last column. */
  isLog: boolean
  /** The value of a column where this table is read. */
  read(column: Column): Value
}

/** Subqueries of WITH clauses by name, and how many tables each reads. */
export type Ctes = Map<string, { ref: string; columns: Columns; uses: number }>

/** Objects in entries of Supabase, and what contains them; metadata is ''. Other bare names are read from every object. */
const containers = new Map(
  Object.entries({
    request: [''],
    response: [''],
    parsed: [''],
    context: [''],
    headers: ['request', 'response'],
    cf: ['request'],
    sb: ['request'],
    jwt: ['sb'],
    apikey: ['jwt'],
    authorization: ['jwt'],
    payload: ['apikey', 'authorization'],
  }),
)

/** What names mean inside of one SELECT. Names of tables, columns and aliases ignore case, as in BigQuery. */
export class Scope {
  readonly tables: ScopeTable[] = []
  readonly #named = new Map<string, ScopeTable>()
  readonly #paths = new Map<string, JsonPath>()
  /** Columns and fields that were found by their names alone. */
  readonly #found = new Map<string, Value>()
  /** Columns that USING names, which are the same in both tables. */
  readonly merged = new Map<string, Value>()
  /** Definitions of fields that could be in several objects, once the tables are known. */
  fields: string[] | undefined
  readonly #grouped = new Set<string>()
  /** Selected columns by name, where they can be used. */
  outputs: ReadonlyMap<string, Value> | undefined
  readonly budget: Budget
  readonly ctes: Ctes
  /** That of the query around this one. */
  readonly #outer: Scope | undefined

  constructor(budget: Budget, ctes: Ctes, outer?: Scope) {
    this.budget = budget
    this.ctes = ctes
    this.#outer = outer
  }

  addTable(table: ScopeTable): void {
    this.tables.push(table)
    for (const name of table.names) if (!this.#named.has(name)) this.#named.set(name, table)
    this.#found.clear()
  }

  table(name: string): ScopeTable | undefined {
    return this.#named.get(name.toLowerCase())
  }

  /** An alias of UNNEST is another name for a path: metadata holds objects, not arrays of one object. */
  addPath(alias: string, path: JsonPath): void {
    this.#paths.set(alias.toLowerCase(), path)
  }

  addAll(joined: Scope): void {
    for (const table of joined.tables) this.addTable(table)
    for (const [alias, path] of joined.#paths) this.addPath(alias, path)
  }

  /** From now on, the value of a path that is a group key can be read only through the key. */
  group(value: Value): void {
    if (value.path) this.#grouped.add(keyOf(value.path))
  }

  has(name: string): boolean {
    const lower = name.toLowerCase()
    return this.#paths.has(lower) || this.#named.has(lower) || this.#outer?.has(lower) === true
  }

  resolve(parts: readonly string[], at: number, isOuter = false): Value {
    const found = this.#find(parts, at, isOuter)
    if (!found.path || !this.#grouped.has(keyOf(found.path))) return found
    return { sql: found.sql, type: found.type, nested: found.nested }
  }

  #find(parts: readonly string[], at: number, isOuter: boolean): Value {
    const [first = '', ...rest] = parts
    const lower = first.toLowerCase()
    const output = rest.length === 0 ? this.outputs?.get(lower) : undefined
    if (output) return output
    const path = this.#paths.get(lower)
    if (path)
      return rest.length === 0
        ? { ...pathValue(path), nested: path.typed && 'element' }
        : member(path, ...rest)
    const table = this.table(lower)
    // A table with an alias can be called by its own name, too, unless a column has that name.
    const isTable = table && (table.names[0] === lower || !this.#column(lower, at))
    if (isTable) return rest.length === 0 ? jsonObject(shownColumns(table)) : this.ofTable(table, rest, at)
    const column = this.#column(lower, at)
    if (column) return inside(column, rest) ?? this.#noField(first, rest, at)
    const field = rest.length > 0 && this.#outer?.has(first) ? undefined : this.#field(parts)
    if (field) return field
    if (!this.#outer) throw this.#unknown(first, at)
    const outer = this.#outer.resolve(parts, at, true)
    // The engine cannot run it.
    if (isOuter)
      throw this.budget.refuse(`EXISTS cannot use "${first}" of a query around another EXISTS.`, at)
    return outer
  }

  ofTable(table: ScopeTable, [name = '', ...rest]: readonly string[], at: number): Value {
    const [column] = table.columns.byName.get(name.toLowerCase()) ?? []
    if (column) return inside(table.read(column), rest) ?? this.#noField(name, rest, at)
    const names = namesOf(table)
    const closest = didYouMean(closestName(name, names))
    throw this.budget.refuse(
      `${table.names[0]} has no column "${name}".${closest} Columns: ${listed(names)}.`,
      at,
    )
  }

  #noField(name: string, rest: readonly string[], at: number): never {
    throw this.budget.refuse(`The column "${name}" has no field "${rest[0]}".`, at)
  }

  #column(lower: string, at: number): Value | undefined {
    const known = this.merged.get(lower) ?? this.#found.get(lower)
    if (known) return known
    const [found, ...others] = this.tables.flatMap(({ columns, read }) =>
      (columns.byName.get(lower) ?? []).map(read),
    )
    const help = `Write the table before it: table.${lower}.`
    if (others.length > 0) throw this.budget.refuse(`The name "${lower}" is ambiguous. ${help}`, at)
    if (found) this.#found.set(lower, found)
    return found
  }

  /** A bare name can be a field of any object that was unnested. */
  #field(parts: readonly string[]): Value | undefined {
    const key = `.${parts.join('.')}`
    const known = this.#found.get(key)
    if (known) return known
    const paths = [...this.#paths.values()]
    const outer = containers.get(parts[0] ?? '') ?? []
    const likely = paths.filter(({ keys }) => outer.includes(String(keys.at(-1) ?? '')))
    const places = likely.length > 0 ? likely : paths
    const candidates = places.map((path) => ({ ...path, keys: [...path.keys, ...parts] }))
    const typed = candidates.filter((path) => typedColumn(path) !== undefined)
    const [only] = typed.length === 1 ? typed : candidates
    if (only === undefined) return undefined
    const isOnly = typed.length === 1 || candidates.length === 1
    // Read as JSON, so that all have the same type.
    const values = candidates.map((path) => `nullIf(${jsonOf({ ...pathValue(path), path })}, 'null')`)
    const value: Value = isOnly
      ? pathValue(only)
      : { sql: `coalesce(${values.join(', ')})`, type: 'json', nested: only.typed && 'field' }
    if (!this.fields) return value
    // Once in a SELECT, because it is long.
    const named = isOnly ? value : { ...value, sql: this.budget.name('F') }
    if (!isOnly) this.fields.push(`${value.sql} AS ${named.sql}`)
    this.#found.set(key, named)
    return named
  }

  #unknown(name: string, at: number) {
    const sets = new Map(this.tables.map((table) => [table.columns, table]))
    const names = [...[...sets.values()].flatMap(namesOf), ...this.#named.keys()]
    const closest = closestName(name, names)
    const help =
      closest === undefined
        ? ' To read a field of metadata, add CROSS JOIN UNNEST(metadata) AS m and write m.field.'
        : didYouMean(closest)
    return this.budget.refuse(`Unrecognized name "${name}".${help}`, at)
  }
}

/** What * selects. */
export function shownColumns({ columns: { list }, isLog, read }: ScopeTable): Column[] {
  const shown = isLog ? list.slice(0, -1) : list
  return shown.map((column) => ({ name: column.name, value: read(column) }))
}

function namesOf(table: ScopeTable): string[] {
  return shownColumns(table).map(({ name }) => name)
}

function keyOf({ base, keys }: JsonPath): string {
  return JSON.stringify([base, keys])
}

function inside(value: Value, keys: readonly string[]): Value | undefined {
  if (keys.length === 0) return value
  const path = pathOf(value)
  return path && member(path, ...keys)
}

function listed(names: readonly string[]): string {
  return names.length > 20 ? `${names.slice(0, 20).join(', ')} and more` : names.join(', ')
}
