import { invalidQuery } from '../../base/errors.ts'
import { sqlText } from '../../sql/names.ts'
import { callFunction, indexedFunction } from './functions.ts'
import type { Scope } from './scope.ts'
import type { Expression, Query } from './syntax.ts'
import { intervalOf, timePart } from './time-units.ts'
import {
  boolOf,
  commonType,
  convert,
  integerOf,
  jsonOf,
  member,
  nothing,
  numberOf,
  pathValue,
  textOf,
  timeOf,
  typedColumn,
  type Value,
  type ValueType,
} from './value.ts'

/** Translates expressions with the names of a scope. */
export class ExpressionTranslator {
  readonly #scope: Scope
  readonly #subquery: (query: Query) => { sql: string; type: ValueType }
  /** Whether an aggregate function was translated. */
  hasAggregate = false

  constructor(scope: Scope, subquery: (query: Query) => { sql: string; type: ValueType }) {
    this.#scope = scope
    this.#subquery = subquery
  }

  condition(expression: Expression): string {
    return boolOf(this.value(expression))
  }

  value(expression: Expression): Value {
    switch (expression.kind) {
      case 'literal':
        return literal(expression)
      case 'name':
        return this.#scope.resolve(expression.parts, expression.at)
      case 'field':
      case 'index':
        return this.#element(expression)
      case 'call':
        return this.#call(expression)
      case 'star':
        throw this.#scope.refuse('"*" can only be selected or counted.', expression.at)
      case 'not':
        // A test of a missing field is false, so that its opposite is true.
        return bool(`NOT ifNull(${this.condition(expression.of)}, 0)`)
      case 'negative':
        return this.#negative(this.value(expression.of))
      case 'binary':
        return this.#binary(expression)
      case 'compare':
        return bool(compare(expression.operator, this.value(expression.left), this.value(expression.right)))
      case 'logic': {
        const terms = expression.terms.map((term) => this.condition(term))
        return bool(terms.join(` ${expression.operator.toUpperCase()} `))
      }
      case 'like': {
        const value = this.value(expression.of)
        const pattern = this.value(expression.pattern)
        // An empty text, as a column has it for a missing value, matches no pattern with a character of its own.
        const isExact = !expression.not && /[^%]/.test(pattern.literal ?? '')
        const of = (isExact && bareTextColumn(value)) || textOf(value)
        const operator = `${expression.not ? 'NOT ' : ''}${expression.operator.toUpperCase()}`
        return bool(`${of} ${operator} ${textOf(pattern)}`)
      }
      case 'between': {
        const of = this.value(expression.of)
        const low = compare('>=', of, this.value(expression.low))
        const high = compare('<=', of, this.value(expression.high))
        return bool(`${expression.not ? 'NOT ' : ''}(${low} AND ${high})`)
      }
      case 'in':
        return this.#in(expression)
      case 'is':
        return this.#is(expression)
      case 'case':
        return this.#case(expression)
      case 'cast':
        return cast(this.value(expression.of), expression.type)
      case 'interval':
        return intervalOf(this.value(expression.count), expression.unit)
      case 'part':
        return timePart(expression.unit, this.value(expression.of))
      case 'array': {
        const items = expression.items.map((item) => jsonOf(this.value(item)))
        return {
          sql: items.length === 0 ? `'[]'` : `concat('[', ${items.join(`, ',', `)}, ']')`,
          type: 'json',
        }
      }
      case 'struct':
        return this.#struct(expression.members)
      case 'query': {
        if (expression.use === 'exists') {
          throw this.#scope.refuse('EXISTS is not supported. Use IN with a subquery.', expression.at)
        }
        const { sql, type } = this.#subquery(expression.query)
        return { sql: `(${sql})`, type }
      }
    }
  }

