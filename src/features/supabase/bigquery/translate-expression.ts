import { invalidQuery } from '../../../core/base/errors.ts'
import { sqlText } from '../../../core/sql/names.ts'
import { type CallModifiers, callFunction } from './functions.ts'
import type { Scope } from './scope.ts'
import type { Expression, Modifiers, Query } from './syntax.ts'
import {
  arraySortKey,
  boolOf,
  convert,
  firstOf,
  jsonObject,
  member,
  nothing,
  pathOf,
  sortKey,
  textOf,
  type Value,
  type ValueType,
} from './value.ts'

/** Translates a query in brackets, which has one column, or one in EXISTS. */
type Subquery = (query: Query, isOneColumn: boolean) => { sql: string; type: ValueType }

/** Translates expressions with the names of a scope. */
export class ExpressionTranslator {
  readonly #scope: Scope
  readonly #subquery: Subquery
  hasAggregate = false

  constructor(scope: Scope, subquery: Subquery) {
    this.#scope = scope
    this.#subquery = subquery
  }

  condition(expression: Expression): string {
    return boolOf(this.value(expression))
  }

  value(expression: Expression): Value {
    const { budget } = this.#scope
    const { at } = expression
    try {
      const value = budget.nested(at, () => this.#translate(expression))
      budget.produce(value.sql, at)
      return value
    } catch (error) {
      if (invalidQuery.is(error) && error.details.line === undefined) throw budget.refuse(error.message, at)
      throw error
    }
  }

  #translate(expression: Expression): Value {
    switch (expression.kind) {
      case 'literal':
        return literal(expression)
      case 'name':
        return this.#scope.resolve(expression.parts, expression.at)
      case 'element':
        return this.#element(expression)
      case 'call':
        return this.#call(expression.name, expression.args, expression.modifiers)
      case 'struct': {
        const members = expression.members.map(({ name, value }, index) => ({
          name: name ?? `_field_${index + 1}`,
          value: this.value(value),
        }))
        return jsonObject(members)
      }
      case 'query':
        return this.#subquery(expression.query, true)
    }
  }

  #element({ of, key, at }: Expression & { kind: 'element' }): Value {
    // Functions that return an array are called with the offset of the element.
    if (of.kind === 'call' && (of.name === 'approx_quantiles' || of.name === 'split')) {
      const offset = { kind: 'literal', type: 'int', value: String(key), at } as const
      return this.#call(`${of.name}[]`, [offset, ...of.args])
    }
    // An object of metadata is an array of one object in BigQuery, so a field is read from either.
    const isFirst = of.kind === 'element' && of.key === 0 && typeof key === 'string'
    const path = pathOf(this.value(isFirst ? of.of : of))
    if (!path)
      throw this.#scope.budget.refuse('This value is not part of metadata, so it has no elements.', at)
    if (isFirst && !path.typed) return member({ base: firstOf(path).sql, keys: [] }, key)
    if (key === 0) return firstOf(path)
    return member(path, typeof key === 'number' ? key + 1 : key)
  }

  #call(name: string, args: readonly Expression[], modifiers?: Modifiers): Value {
    const [tested, items] = args
    if (name === 'exists' && tested?.kind === 'query') return this.#subquery(tested.query, false)
    if (items?.kind === 'query' && tested && (name === 'in' || name === 'not in')) {
      return this.#inSubquery(this.value(tested), name, items.query)
    }
    const list = args.map((arg) => ({
      word: wordOf(arg),
      value: () => this.value(arg),
    }))
    const { value, isAggregate } = callFunction(name, list, modifiers && this.#modifiers(modifiers))
    this.hasAggregate ||= isAggregate
    return value
  }

  #modifiers({ order, over, ...others }: Modifiers): CallModifiers {
    const isDescending = order[0]?.direction === 'DESC'
    if (order.some(({ direction }) => (direction === 'DESC') !== isDescending))
      throw invalidQuery('ORDER BY in a function needs the same direction for all keys.')
    const keys = order.map((key) => arraySortKey(this.value(key.by), key)).join(', ')
    const partition = over?.partition.map((key) => this.value(key).sql).join(', ')
    const sorted = over?.order.map((key) => sortKey(this.value(key.by), key)).join(', ')
    const window = [partition && `PARTITION BY ${partition}`, sorted && `ORDER BY ${sorted}`, over?.frame]
    const clause = over ? ` OVER (${window.filter(Boolean).join(' ')})` : ''
    const sorting = keys === '' ? undefined : { keys: `(${keys})`, isDescending }
    return { ...others, order: sorting, window: clause }
  }

  #inSubquery(value: Value, name: string, query: Query): Value {
    const { sql, type } = this.#subquery(query, true)
    const isText = type === 'json' || type === 'null'
    const rows = isText ? `(SELECT ${textOf({ sql: 'O1', type })} FROM ${sql})` : sql
    const left = isText ? textOf(value) : convert(value, type)
    return { sql: `(${left} ${name.toUpperCase()} ${rows})`, type: 'bool' }
  }
}

/** What an argument is as a unit of time: MINUTE, or WEEK(MONDAY). */
function wordOf(arg: Expression): string | undefined {
  if (arg.kind === 'call')
    return arg.name === 'week' && arg.args[0] ? `week(${wordOf(arg.args[0])})` : undefined
  return arg.kind === 'name' ? arg.parts[0] : arg.kind === 'literal' ? arg.value : undefined
}

function literal({ type, value }: Expression & { kind: 'literal' }): Value {
  if (type === 'string') return { sql: sqlText(value), type, literal: value }
  if (type === 'null') return nothing
  if (type === 'number' && !Number.isFinite(Number(value)))
    throw invalidQuery(`The number ${value.slice(0, 40)} is too large.`)
  if (type === 'number') return { sql: `toFloat64(${Number(value)})`, type }
  return { sql: type === 'int' ? String(BigInt(value)) : value, type, literal: value }
}
