import { invalidQuery } from '../../../core/base/errors.ts'
import { closestName, didYouMean } from '../../../core/base/text/closest-name.ts'
import { sqlText } from '../../../core/sql/names.ts'
import words from './functions.json' with { type: 'json' }
import { wholeInterval } from './parse-expression.ts'
import type { Modifiers } from './syntax.ts'
import {
  boolOf,
  commonType,
  comparedType,
  convert,
  jsonOf,
  member,
  nestedJson,
  nothing,
  numberOf,
  pathOf,
  textColumn,
  textOf,
  type Value,
  type ValueType,
} from './value.ts'

/** An argument. A word such as MINUTE has no value. */
export interface Argument {
  word: string | undefined
  value(): Value
}

/** What a call has beside its arguments, in SQL. All keys of ORDER BY have the same direction. */
export interface CallModifiers extends Pick<Modifiers, 'distinct' | 'ignoresNulls' | 'limit'> {
  order: { keys: string; isDescending: boolean } | undefined
  window: string
}

/**
 * The type of the result, the types of the arguments, and the SQL: $1 and $2 are arguments, $* is all of them, $+ all but
 * the first, $? is whether one of them is null, $d is where DISTINCT belongs, $w where OVER does, $n is a suffix for nulls,
 * and $l is a list of the values of the first argument.
 */
type Rule = readonly [result: string, args: string, sql: string]

const rulesOf = (rules: Record<string, string[]>) =>
  new Map(Object.entries(rules).map(([name, rule]) => [name, rule as unknown as Rule]))
const aggregates = rulesOf(words.aggregates)
const windows = rulesOf(words.windows)
const rules = new Map([...aggregates, ...windows, ...rulesOf(words.functions)])
const aliases = new Map(Object.entries(words.aliases))
const alternatives = new Map(Object.entries(words.alternatives))
const formats = new Map(Object.entries(words.formats))

const noModifiers: CallModifiers = {
  distinct: false,
  ignoresNulls: false,
  order: undefined,
  limit: undefined,
  window: '',
}

export function callFunction(
  written: string,
  args: readonly Argument[],
  modifiers = noModifiers,
): { value: Value; isAggregate: boolean } {
  const name = aliases.get(written) ?? written
  const special = specials.get(name)
  const isWindow = windows.has(name)
  const rule = rules.get(name)
  if (!special && !rule) throw unknown(written)
  const isAggregate = aggregates.has(name) || specialAggregates.has(name)
  const { distinct, ignoresNulls, order, limit, window } = modifiers
  const [, , sql = ''] = rule ?? []
  const refused = [
    distinct && !/\$[dl]/.test(sql) && 'DISTINCT',
    ignoresNulls && !/\$[ln]/.test(sql) && 'IGNORE NULLS',
    order && !sql.includes('$l') && 'ORDER BY',
    limit !== undefined && !sql.includes('$l') && 'LIMIT',
    window !== '' && !isAggregate && !isWindow && 'OVER',
  ].find(Boolean)
  if (refused) throw invalidQuery(`${refused} is not supported in ${shown(written)}.`)
  if (isWindow && window === '') throw invalidQuery(`${shown(written)} needs OVER (ORDER BY …).`)
  const value = special ? special(args, name, window) : ofRule(rule as Rule, written, args, modifiers)
  return { value, isAggregate: isAggregate && window === '' }
}

function shown(name: string): string {
  return name.toUpperCase()
}

function unknown(name: string) {
  const [kind, type = ''] = name.split(' ')
  if (kind === 'cast') {
    return invalidQuery(
      `The type ${shown(type)} is not supported. Use INT64, FLOAT64, STRING, BOOL, TIMESTAMP, DATETIME, DATE or JSON.`,
    )
  }
  const names = [...rules.keys(), ...aliases.keys(), ...specials.keys()]
  const alternative = alternatives.get(name)
  const closest = closestName(name, names)
  const help = alternative === undefined ? didYouMean(closest && shown(closest)) : ` ${alternative}`
  return invalidQuery(`The function ${shown(name)} is not supported.${help}`)
}

