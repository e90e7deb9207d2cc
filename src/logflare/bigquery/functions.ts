import { invalidQuery } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { sqlText } from '../../sql/names.ts'
import { formatOf } from './time-format.ts'
import { units } from './time-units.ts'
import {
  boolOf,
  commonType,
  convert,
  integerOf,
  jsonOf,
  nothing,
  numberOf,
  pathValue,
  textOf,
  timeOf,
  type Value,
  type ValueType,
} from './value.ts'

export interface Call {
  name: string
  distinct: boolean
  limit: number | undefined
  isStar: boolean
  count: number
  /** Arguments that are a word, such as the unit of TIMESTAMP_TRUNC. */
  units: readonly (string | undefined)[]
  arg(index: number): Value
}

type Translate = (call: Call) => Value
interface FunctionRule {
  /** Fewest and most arguments. */
  args: readonly [number, number]
  isAggregate?: true
  translate: Translate
}

const many = 100

function rule(fewest: number, most: number, translate: Translate): FunctionRule {
  return { args: [fewest, most], translate }
}

function aggregate(fewest: number, most: number, translate: Translate): FunctionRule {
  return { ...rule(fewest, most, translate), isAggregate: true }
}

const string = (sql: string): Value => ({ sql, type: 'string' })
const number = (sql: string): Value => ({ sql, type: 'number' })
const int = (sql: string): Value => ({ sql, type: 'int' })
const bool = (sql: string): Value => ({ sql: `(${sql})`, type: 'bool' })
const time = (sql: string, type: ValueType = 'timestamp'): Value => ({ sql, type })

/** All arguments as text. */
const ofText = (engine: string, fewest: number, most = fewest, result = string) =>
  rule(fewest, most, (call) => result(`${engine}(${argsOf(call).map(textOf).join(', ')})`))
/** All arguments as numbers. */
const ofNumber = (engine: string, fewest: number, most = fewest) =>
  rule(fewest, most, (call) => number(`${engine}(${argsOf(call).map(numberOf).join(', ')})`))
/** Arguments of a common type, which is also the result's. */
const ofCommonType = (engine: string, fewest = 1) =>
  rule(fewest, many, (call) => {
    const { type, list } = common(argsOf(call))
    return { sql: `${engine}(${list.join(', ')})`, type }
  })
/** An aggregate of numbers. */
const aggregateNumber = (engine: string) =>
  aggregate(1, 1, (call) => number(`${distinctly(engine, call)}(${numberOf(call.arg(0))})`))

function argsOf({ count, arg }: Call): Value[] {
  return Array.from({ length: count }, (_, index) => arg(index))
}

function common(values: readonly Value[]): { type: ValueType; list: string[] } {
  const type = commonType(values)
  return { type, list: values.map((value) => convert(value, type)) }
}

function distinctly(engine: string, { distinct }: Call): string {
  return distinct ? `${engine}Distinct` : engine
}

/** A value that can be counted and compared: JSON is equal if its text is. */
function plain(value: Value): string {
  return value.type === 'json' ? textOf(value) : value.sql
}

/** The least or greatest value. JSON may hold numbers, which must not be compared as text. */
function extreme(engine: 'min' | 'max'): FunctionRule {
  return aggregate(1, 1, ({ arg }) => {
    const value = arg(0)
    if (value.type !== 'json') return { sql: `${engine}(${value.sql})`, type: value.type }
    const [asNumber, asText] = [`${engine}(${numberOf(value)})`, `${engine}(${textOf(value)})`]
    return { sql: `if(isNull(${asNumber}), toJSONString(${asText}), toString(${asNumber}))`, type: 'json' }
  })
}

function unitAt(call: Call, index: number): { name: string; unit: string } {
  const name = call.units[index]?.toLowerCase() ?? ''
  const unit = units[name]
  if (unit !== undefined) return { name, unit }
  throw invalidQuery(`${call.name.toUpperCase()} needs a unit such as MINUTE, HOUR or DAY.`)
}

/** The start of a minute, an hour and so on. Time zones other than UTC are refused. */
const truncated = (result: ValueType) =>
  rule(2, 3, (call) => {
    const { name, unit } = unitAt(call, 1)
    checkZone(call, 2)
    const mode = unit === 'Week' ? `, ${name === 'isoweek' ? 1 : 0}` : ''
    const start = `toStartOf${unit}(${timeOf(call.arg(0))}${mode})`
    return result === 'date'
      ? time(`toDate(${start})`, 'date')
      : time(`toDateTime64(${start}, 6, 'UTC')`, result)
  })

function checkZone(call: Call, index: number): void {
  if (call.count <= index) return
  const { literal } = call.arg(index)
  if (literal === undefined || !/^(?:utc|etc\/utc|\+00(?::00)?)$/i.test(literal)) {
    throw invalidQuery(`${call.name.toUpperCase()} supports the time zone UTC only.`)
  }
}