  #element(expression: Expression & { kind: 'field' | 'index' }): Value {
    const { of } = expression
    if (expression.kind === 'index' && of.kind === 'call') {
      const args = () => of.args.map((arg) => this.value(arg))
      const found = indexedFunction(of.name, args, expression.offset)
      if (found) {
        this.hasAggregate ||= found.isAggregate
        return found.value
      }
    }
    const value = this.value(of)
    const path = value.path ?? (value.type === 'json' ? { base: value.sql, keys: [] } : undefined)
    if (!path) {
      const what = expression.kind === 'field' ? `the field "${expression.name}"` : 'an element'
      throw this.#scope.refuse(
        `This value is not part of metadata, so it does not have ${what}.`,
        expression.at,
      )
    }
    if (expression.kind === 'field') return member(path, expression.name)
    // An object is an array of one object in BigQuery.
    return expression.offset === 0 ? pathValue(path) : member(path, expression.offset + 1)
  }

  #call({ name, args, distinct, limit, at }: Expression & { kind: 'call' }): Value {
    const isStar = args.length === 1 && args[0]?.kind === 'star'
    if (isStar && name !== 'count') throw this.#scope.refuse(`${name.toUpperCase()}(*) is not supported.`, at)
    try {
      const { value, isAggregate } = callFunction({
        name,
        distinct,
        limit,
        isStar,
        units: args.map((arg) =>
          arg.kind === 'name' ? arg.parts[0] : arg.kind === 'call' ? arg.name : undefined,
        ),
        count: args.length,
        arg: (index) => this.value(args[index] as Expression),
      })
      this.hasAggregate ||= isAggregate
      return value
    } catch (error) {
      if (invalidQuery.is(error) && error.details.line === undefined)
        throw this.#scope.refuse(error.message, at)
      throw error
    }
  }

  #negative(value: Value): Value {
    return { sql: `(-${numberOf(value)})`, type: value.type === 'int' ? 'int' : 'number' }
  }

  #binary({ operator, left, right }: Expression & { kind: 'binary' }): Value {
    const [one, other] = [this.value(left), this.value(right)]
    if (operator === '||') return { sql: `concat(${textOf(one)}, ${textOf(other)})`, type: 'string' }
    if (other.type === 'interval' && (operator === '+' || operator === '-')) {
      return {
        sql: `(${timeOf(one)} ${operator} ${other.sql})`,
        type: one.type === 'datetime' ? 'datetime' : 'timestamp',
      }
    }
    const isInteger = one.type === 'int' && other.type === 'int' && operator !== '/'
    const divisor = operator === '%' ? `nullIf(${numberOf(other)}, 0)` : numberOf(other)
    return { sql: `(${numberOf(one)} ${operator} ${divisor})`, type: isInteger ? 'int' : 'number' }
  }

  #in({ not, of, items }: Expression & { kind: 'in' }): Value {
    const value = this.value(of)
    const operator = not ? 'NOT IN' : 'IN'
    if ('kind' in items) {
      const { sql, type } = this.#subquery(items)
      const isText = type === 'json' || type === 'null'
      if (isText)
        return bool(`${textOf(value)} ${operator} (SELECT ${textOf({ sql: 'O1', type })} FROM (${sql}))`)
      return bool(`${convert(value, type)} ${operator} (${sql})`)
    }
    const values = items.map((item) => this.value(item))
    const type = comparedType([value, ...values])
    const isExact = !not && isNonEmptyText(values)
    const left = (isExact && bareTextColumn(value)) || convert(value, type)
    return bool(`${left} ${operator} (${values.map((each) => convert(each, type)).join(', ')})`)
  }

  #is({ not, of, what }: Expression & { kind: 'is' }): Value {
    const value = this.value(of)
    if (what !== 'null') {
      const test = `ifNull(${boolOf(value)}, ${what === 'true' ? 0 : 1})`
      return bool(what === 'true' ? `${not ? 'NOT ' : ''}${test}` : `${not ? '' : 'NOT '}${test}`)
    }
    const tested = value.path ? textOf(value) : value.sql
    return bool(`${tested} IS ${not ? 'NOT ' : ''}NULL`)
  }

  #case({ of, whens, otherwise }: Expression & { kind: 'case' }): Value {
    const subject = of && this.value(of)
    const results = [
      ...whens.map(([, result]) => this.value(result)),
      otherwise ? this.value(otherwise) : nothing,
    ]
    const type = commonType(results)
    const parts = whens.map(([when], index) => {
      const test = subject ? compare('=', subject, this.value(when)) : this.condition(when)
      return `ifNull(${test}, 0), ${convert(results[index] as Value, type)}`
    })
    return { sql: `multiIf(${parts.join(', ')}, ${convert(results.at(-1) as Value, type)})`, type }
  }

  #struct(members: readonly { name: string | undefined; value: Expression }[]): Value {
    const parts = members.map(({ name, value }, index) => {
      const key = JSON.stringify(name ?? `_field_${index + 1}`)
      return `${sqlText(`${index === 0 ? '{' : ','}${key}:`)}, ${jsonOf(this.value(value))}`
    })
    return { sql: parts.length === 0 ? `'{}'` : `concat(${parts.join(', ')}, '}')`, type: 'json' }
  }
}

function bool(sql: string): Value {
  return { sql: `(${sql})`, type: 'bool' }
}

function literal({ type, value }: Expression & { kind: 'literal' }): Value {
  if (type === 'string') return { sql: sqlText(value), type, literal: value }
  if (type === 'null') return nothing
  if (type === 'number' && !Number.isFinite(Number(value)))
    throw invalidQuery(`The number ${value.slice(0, 40)} is too large.`)
  if (type === 'number') return { sql: `toFloat64(${Number(value)})`, type }
  return { sql: type === 'int' ? String(BigInt(value)) : value, type, literal: value }
}

/** Text that is compared with numbers is read as a number; everything else is compared as text. */
function comparedType(values: readonly Value[]): ValueType {
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

export function compare(operator: string, left: Value, right: Value): string {
  if (operator === '=' && isNonEmptyText([right])) {
    const column = bareTextColumn(left)
    if (column !== undefined) return `${column} = ${right.sql}`
  }
  const type = comparedType([left, right])
  return `${convert(left, type)} ${operator} ${convert(right, type)}`
}

function isNonEmptyText(values: readonly Value[]): boolean {
  return values.every(({ type, literal: text }) => type === 'string' && text !== undefined && text !== '')
}

/** The column of a path alone: it is equal to a text that is not empty only if the path is. */
function bareTextColumn({ path }: Value): string | undefined {
  const column = path && typedColumn(path)
  return column?.type === 'text' ? column.sql : undefined
}

function cast(value: Value, type: string): Value {
  if (/^(?:int64|int|integer|bigint|smallint|tinyint|byteint)$/.test(type))
    return { sql: integerOf(value), type: 'int' }
  if (/^(?:float64|float|numeric|bignumeric|decimal|double)$/.test(type))
    return { sql: numberOf(value), type: 'number' }
  if (/^(?:string|text|varchar)$/.test(type)) return { sql: textOf(value), type: 'string' }
  if (/^bool(?:ean)?$/.test(type)) return { sql: boolOf(value), type: 'bool' }
  if (type === 'timestamp' || type === 'datetime') return { sql: timeOf(value), type }
  if (type === 'date') return { sql: `toDate(${timeOf(value)})`, type: 'date' }
  if (type === 'json') return { sql: jsonOf(value), type: 'json' }
  throw invalidQuery(
    `The type ${type.toUpperCase()} is not supported. Use INT64, FLOAT64, STRING, BOOL, TIMESTAMP, DATETIME, DATE or JSON.`,
  )
}