function ofRule(
  [result, spec, sql]: Rule,
  name: string,
  args: readonly Argument[],
  modifiers: CallModifiers,
): Value {
  const types = spec === '' ? [] : spec.split(' ')
  const fewest = types.filter((type) => !/[?*=]/.test(type)).length
  const most = spec.endsWith('*') ? Number.POSITIVE_INFINITY : types.length
  if (args.length < fewest || args.length > most) {
    const wanted = fewest === most ? fewest : `${fewest} to ${Math.min(most, 100)}`
    throw invalidQuery(
      `${shown(name)} needs ${wanted} ${most === 1 ? 'argument' : 'arguments'}, not ${args.length}.`,
    )
  }
  const typeAt = (index: number) => types[Math.min(index, types.length - 1)]?.split(/[?*=]/)[0]
  // A unit is a word, and everything else is evaluated once, because SQL can be nested.
  const isWord = (index: number) => /^(?:unit|start)$/.test(typeAt(index) ?? '')
  const values = args.map((arg, index) => (isWord(index) ? nothing : arg.value()))
  const ofType = (...some: string[]) => values.filter((_, index) => some.includes(typeAt(index) ?? ''))
  const shared = { common: commonType(ofType('common')), compared: comparedType(ofType('compared', 'exact')) }
  const others = values.slice(1)
  const list = values.map((value, index) =>
    argument(typeAt(index) ?? '', value, name, args[index]?.word, others, shared),
  )
  for (const type of types.slice(list.length)) if (type.includes('=')) list.push(type.replace(/^.*?=/, ''))
  const text = sql.replace(/\$([\d*+?dlnw])/g, (_, place: string) => {
    if (place === '?') return list.map((each) => `isNull(${each})`).join(' OR ')
    if (place === 'n') return modifiers.ignoresNulls ? '' : '_respect_nulls'
    if (place === 'd') return modifiers.distinct ? 'DISTINCT ' : ''
    if (place === 'w') return modifiers.window
    if (place === 'l') return listOf(list[0] ?? '', modifiers, spec === 'json')
    if (place === '*' || place === '+') return list.slice(place === '+' ? 1 : 0).join(', ')
    return list[Number(place) - 1] ?? ''
  })
  const alike = result === 'same' ? values : ofType('common')
  const nested = alike.find(({ type }) => type === 'json')?.nested
  const type = resultType(result, values, shared.common)
  if (result !== 'dated' || type !== 'date') return { sql: text, type, nested }
  if (/to(?:StartOf|Interval)(?:(?:nano|micro|milli)?second|minute|hour)/i.test(list[1] ?? '')) {
    const other = shown(name.replace('date', 'timestamp'))
    throw invalidQuery(`${shown(name)} of a date needs a unit of at least a day. Use ${other}.`)
  }
  return { sql: `toDate(${text})`, type }
}

/** Values are in the order of the rows, unless the call has another one. */
function listOf(json: string, modifiers: CallModifiers, isJson: boolean): string {
  const { distinct, ignoresNulls, order, limit = 1_000, window } = modifiers
  const [unique, most] = [distinct ? 'DISTINCT ' : '', Math.min(limit, 1_000)]
  const value = isJson && ignoresNulls ? `nullIf(${json}, 'null')` : json
  if (!order) return `groupArray(${most})(${unique}${value})${window}`
  const pairs = `arrayFilter(x -> isNotNull(x.1), groupArray(${unique}(${value}, ${order.keys}))${window})`
  const sorted = `${order.isDescending ? 'arrayReverseSort' : 'arraySort'}(x -> x.2, ${pairs})`
  return `arrayMap(x -> assumeNotNull(x.1), arraySlice(${sorted}, 1, ${most}))`
}