const moved = (operator: '+' | '-', result: ValueType) =>
  rule(2, 2, ({ arg, name }) => {
    const interval = arg(1)
    if (interval.type !== 'interval')
      throw invalidQuery(`${name.toUpperCase()} needs an interval: INTERVAL 1 HOUR.`)
    return time(`(${timeOf(arg(0))} ${operator} ${interval.sql})`, result)
  })

const difference = rule(3, 3, (call) => {
  const { unit } = unitAt(call, 2)
  return int(`age('${unit.toLowerCase()}', ${timeOf(call.arg(1))}, ${timeOf(call.arg(0))})`)
})

const formatted = rule(2, 3, (call) => {
  const { literal } = call.arg(0)
  checkZone(call, 2)
  if (literal === undefined)
    throw invalidQuery(`${call.name.toUpperCase()} needs a format such as '%Y-%m-%d'.`)
  return string(`formatDateTime(${timeOf(call.arg(1))}, ${sqlText(formatOf(literal))})`)
})

/** $.a.b[0]["c"] as keys. */
function jsonKeys(call: Call): (string | number)[] {
  const { literal } = call.count > 1 ? call.arg(1) : { literal: '$' }
  const keys: (string | number)[] = []
  const step = /\.([A-Za-z_][\w-]*)|\.?"([^"]*)"|\[(\d{1,6})\]|\[(?:'([^']*)'|"([^"]*)")\]/y
  let at = 1
  while (literal?.startsWith('$') && at < literal.length) {
    step.lastIndex = at
    const found = step.exec(literal)
    if (!found) break
    at = step.lastIndex
    keys.push(
      found[3] === undefined ? (found[1] ?? found[2] ?? found[4] ?? found[5] ?? '') : Number(found[3]) + 1,
    )
  }
  if (!literal?.startsWith('$') || at < literal.length) {
    throw invalidQuery(`${call.name.toUpperCase()} needs a path such as "$.auth_event.actor_id".`)
  }
  return keys
}

function jsonAt(call: Call): Value {
  const value = call.arg(0)
  const { path } = value
  const base = path ?? { base: value.type === 'json' ? value.sql : textOf(value), keys: [] }
  return pathValue({ ...base, keys: [...base.keys, ...jsonKeys(call)] })
}

const jsonValue = rule(1, 2, (call) => string(textOf(jsonAt(call))))
const jsonQuery = rule(1, 2, (call) => {
  const { sql } = { sql: `nullIf(${jsonOf(jsonAt(call))}, 'null')` }
  return { sql, type: 'json' }
})

const unixTime = (engine: string) => rule(1, 1, ({ arg }) => int(`${engine}(${timeOf(arg(0))})`))
const fromUnix = (micros: number) =>
  rule(1, 1, ({ arg }) => time(`fromUnixTimestamp64Micro(${integerOf(arg(0))} * ${micros}, 'UTC')`))

