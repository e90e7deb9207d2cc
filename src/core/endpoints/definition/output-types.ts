import { validText } from '../../engine/json-rows.ts'
import { sqlName, sqlText } from '../../sql/names.ts'

interface Output {
  sql: string
  type: string
}

/** Text that is not certain to be UTF-8 may have to be converted before it is read. */
type Conversion = (value: string, type: EngineType, isCertain: boolean) => Output | undefined

interface TypeRule {
  types: RegExp
  /** `_timestamps=iso` leaves the type to the engine. */
  isTime?: true
  json?: Conversion
  csv?: Conversion
  /** Parquet and Arrow. */
  typed?: Conversion
}

/** Significant digits that a double holds whatever they are. */
const surelyExactDigits = 15
const exactInteger = 2 ** 53 - 1
/** The most digits that readers of Parquet and Arrow accept. */
const maxDecimalDigits = 38

const asText: Conversion = (value) => ({ sql: `toString(${value})`, type: 'String' })

const asMicros: Conversion = (value, { arguments: [precision] }) => ({
  sql: `toUnixTimestamp64Micro(${precision?.text === '6' ? value : `toDateTime64(${value}, 6, 'UTC')`})`,
  type: 'Int64',
})

const asDateTimeText: Conversion = (value) => ({
  sql: `formatDateTime(${value}, '%Y-%m-%dT%H:%i:%S', 'UTC')`,
  type: 'String',
})

const numberOrText = (isInexact: string, value: string, { text }: EngineType): Output => ({
  sql: `if(${isInexact}, toString(${value}), ${value})`,
  type: `Variant(${text}, String)`,
})

const asExactInteger: Conversion = (value, type) => {
  const tooLarge = `${value} > ${exactInteger}`
  return numberOrText(
    type.name.startsWith('U') ? tooLarge : `${tooLarge} OR ${value} < -${exactInteger}`,
    value,
    type,
  )
}

const digitsOf = ({ arguments: [digits, scale] }: EngineType) => [Number(digits?.text), Number(scale?.text)]

/** Inexact if the nearest double is written with other digits. JSONExtractFloat is the parser that rounds correctly. */
const asExactDecimal: Conversion = (value, type) => {
  const [digits = 0, scale] = digitsOf(type)
  if (digits <= surelyExactDigits) return undefined
  const nearest = `toString(JSONExtractFloat(concat(toString(${value}), 'e0')))`
  return numberOrText(`toDecimal256OrNull(${nearest}, ${scale}) != ${value}`, value, type)
}

/** Text as it is, anything else as JSON. */
const asBareText: Conversion = (value, _type, isCertain) => {
  const json = isCertain ? `toJSONString(${value})` : validText(`toJSONString(${value})`)
  return {
    sql: `multiIf(${value} IS NULL, NULL, startsWith(${json}, '"'), JSONExtractString(${json}), ${json})`,
    type: 'Nullable(String)',
  }
}

const arraysOf: Record<string, number> = {
  Point: 0,
  Ring: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
}

/** As tuples in arrays: readers reject a whole Parquet file because of the engine's description of geometry in it. */
const asShape: Conversion = (value, { name }) => {
  const arrays = arraysOf[name] ?? 0
  const type = `${'Array('.repeat(arrays)}Tuple(Float64, Float64)${')'.repeat(arrays)}`
  return { sql: `CAST(${value}, '${type}')`, type }
}