function resultType(result: string, values: readonly Value[], common: ValueType): ValueType {
  if (result === 'common') return common
  const [first = nothing] = values
  if (result === 'same') return first.type
  // Functions of dates take timestamps, too, and return what they take.
  if (result === 'dated') return /^(?:timestamp|datetime)$/.test(first.type) ? first.type : 'date'
  if (result === 'numeric') return values.every(({ type }) => type === 'int') ? 'int' : 'number'
  return result as ValueType
}

/** Without brackets, repetitions and escapes, nothing can be wrong. */
const validPattern = /^[\w\s/%^$.|:=@,;"'-]*$/

/** The SQL of an argument. It can depend on the others: those after the first, and the types that they share. */
function argument(
  type: string,
  value: Value,
  name: string,
  word: string | undefined,
  others: readonly Value[],
  shared: Record<'common' | 'compared', ValueType>,
): string {
  switch (type) {
    case 'json':
      return jsonOf(value)
    case 'plain':
      // JSON is equal if its text is.
      return value.path || value.type === 'json' ? textOf(value) : value.sql
    case 'common':
      return convert(value, shared.common)
    case 'compared':
      return convert(value, shared.compared)
    case 'exact':
      return textColumn(value, others) ?? convert(value, shared.compared)
    case 'column':
      return textColumn(value, others) ?? textOf(value)
    case 'whole':
      if (value.type === 'number' && !value.path) throw invalidQuery(wholeInterval)
      return convert(value, 'int')
    case 'interval':
      if (value.type === 'interval') return value.sql
      throw invalidQuery(`${shown(name)} needs an interval: INTERVAL 1 HOUR.`)
    case 'unit':
      return unitOf(name, word)
    case 'start':
      return /^(?:isoweek|week\(monday\))$/i.test(word ?? '') ? 'toMonday' : `toStartOf${unitOf(name, word)}`
    case 'zone':
      if (/^(?:utc|etc\/utc|\+00(?::00)?)$/i.test(value.literal ?? '')) return ''
      throw invalidQuery(`${shown(name)} supports the time zone UTC only.`)
    case 'digits':
      if (value.type === 'int' && Number(value.literal) <= 15) return String(Number(value.literal))
      throw invalidQuery(`${shown(name)} needs a number of digits from 0 to 15.`)
    case 'pattern': {
      const { literal } = value
      if (literal === undefined || validPattern.test(literal)) return textOf(value)
      // Without a group, the engine ignores a bracket that closes none, and a backslash at the end.
      const pattern = sqlText(/\)|\\$/.test(literal) ? `(?:${literal})` : literal)
      // The engine does not report an invalid pattern if there is no row, so the pattern is used once without one.
      return `if(match('', ${pattern}), ${pattern}, ${pattern})`
    }
    case 'format':
      if (value.literal !== undefined) return sqlText(formatOf(value.literal, name.startsWith('parse')))
      throw invalidQuery(`${shown(name)} needs a format such as '%Y-%m-%d'.`)
    default:
      return convert(value, type)
  }
}

/** MINUTE and MINUTES as Minute, which is a part of names of functions. */
function unitOf(name: string, word = ''): string {
  const unit = word.toLowerCase().replace(/s$/, '')
  if (/^(?:microsecond|millisecond|second|minute|hour|day|week|month|quarter|year)$/.test(unit)) {
    return unit.charAt(0).toUpperCase() + unit.slice(1)
  }
  throw invalidQuery(`${shown(name)} needs a unit such as MINUTE, HOUR or DAY.`)
}

/** A format of FORMAT_TIMESTAMP as a format of the engine. */
function formatOf(format: string, isParsed: boolean): string {
  return format.replace(/%(E4Y|E.S|[\s\S]|$)/g, (whole, element: string) => {
    if (/^[YmdHSFTRbahjyeIpDuwVGnt%]$/.test(element) || (isParsed && element === 'z')) return whole
    const other = formats.get(element.replace(/^E.S$/, 'E*S'))
    if (other !== undefined) return other
    throw invalidQuery(`The format element ${whole} is not supported. Use %Y, %m, %d, %H, %M and %S.`)
  })
}

const specialAggregates = new Set(['min', 'max', 'approx_quantiles[]'])