const rules: Record<string, FunctionRule> = {
  // Aggregate functions.
  count: aggregate(0, 1, (call) => {
    if (call.isStar || call.count === 0) return int('count()')
    const counted = call.arg(0)
    const sql = counted.path ? textOf(counted) : plain(counted)
    return int(`${call.distinct ? 'uniqExact' : 'count'}(${sql})`)
  }),
  countif: aggregate(1, 1, ({ arg }) => int(`countIf(${boolOf(arg(0))})`)),
  sum: aggregate(1, 1, (call) => {
    const value = call.arg(0)
    return {
      sql: `${distinctly('sum', call)}(${numberOf(value)})`,
      type: value.type === 'int' ? 'int' : 'number',
    }
  }),
  avg: aggregateNumber('avg'),
  min: extreme('min'),
  max: extreme('max'),
  stddev: aggregateNumber('stddevSamp'),
  stddev_samp: aggregateNumber('stddevSamp'),
  stddev_pop: aggregateNumber('stddevPop'),
  variance: aggregateNumber('varSamp'),
  any_value: aggregate(1, 1, ({ arg }) => ({ sql: `any(${arg(0).sql})`, type: arg(0).type })),
  approx_count_distinct: aggregate(1, 1, ({ arg }) => int(`uniq(${plain(arg(0))})`)),
  logical_and: aggregate(1, 1, ({ arg }) => bool(`min(${boolOf(arg(0))})`)),
  logical_or: aggregate(1, 1, ({ arg }) => bool(`max(${boolOf(arg(0))})`)),
  string_agg: aggregate(1, 2, (call) => {
    const separator = call.count > 1 ? textOf(call.arg(1)) : `','`
    const unique = call.distinct ? 'groupUniqArray' : 'groupArray'
    return string(`arrayStringConcat(${unique}${limitOf(call)}(${textOf(call.arg(0))}), ${separator})`)
  }),
  array_agg: aggregate(1, 1, (call) => {
    const unique = call.distinct ? 'groupUniqArray' : 'groupArray'
    const items = `${unique}${limitOf(call)}(${jsonOf(call.arg(0))})`
    return { sql: `concat('[', arrayStringConcat(${items}, ','), ']')`, type: 'json' }
  }),
  // Conditions.
  coalesce: ofCommonType('coalesce'),
  ifnull: ofCommonType('coalesce', 2),
  greatest: ofCommonType('greatest'),
  least: ofCommonType('least'),
  nullif: rule(2, 2, ({ arg }) => {
    const { type, list } = common([arg(0), arg(1)])
    return { sql: `nullIf(${list.join(', ')})`, type }
  }),
  if: rule(3, 3, ({ arg }) => {
    const { type, list } = common([arg(1), arg(2)])
    return { sql: `if(ifNull(${boolOf(arg(0))}, 0), ${list.join(', ')})`, type }
  }),
  // Numbers.
  abs: ofNumber('abs', 1),
  sign: ofNumber('sign', 1),
  ceil: ofNumber('ceil', 1),
  ceiling: ofNumber('ceil', 1),
  floor: ofNumber('floor', 1),
  sqrt: ofNumber('sqrt', 1),
  exp: ofNumber('exp', 1),
  ln: ofNumber('log', 1),
  log10: ofNumber('log10', 1),
  pow: ofNumber('pow', 2),
  power: ofNumber('pow', 2),
  round: rule(1, 2, (call) => number(`round(${numberOf(call.arg(0))}${digitsOf(call)})`)),
  trunc: rule(1, 2, (call) => number(`trunc(${numberOf(call.arg(0))}${digitsOf(call)})`)),
  mod: rule(2, 2, ({ arg }) => number(`(${numberOf(arg(0))} % nullIf(${numberOf(arg(1))}, 0))`)),
  div: rule(2, 2, ({ arg }) => int(`intDivOrNull(${integerOf(arg(0))}, ${integerOf(arg(1))})`)),
  safe_divide: rule(2, 2, ({ arg }) => number(`(${numberOf(arg(0))} / nullIf(${numberOf(arg(1))}, 0))`)),
  // Text.
  lower: ofText('lowerUTF8', 1),
  upper: ofText('upperUTF8', 1),
  concat: ofText('concat', 1, many),
  trim: ofText('trimBoth', 1),
  ltrim: ofText('trimLeft', 1),
  rtrim: ofText('trimRight', 1),
  reverse: ofText('reverseUTF8', 1),
  replace: ofText('replaceAll', 3),
  length: ofText('lengthUTF8', 1, 1, int),
  char_length: ofText('lengthUTF8', 1, 1, int),
  byte_length: ofText('length', 1, 1, int),
  starts_with: ofText('startsWith', 2, 2, bool),
  ends_with: ofText('endsWith', 2, 2, bool),
  strpos: ofText('positionUTF8', 2, 2, int),
  instr: ofText('positionUTF8', 2, 2, int),
  contains_substr: rule(2, 2, ({ arg }) =>
    bool(`positionCaseInsensitiveUTF8(${textOf(arg(0))}, ${textOf(arg(1))}) > 0`),
  ),
  substr: rule(2, 3, substring),
  substring: rule(2, 3, substring),
  left: rule(2, 2, ({ arg }) => string(`leftUTF8(${textOf(arg(0))}, ${integerOf(arg(1))})`)),
  right: rule(2, 2, ({ arg }) => string(`rightUTF8(${textOf(arg(0))}, ${integerOf(arg(1))})`)),
  regexp_contains: ofText('match', 2, 2, bool),
  regexp_extract: rule(2, 2, ({ arg }) =>
    string(`nullIf(extract(${textOf(arg(0))}, ${textOf(arg(1))}), '')`),
  ),
  regexp_replace: ofText('replaceRegexpAll', 3),
  // JSON.
  json_value: jsonValue,
  json_extract_scalar: jsonValue,
  json_query: jsonQuery,
  json_extract: jsonQuery,
  parse_json: rule(1, 1, ({ arg }) => ({ sql: textOf(arg(0)), type: 'json' })),
  to_json_string: rule(1, 1, ({ arg }) => string(jsonOf(arg(0)))),
  array_length: rule(1, 1, ({ arg }) => int(`JSONLength(${jsonOf(arg(0))})`)),
  // Time.
  timestamp_trunc: truncated('timestamp'),
  datetime_trunc: truncated('datetime'),
  date_trunc: truncated('date'),
  timestamp_sub: moved('-', 'timestamp'),
  timestamp_add: moved('+', 'timestamp'),
  datetime_sub: moved('-', 'datetime'),
  datetime_add: moved('+', 'datetime'),
  timestamp_diff: difference,
  datetime_diff: difference,
  date_diff: difference,
  format_timestamp: formatted,
  format_datetime: formatted,
  format_date: formatted,
  unix_seconds: unixTime('toUnixTimestamp'),
  unix_millis: unixTime('toUnixTimestamp64Milli'),
  unix_micros: unixTime('toUnixTimestamp64Micro'),
  timestamp_seconds: fromUnix(1_000_000),
  timestamp_millis: fromUnix(1_000),
  timestamp_micros: fromUnix(1),
  timestamp: rule(1, 2, ({ arg }) => time(timeOf(arg(0)))),
  datetime: rule(1, 2, ({ arg }) => time(timeOf(arg(0)), 'datetime')),
  date: rule(1, 2, ({ arg }) => time(`toDate(${timeOf(arg(0))})`, 'date')),
  current_timestamp: rule(0, 0, () => time(`now64(6, 'UTC')`)),
  current_datetime: rule(0, 1, () => time(`now64(6, 'UTC')`, 'datetime')),
  current_date: rule(0, 1, () => time(`toDate(now64(6, 'UTC'))`, 'date')),
}