/** How each type leaves the service. What is not listed, the engine writes as it should be. */
const typeRules: readonly TypeRule[] = [
  { types: /^DateTime64$/, isTime: true, json: asMicros, csv: asMicros },
  {
    types: /^DateTime$/,
    isTime: true,
    json: asDateTimeText,
    csv: asDateTimeText,
    typed: (value) => ({ sql: `toDateTime64(${value}, 0, 'UTC')`, type: "DateTime64(0, 'UTC')" }),
  },
  { types: /^U?Int64$/, json: asExactInteger },
  { types: /^U?Int(?:128|256)$/, json: asExactInteger, typed: asText },
  {
    types: /^Decimal$/,
    json: asExactDecimal,
    typed: (value, type, isCertain) =>
      Number(digitsOf(type)[0]) > maxDecimalDigits ? asText(value, type, isCertain) : undefined,
  },
  { types: /^(?:Enum(?:8|16)|UUID|IPv[46]|Time(?:64)?)$/, typed: asText },
  // Without the NULs that fill it up.
  { types: /^FixedString$/, json: asText, csv: asText, typed: asText },
  { types: /^BFloat16$/, typed: (value) => ({ sql: `toFloat32(${value})`, type: 'Float32' }) },
  { types: /^Interval/, typed: (value) => ({ sql: `toInt64(${value})`, type: 'Int64' }) },
  {
    types: /^Nothing$/,
    typed: (value) => ({ sql: `CAST(${value}, 'Nullable(String)')`, type: 'Nullable(String)' }),
  },
  { types: /^(?:Point|Ring|(?:Multi)?(?:LineString|Polygon))$/, typed: asShape },
  { types: /^(?:Variant|Dynamic)$/, csv: asBareText, typed: asBareText },
  { types: /^AggregateFunction$/, csv: asBareText },
]

/** Types whose values can be text, or contain it. */
const textTypes = /String|Enum|Variant|Dynamic|AggregateFunction/

export function mayHoldText(type: string): boolean {
  return textTypes.test(type)
}

/** Types that CSV returns as JSON. */
const containers = /^(?:Array|Map|Tuple|Nested|Point|Ring|(?:Multi)?(?:LineString|Polygon))$/

export type OutputForm = 'json' | 'csv' | 'typed'

export interface OutputOptions {
  form: OutputForm
  /** Whether timestamps are ISO 8601 text. */
  isoTimestamps: boolean
  /** Whether texts are certainly UTF-8. */
  isCertain: boolean
}

/** In JSON, texts stay as they are: the JSON of a value that is not certain is made valid as a whole. */
export function outputSql(value: string, type: string, wanted: OutputOptions): string {
  const { form, isCertain } = wanted
  const parsed = bareTypeOf(type)
  if (form === 'csv' && containers.test(parsed.name)) {
    const json = `toJSONString(${convert(value, parsed, { ...wanted, form: 'json' })?.sql ?? value})`
    return isCertain ? json : validText(json)
  }
  return convert(value, parsed, wanted)?.sql ?? value
}

/** The type of a column's values, besides null. */
export function bareTypeOf(type: string): EngineType {
  return withoutWrappers(parseEngineType(type))
}

/** Conversions keep null, so a nullable column is converted like any other. */
function withoutWrappers(type: EngineType): EngineType {
  const inner = /^(?:LowCardinality|Nullable)$/.test(type.name)
    ? type.arguments[0]
    : type.name === 'SimpleAggregateFunction'
      ? type.arguments[1]
      : undefined
  return inner ? withoutWrappers(inner.type) : type
}