/** Functions whose SQL depends on more than the types of their arguments. */
const specials = new Map<string, (args: readonly Argument[], name: string, window: string) => Value>([
  ['min', extreme],
  ['max', extreme],
  ['and', logic],
  ['or', logic],
  ['case', cases],
  ['json_value', (args, name) => ({ sql: textOf(jsonAt(args, name)), type: 'string' })],
  ['json_query', (args, name) => ({ sql: `nullIf(${jsonOf(jsonAt(args, name))}, 'null')`, type: 'json' })],
  ['approx_quantiles[]', quantile],
  ['array', list],
  ['to_json_string', ([arg]) => ({ sql: nestedJson(arg?.value() ?? nothing), type: 'string' })],
])

function list(args: readonly Argument[]): Value {
  const items = args.map((arg) => jsonOf(arg.value())).join(`, ',', `)
  return { sql: `concat('[', ${items && `${items}, `}']')`, type: 'json' }
}

function logic(args: readonly Argument[], name: string): Value {
  return { sql: `(${args.map((arg) => boolOf(arg.value())).join(` ${shown(name)} `)})`, type: 'bool' }
}

/** Conditions and results in turn, and the result if none of the conditions is true. */
function cases(args: readonly Argument[]): Value {
  const values = args.map((arg) => arg.value())
  const isCondition = (index: number) => index % 2 === 0 && index < values.length - 1
  const type = commonType(values.filter((_, index) => !isCondition(index)))
  const parts = values.map((value, index) =>
    isCondition(index) ? `ifNull(${boolOf(value)}, 0)` : convert(value, type),
  )
  return { sql: `multiIf(${parts.join(', ')})`, type }
}

/** The least or greatest value. JSON may hold numbers, which must not be compared as text. */
function extreme([arg, ...others]: readonly Argument[], name: string, window: string): Value {
  if (!arg || others.length > 0) throw invalidQuery(`${shown(name)} needs 1 argument.`)
  const value = arg.value()
  const of = (sql: string) => `${name}OrNull(${sql})${window}`
  if (value.type !== 'json') return { sql: of(value.sql), type: value.type }
  const [asNumber, asText] = [of(numberOf(value)), of(textOf(value))]
  return { sql: `if(isNull(${asNumber}), toJSONString(${asText}), toString(${asNumber}))`, type: 'json' }
}

/** The element of APPROX_QUANTILES, which is the first argument. */
function quantile(args: readonly Argument[], _name: string, window: string): Value {
  const [offset, value = nothing, parts] = args.map((arg) => arg.value())
  const share = Number(offset?.literal) / Number(parts?.literal)
  if (!(share >= 0 && share <= 1)) {
    throw invalidQuery('APPROX_QUANTILES needs a number of quantiles, such as 100, and an element of them.')
  }
  return { sql: `quantileGKOrNull(1000, ${share})(${numberOf(value)})${window}`, type: 'number' }
}

/** The value at a path such as $.a.b[0]["c"]. */
function jsonAt(args: readonly Argument[], name: string): Value {
  const [value = nothing, at] = args.map((arg) => arg.value())
  const written = at ? at.literal : '$'
  const step = /\.([A-Za-z_][\w-]*)|\.?"([^"]*)"|\[(\d{1,6})\]|\[(?:'([^']*)'|"([^"]*)")\]/y
  const keys: (string | number)[] = []
  step.lastIndex = 1
  for (let end = 1; written !== undefined && end < written.length; end = step.lastIndex) {
    const [, key, quoted, index, single, double] = step.exec(written) ?? []
    if (step.lastIndex === 0) break
    keys.push(index === undefined ? (key ?? quoted ?? single ?? double ?? '') : Number(index) + 1)
  }
  if (args.length > 2 || !written?.startsWith('$') || (written.length > 1 && step.lastIndex === 0)) {
    throw invalidQuery(`${shown(name)} needs a path such as "$.auth_event.actor_id".`)
  }
  return member(pathOf(value) ?? { base: textOf(value), keys: [] }, ...keys)
}