/** Functions that people try, with what to use instead. */
const alternatives: Record<string, string> = {
  approx_quantiles: 'Choose an element: APPROX_QUANTILES(x, 100)[OFFSET(95)].',
  split: 'Choose an element: SPLIT(x, ",")[OFFSET(0)].',
  approx_top_count: 'Use COUNT(*) with GROUP BY, ORDER BY and LIMIT.',
  approx_top_sum: 'Use SUM with GROUP BY, ORDER BY and LIMIT.',
  row_number: 'Use ORDER BY and LIMIT.',
  parse_timestamp: 'Use CAST(x AS TIMESTAMP).',
  now: 'Use CURRENT_TIMESTAMP().',
  date_sub: 'Use TIMESTAMP_SUB.',
  date_add: 'Use TIMESTAMP_ADD.',
  unnest: 'Use it in FROM or JOIN.',
}

function substring({ arg, count }: Call): Value {
  const length = count > 2 ? `, ${integerOf(arg(2))}` : ''
  return string(`substringUTF8(${textOf(arg(0))}, ${integerOf(arg(1))}${length})`)
}

function digitsOf({ arg, count, name }: Call): string {
  if (count < 2) return ''
  const { literal, type } = arg(1)
  if (type === 'int' && Number(literal) <= 15) return `, ${Number(literal)}`
  throw invalidQuery(`${name.toUpperCase()} needs a number of digits from 0 to 15.`)
}

function limitOf({ limit }: Call): string {
  return `(${Math.max(1, Math.min(limit ?? 1000, 1000))})`
}

export function callFunction(call: Call): { value: Value; isAggregate: boolean } {
  const found = Object.hasOwn(rules, call.name) ? rules[call.name] : undefined
  const shown = call.name.toUpperCase()
  if (!found) {
    const help = Object.hasOwn(alternatives, call.name)
      ? ` ${alternatives[call.name]}`
      : didYouMean(closestName(call.name, Object.keys(rules))?.toUpperCase())
    throw invalidQuery(`The function ${shown} is not supported.${help}`)
  }
  const [fewest, most] = found.args
  if (call.count < fewest || call.count > most) {
    const wanted = fewest === most ? String(fewest) : `${fewest} to ${most}`
    throw invalidQuery(`${shown} needs ${wanted} arguments, not ${call.count}.`)
  }
  if (call.distinct && !found.isAggregate) throw invalidQuery(`DISTINCT is not supported in ${shown}.`)
  return { value: found.translate(call), isAggregate: found.isAggregate === true }
}

/** Functions that return an array, of which one element is used. */
export function indexedFunction(
  name: string,
  args: () => Value[],
  offset: number,
): { value: Value; isAggregate: boolean } | undefined {
  if (name === 'approx_quantiles') {
    const [value = nothing, parts] = args()
    const total = Number(parts?.literal)
    if (parts?.type !== 'int' || total < 1 || total > 10_000 || offset > total) {
      throw invalidQuery('APPROX_QUANTILES needs a number of quantiles, such as 100, and an element of them.')
    }
    return { value: number(`quantileGK(1000, ${offset / total})(${numberOf(value)})`), isAggregate: true }
  }
  if (name !== 'split') return undefined
  const [text = nothing, separator] = args()
  const parts = `splitByString(${separator ? textOf(separator) : `','`}, ifNull(${textOf(text)}, ''))`
  return { value: string(`arrayElementOrNull(${parts}, ${offset + 1})`), isAggregate: false }
}
