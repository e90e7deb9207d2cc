import { closestName, didYouMean } from '../../../core/base/text/closest-name.ts'
import { sqlName } from '../../../core/sql/names.ts'
import { Budget } from './budget.ts'
import { callFunction } from './functions.ts'
import { parseQuery } from './parse-query.ts'
import { type Ctes, columnsOf, Scope, type ScopeTable, shownColumns } from './scope.ts'
import type { Body, Expression, From, Join, Query, Select, SelectItem, Table } from './syntax.ts'
import {
  baseColumns,
  byName,
  derivedTable,
  distinctNames,
  type LogTable,
  leafName,
  limits,
  logTable,
  nullable,
  output,
} from './table-columns.ts'
import { ExpressionTranslator } from './translate-expression.ts'
import { type Column, commonType, convert, type JsonPath, pathOf, sortKey, type Value } from './value.ts'

/** A query with the columns O1, O2 and so on. */
interface Derived {
  sql: string
  columns: readonly Column[]
}

const maxColumns = 1_000

/**
 * Translates a BigQuery query into one query of the engine over the views. Tables, subqueries and columns get names of
 * their own, because the engine would use an alias of the author wherever its name occurs.
 */
export function translateBigQuery(sql: string, tables: ReadonlyMap<string, LogTable>) {
  return new Translator(sql, tables).translate(parseQuery(sql))
}

interface Selected {
  name: string
  value: (expressions: ExpressionTranslator) => Value
}

class Translator {
  readonly #budget: Budget
  readonly #tables: ReadonlyMap<string, LogTable>
  readonly #with: string[] = []

  constructor(source: string, tables: ReadonlyMap<string, LogTable>) {
    this.#budget = new Budget(source)
    this.#tables = tables
  }

  translate(query: Query) {
    const { sql, columns } = this.#query(query, new Map())
    const names = distinctNames(columns.map(({ name }) => name))
    const selected = columns.map(
      ({ value }, index) => `${output(`R.${value.sql}`, value.type)} AS ${sqlName(names[index] ?? '')}`,
    )
    const clause = this.#with.length > 0 ? `WITH ${this.#with.join(',\n')}\n` : ''
    return {
      sql: this.#budget.produce(`${clause}SELECT ${selected.join(', ')} FROM (\n${sql}\n) AS R`, 0),
      /** Columns whose text is JSON. */
      json: names.filter((_, index) => columns[index]?.value.type === 'json'),
    }
  }

  readonly #refuse = (message: string, at: number) => this.#budget.refuse(message, at)

  #query(query: Query, outer: Ctes, around?: Scope): Derived {
    // Copied at most as often as tables can be read.
    const ctes = query.ctes.length > 0 ? new Map(outer) : outer
    for (const { name, query: inner } of query.ctes) {
      const before = this.#budget.tables
      this.#budget.read(1, inner.at)
      const { sql, columns } = this.#query(inner, ctes)
      const ref = `Q${this.#with.length + 1}`
      this.#with.push(`${ref} AS (\n${sql}\n)`)
      const uses = this.#budget.tables - before
      ctes.set(name.toLowerCase(), { ref, columns: columnsOf(columns), uses })
    }
    const { sql, columns } = this.#body(query, ctes, around)
    return { sql: this.#budget.produce(sql, query.at), columns }
  }

  #body(query: Query, ctes: Ctes, around?: Scope): Derived {
    const { body } = query
    if (body.kind === 'select') return this.#select(body.select, query, new Scope(this.#budget, ctes, around))
    const { sql, columns } = this.#union(body, ctes, around)
    const scope = new Scope(this.#budget, ctes)
    scope.outputs = byName(columns)
    const order = this.#order(query, columns, this.#expressions(scope))
    return { sql: `SELECT * FROM (\n${sql}\n)${order}${limits(query)}`, columns }
  }

  #union({ branches, distinct }: Body & { kind: 'union' }, ctes: Ctes, around?: Scope): Derived {
    const parts = branches.map((branch) => this.#query(branch, ctes, around))
    const [first] = parts as [Derived]
    const odd = parts.findIndex(({ columns }) => columns.length !== first.columns.length)
    if (odd >= 0) {
      const message = `The queries of a UNION must have the same number of columns: ${first.columns.length}, not ${parts[odd]?.columns.length}.`
      throw this.#refuse(message, branches[odd]?.at ?? 0)
    }
    const columns = first.columns.map(({ name, value: { sql } }, index): Column => {
      const own = parts.map((part) => (part.columns[index] as Column).value)
      const nested = own.find(({ type }) => type === 'json')?.nested
      return { name, value: { sql, type: commonType(own), nested } }
    })
    const selects = parts.map(({ sql, columns: own }) => {
      const items = own.map(({ value }, index) => {
        const { type = value.type } = columns[index]?.value ?? {}
        return `${value.type === type ? value.sql : convert(value, type)} AS ${value.sql}`
      })
      return `SELECT ${items.join(', ')} FROM (\n${sql}\n)`
    })
    return { sql: selects.join(distinct ? '\nUNION DISTINCT\n' : '\nUNION ALL\n'), columns }
  }