/** Undefined if the value stays as it is. Containers are converted with what they contain. */
function convert(value: string, type: EngineType, wanted: OutputOptions, depth = 0): Output | undefined {
  const { form, isoTimestamps, isCertain } = wanted
  const into = (inner: string, member: EngineType | undefined) =>
    member && convert(inner, member, wanted, depth + 1)
  const [first, second] = type.arguments
  switch (type.name) {
    case 'LowCardinality':
    case 'Nullable':
    case 'SimpleAggregateFunction': {
      const bare = withoutWrappers(type)
      // A function of a nullable tuple's members would lose that the tuple is null.
      const inner = bare.name === 'Tuple' ? undefined : convert(value, bare, wanted, depth)
      const isNullable = type.text.includes('Nullable(') && !/^(?:Nullable|Variant)\(/.test(inner?.type ?? '')
      return inner && { sql: inner.sql, type: isNullable ? `Nullable(${inner.type})` : inner.type }
    }
    case 'Array': {
      const element = `x${depth}`
      const inner = into(element, first?.type)
      return inner && { sql: `arrayMap(${element} -> ${inner.sql}, ${value})`, type: `Array(${inner.type})` }
    }
    case 'Nested':
      return convert(
        value,
        parseEngineType(`Array(Tuple${type.text.slice(type.name.length)})`),
        wanted,
        depth,
      )
    case 'Map': {
      const [key, member] = [`k${depth}`, `v${depth}`]
      // Keys are text in JSON anyway.
      const isConverted = form === 'typed' || (first && withoutWrappers(first.type).name === 'FixedString')
      const keys = isConverted ? into(key, first?.type) : undefined
      const values = into(member, second?.type)
      if (!keys && !values) return undefined
      return {
        sql: `mapApply((${key}, ${member}) -> (${keys?.sql ?? key}, ${values?.sql ?? member}), ${value})`,
        type: `Map(${keys?.type ?? first?.type.text}, ${values?.type ?? second?.type.text})`,
      }
    }
    case 'Tuple': {
      const members = type.arguments.map(({ label, type: member }, index) => {
        const element = `tupleElement(${value}, ${index + 1})`
        const inner = into(element, member)
        const name = label === undefined ? '' : `${sqlName(label)} `
        return {
          isConverted: inner !== undefined,
          sql: inner?.sql ?? element,
          type: `${name}${inner?.type ?? member.text}`,
        }
      })
      if (!members.some(({ isConverted }) => isConverted)) return undefined
      const tupleType = `Tuple(${members.map((member) => member.type).join(', ')})`
      const tuple = `tuple(${members.map(({ sql }) => sql).join(', ')})`
      return { sql: `CAST(${tuple}, ${sqlText(tupleType)})`, type: tupleType }
    }
  }
  const rule = typeRules.find(
    ({ types, isTime }) => types.test(type.name) && !(isTime && isoTimestamps && form !== 'typed'),
  )
  const output = rule?.[form]?.(value, type, isCertain)
  if (isCertain || form === 'json') return output
  const { sql, type: text } = output ?? { sql: value, type: type.name }
  return /^(?:Nullable\()?String\b/.test(text) ? { sql: validText(sql), type: text } : output
}

/** A parsed type of the engine: `Map(String, Array(Int64))` has two arguments, of which the second has one. */
export interface EngineType {
  readonly name: string
  readonly arguments: readonly EngineArgument[]
  readonly text: string
}

interface EngineArgument {
  readonly label: string | undefined
  readonly type: EngineType
  /** Source text, for arguments that are not types. */
  readonly text: string
}

const unnamed = /^[A-Za-z_]\w*(?:\(|$)/
const quotedLabel = /^`((?:[^`\\]|\\.)*)`\s+/
const plainLabel = /^([A-Za-z_]\w*)\s+/

export function parseEngineType(text: string): EngineType {
  const open = text.indexOf('(')
  if (open < 0 || !text.endsWith(')')) return { name: text.trim(), arguments: [], text }
  return {
    name: text.slice(0, open).trim(),
    arguments: splitArguments(text.slice(open + 1, -1)).map(parseArgument),
    text,
  }
}

function parseArgument(written: string): EngineArgument {
  const text = written.trim()
  const match = unnamed.test(text) ? null : (quotedLabel.exec(text) ?? plainLabel.exec(text))
  return {
    label: match?.[1]?.replace(/\\(.)/g, '$1'),
    type: parseEngineType(text.slice(match?.[0].length ?? 0)),
    text,
  }
}

/** Splits at commas outside brackets and quotes. */
function splitArguments(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (quote !== '') {
      if (sign === '\\') at++
      else if (sign === quote) quote = ''
    } else if (sign === "'" || sign === '`') quote = sign
    else if (sign === '(') depth++
    else if (sign === ')') depth--
    else if (sign === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts.filter((part) => part.trim() !== '')
}