  #expressions(scope: Scope): ExpressionTranslator {
    return new ExpressionTranslator(scope, (query, isOneColumn) => {
      if (!isOneColumn) return { sql: this.#exists(query, scope), type: 'bool' }
      // The engine returns wrong counts if these use columns of the query around them.
      const { sql, columns } = this.#query(query, scope.ctes)
      if (columns.length !== 1)
        throw this.#refuse('A subquery in an expression must have one column.', query.at)
      return { sql: `(${sql})`, type: columns[0]?.value.type ?? 'null' }
    })
  }

  /** Whether a query has rows depends neither on their order nor on what is selected, some of which the engine refuses. */
  #exists(query: Query, around: Scope): string {
    const { ctes } = around
    const { at, body, limit, offset } = query
    if (body.kind === 'union' || limit === 0 || offset !== undefined)
      return `EXISTS (${this.#query(query, ctes, around).sql})`
    const { from, where, group, having } = body.select
    const joins = from
      ? [{ type: 'CROSS', table: from.first, on: undefined, using: [] } as const, ...from.joins]
      : []
    const areFields = from && joins.every(({ table }) => table.kind === 'unnest')
    if (areFields && group.length === 0 && !having) {
      // There is one row, unless the first field is missing.
      const scope = new Scope(this.#budget, ctes, around)
      for (const join of joins) this.#join(join, scope, false)
      const first = this.#expressions(around).value((from.first as Table & { kind: 'unnest' }).of)
      return `ifNull(isNotNull(${first.sql}) AND ${where ? this.#expressions(scope).condition(where) : 1}, 0)`
    }
    const one = { kind: 'literal', type: 'int', value: '1', at } as const
    const items = body.select.items.map((item) =>
      item.kind === 'all' ? ({ kind: 'expression', value: one, alias: '' } as const) : item,
    )
    const select = { ...body.select, distinct: false, items }
    const rows = { ...query, body: { kind: 'select', select } as const, order: [], limit: undefined }
    return `EXISTS (${this.#query(rows, ctes, around).sql})`
  }

  #select(select: Select, query: Query, scope: Scope): Derived {
    const from = select.from ? `\nFROM ${this.#from(select.from, scope)}` : ''
    const expressions = this.#expressions(scope)
    scope.fields = []
    const where = select.where ? `\nWHERE ${expressions.condition(select.where)}` : ''
    if (expressions.hasAggregate)
      throw this.#refuse('WHERE cannot use aggregate functions. Use HAVING.', select.at)
    const items: Selected[] = []
    for (const item of select.items) {
      for (const selected of this.#expand(item, scope)) items.push(selected)
      if (items.length > maxColumns)
        throw this.#refuse(`More than ${maxColumns} columns are selected.`, select.at)
    }
    const group = this.#group(select, items, scope, expressions)
    const outputs = items.map(({ name, value }, index) => {
      const { sql, type, nested } = value(expressions)
      // What the author sorts by is the column of the result.
      return { name, sql, value: { sql: `O${index + 1}`, type, nested } }
    })
    if (outputs.length === 0) throw this.#refuse('No columns are selected.', select.at)
    scope.outputs = byName(outputs)
    const having = select.having ? `\nHAVING ${expressions.condition(select.having)}` : ''
    const qualify = select.qualify ? `\nQUALIFY ${expressions.condition(select.qualify)}` : ''
    const order = this.#order(query, outputs, expressions)
    const isPlain = !expressions.hasAggregate && group === '' && !select.distinct
    const [table] = scope.tables
    // Entries of the same instant must not change places from page to page.
    const tie = isPlain && order !== '' && scope.tables.length === 1 && table?.isLog
    const direction = query.order.at(-1)?.direction
    const list = outputs.map(({ sql }, index) => `${sql} AS O${index + 1}`)
    const fields = scope.fields.length > 0 ? `WITH ${scope.fields.join(', ')}\n` : ''
    return {
      sql:
        `${fields}SELECT ${select.distinct ? 'DISTINCT ' : ''}${list.join(', ')}${from}${where}${group}${having}${qualify}${order}` +
        `${tie ? `, ${table.ref}.id ${direction}` : ''}${limits(query)}`,
      columns: outputs,
    }
  }

  #expand(item: SelectItem, scope: Scope): Selected[] {
    if (item.kind === 'expression') {
      const name = item.alias ?? leafName(item.value) ?? ''
      return [{ name, value: (expressions) => expressions.value(item.value) }]
    }
    const wanted = item.of === undefined ? undefined : scope.table(item.of)
    const tables = item.of === undefined ? scope.tables : wanted ? [wanted] : []
    if (tables.length === 0) {
      const message =
        item.of === undefined
          ? 'SELECT * needs a table.'
          : `"${item.of}.*" cannot be expanded, because metadata has no fixed fields. Select ${item.of}, or name the fields.`
      throw this.#refuse(message, item.at)
    }
    const except = new Set(item.except.map((name) => name.toLowerCase()))
    return tables
      .flatMap((table) => shownColumns(table))
      .flatMap(({ name, value }) => {
        const lower = name.toLowerCase()
        if (except.has(lower)) return []
        const merged = item.of === undefined ? scope.merged.get(lower) : undefined
        // What USING names is selected once.
        if (merged) except.add(lower)
        const selected = merged ?? value
        this.#budget.produce(selected.sql, item.at)
        return [{ name, value: () => selected }]
      })
  }

  /** Resolves group keys: a position, a selected column by its name, or an expression. */
  #group(
    { group }: Select,
    items: readonly Selected[],
    scope: Scope,
    expressions: ExpressionTranslator,
  ): string {
    const ofItem = ({ value }: Selected) => {
      const own = new ExpressionTranslator(scope, () => ({ sql: '', type: 'null' }))
      const found = value(own)
      return own.hasAggregate ? [] : [found]
    }
    const named = new Map(items.toReversed().map((item) => [item.name.toLowerCase(), item]))
    const ofKey = (key: Expression) => {
      const name = key.kind === 'name' && key.parts.length === 1 ? key.parts[0]?.toLowerCase() : undefined
      const item = this.#atPosition(key, items, 'GROUP') ?? (name === undefined ? undefined : named.get(name))
      return item ? item.value(expressions) : expressions.value(key)
    }
    const keys = group === 'all' ? items.flatMap(ofItem) : group.map(ofKey)
    if (group !== 'all' && expressions.hasAggregate)
      throw this.#refuse('GROUP BY cannot use aggregate functions.', group[0]?.at ?? 0)
    for (const key of keys) scope.group(key)
    return keys.length === 0 ? '' : `\nGROUP BY ${keys.map(({ sql }) => sql).join(', ')}`
  }

  /** What GROUP BY 1 and ORDER BY 1 stand for. */
  #atPosition<T>(key: Expression, columns: readonly T[], clause: 'GROUP' | 'ORDER'): T | undefined {
    if (key.kind !== 'literal' || key.type !== 'int') return undefined
    const column = columns[Number(key.value) - 1]
    if (column) return column
    throw this.#refuse(`${clause} BY ${key.value}: there are only ${columns.length} columns.`, key.at)
  }

  #order({ order }: Query, outputs: readonly Column[], expressions: ExpressionTranslator): string {
    if (order.length === 0) return ''
    const keys = order.map((key) => {
      const value = this.#atPosition(key.by, outputs, 'ORDER')?.value ?? expressions.value(key.by)
      return sortKey(value, key)
    })
    return `\nORDER BY ${keys.join(', ')}`
  }

  #from({ first, joins }: From, scope: Scope, isNullable = false): string {
    // These joins keep rows of the right side for which all tables before have none.
    const last = joins.findLastIndex(({ type }) => type === 'RIGHT' || type === 'FULL')
    const table = this.#table(first, scope, isNullable || last >= 0)
    return table + joins.map((join, index) => this.#join(join, scope, index < last)).join('')
  }

  #join({ type, table, on, using }: Join, scope: Scope, isNullable: boolean): string {
    const path = this.#unnested(table, scope)
    if (path) {
      if (on && !isTrue(on)) {
        throw this.#refuse('UNNEST can only be joined ON TRUE. Put the condition into WHERE.', on.at)
      }
      this.#budget.unnest(table.at)
      const { alias } = table
      if (alias !== undefined) scope.addPath(alias, path)
      return ''
    }
    const shared = using.map((name) => [name, scope.resolve([name], table.at)] as const)
    const right = this.#table(table, scope, isNullable || type === 'LEFT' || type === 'FULL')
    const same = shared.map(([name, value]) => this.#merge(name, value, scope, type, table.at))
    if (same.length > 0) return `\n${type} JOIN ${right} ON ${same.join(' AND ')}`
    if (!on && type !== 'CROSS') throw this.#refuse('JOIN needs ON.', table.at)
    if (!on || ((type === 'INNER' || type === 'CROSS') && isTrue(on))) return `\nCROSS JOIN ${right}`
    if (type === 'CROSS') throw this.#refuse('CROSS JOIN cannot have ON. Use JOIN.', on.at)
    return `\n${type} JOIN ${right} ON ${this.#expressions(scope).condition(on)}`
  }

  /** The condition for a column of USING, which means both columns afterward. */
  #merge(name: string, left: Value, scope: Scope, type: Join['type'], at: number): string {
    const right = scope.ofTable(scope.tables.at(-1) as ScopeTable, [name], at)
    const args = [left, right].map((value) => ({ word: undefined, value: () => value }))
    const merged = type === 'FULL' ? callFunction('coalesce', args).value : type === 'RIGHT' ? right : left
    scope.merged.set(name.toLowerCase(), merged)
    return callFunction('=', args).value.sql
  }

  /** The path that a table of FROM stands for: UNNEST(m.request), or m.request alone. */
  #unnested(table: Table, scope: Scope): JsonPath | undefined {
    if (table.kind === 'table') {
      const [first = ''] = table.parts
      const isPath = table.parts.length > 1 && scope.has(first) && !scope.ctes.has(first.toLowerCase())
      return isPath ? this.#pathOf({ kind: 'name', parts: table.parts, at: table.at }, scope) : undefined
    }
    return table.kind === 'unnest' ? this.#pathOf(table.of, scope) : undefined
  }

  #pathOf(expression: Expression, scope: Scope): JsonPath {
    // COALESCE(x, []) is x: a missing value has no fields.
    const isCoalesce = expression.kind === 'call' && /^(?:coalesce|ifnull)$/.test(expression.name)
    if (isCoalesce && expression.args[0]) return this.#pathOf(expression.args[0], scope)
    const own = new ExpressionTranslator(scope, () => ({ sql: '', type: 'null' }))
    const path = pathOf(own.value(expression))
    if (path?.typed) return path
    throw this.#refuse('UNNEST is only supported for metadata and its fields.', expression.at)
  }

  #table(table: Table, scope: Scope, isNullable: boolean): string {
    const { ctes } = scope
    if (table.kind === 'joined') {
      const own = new Scope(this.#budget, ctes)
      const sql = this.#from(table.from, own, isNullable)
      // The others must be fields of its metadata.
      if (own.tables.length > 1)
        throw this.#refuse('A join in brackets can only have one table. Use a subquery.', table.at)
      scope.addAll(own)
      return sql
    }
    if (table.kind === 'unnest') {
      const example = 'FROM edge_logs CROSS JOIN UNNEST(metadata) AS m'
      throw this.#refuse(`UNNEST must follow a table: ${example}.`, table.at)
    }
    const ref = this.#budget.name('T')
    if (table.kind === 'subquery') {
      this.#budget.read(1, table.at)
      const { sql, columns } = this.#query(table.query, ctes)
      const names = table.alias === undefined ? [] : [table.alias.toLowerCase()]
      const own = columnsOf(columns)
      scope.addTable(derivedTable(ref, names, own))
      return `(\n${isNullable ? nullable(sql, own, this.#budget) : sql}\n) AS ${ref}`
    }
    const name = (table.parts.at(-1) ?? '').toLowerCase()
    const names = [table.alias?.toLowerCase() ?? name, name]
    const cte = table.parts.length === 1 ? ctes.get(name) : undefined
    this.#budget.read(cte?.uses ?? 1, table.at)
    if (cte) {
      scope.addTable(derivedTable(ref, names, cte.columns))
      return isNullable
        ? `(\n${nullable(`SELECT * FROM ${cte.ref}`, cte.columns, this.#budget)}\n) AS ${ref}`
        : `${cte.ref} AS ${ref}`
    }
    const found = this.#tables.get(name)
    if (!found) {
      const known = [...this.#tables.keys()]
      const closest = didYouMean(closestName(name, [...known, ...ctes.keys()]))
      throw this.#refuse(
        `The table "${table.parts.join('.')}" does not exist.${closest} Tables: ${known.join(', ')}.`,
        table.at,
      )
    }
    scope.addTable(logTable(ref, names, found))
    if (!isNullable) return `${found.view} AS ${ref}`
    const columns = [...baseColumns, ...found.columns.map((column) => column.name)]
    return `(SELECT ${columns.map((column) => `toNullable(\`${column}\`) AS \`${column}\``).join(', ')} FROM ${found.view}) AS ${ref}`
  }
}

function isTrue(condition: Expression): boolean {
  return condition.kind === 'literal' && condition.value === 'true'
}
