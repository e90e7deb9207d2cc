import { z } from 'zod'
import { listText, listValues } from '../../../shared/list-text.ts'
import { formatMicros, isoDate, parseIsoInstant } from '../../../shared/timestamps.ts'
import { must, text, trueOrFalse, valuesText, valueText } from '../../base/validation.ts'

type TypedValue = string | number | boolean
export type JsonValue = TypedValue | readonly TypedValue[] | null

interface ParameterType {
  engineType: string
  /** What a caller should send; follows "must be". */
  expected: string
  /** Two valid values, for checking a query without a request. */
  samples: readonly [string, string]
  /** Equal values are read as equal, however they are written. Undefined if the text is not a value of the type. */
  read(text: string): Exclude<JsonValue, null> | undefined
}

export const timestampType = "DateTime64(6, 'UTC')"

const wholeNumber = /^-?\d{1,19}$/
const decimalNumber = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const booleans: Record<string, boolean> = { true: true, false: false, 1: true, 0: false }

const string = {
  engineType: 'String',
  expected: 'text',
  samples: ['', '1'],
  read: (text) => text,
} as const satisfies ParameterType

const singleTypes = {
  string,
  integer: {
    engineType: 'Int64',
    expected: 'a whole number of at most 64 bits',
    samples: ['0', '1'],
    read: (text) => {
      if (!wholeNumber.test(text)) return undefined
      const value = BigInt(text)
      return BigInt.asIntN(64, value) === value ? String(value) : undefined
    },
  },
  number: {
    engineType: 'Float64',
    expected: 'a number',
    samples: ['0', '1'],
    read: (text) => {
      const value = decimalNumber.test(text) ? Number(text) : Number.NaN
      return Number.isFinite(value) ? value : undefined
    },
  },
  boolean: {
    engineType: 'Bool',
    expected: 'true or false',
    samples: ['true', 'false'],
    read: (text) => (Object.hasOwn(booleans, text) ? booleans[text] : undefined),
  },
  timestamp: {
    engineType: timestampType,
    expected: 'an ISO 8601 date, or date and time, such as 2026-01-31T12:00:00Z',
    samples: ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'],
    read: (text) => {
      const micros = parseIsoInstant(text)
      return micros === undefined ? undefined : formatMicros(micros)
    },
  },
  date: {
    engineType: 'Date32',
    expected: 'a date between 1900 and 2299, such as 2026-01-31',
    samples: ['2026-01-01', '2026-01-02'],
    read: (text) =>
      isoDate.test(text) && parseIsoInstant(text) !== undefined && text >= '1900' && text < '2300'
        ? text
        : undefined,
  },
  // Only the engine knows whether it can compile an expression, so any text is accepted here.
  regex: { ...string, expected: 'a regular expression' },
} as const satisfies Record<string, ParameterType>

type SingleType = keyof typeof singleTypes
type ParameterTypeName = SingleType | 'list'

export const parameterTypeNames = [...(Object.keys(singleTypes) as SingleType[]), 'list'] as const

export const maxListValues = 1000

/** The type of a declared parameter. */
export function typeOf({ type, of = 'string', unordered }: TypeFields): ParameterType {
  if (type !== 'list') return singleTypes[type]
  const item: ParameterType = singleTypes[of]
  return {
    engineType: `Array(${item.engineType})`,
    expected: `a list in which each value is ${item.expected}`,
    samples: [listText([item.samples[0]]), listText([item.samples[1]])],
    read(text) {
      const values = listValues(text).map((value) => item.read(value) as TypedValue | undefined)
      const known = values.filter((value) => value !== undefined)
      if (known.length < values.length) return undefined
      return unordered ? known.sort(byText) : known
    },
  }
}

const byText = (one: TypedValue, other: TypedValue) => {
  const [first, second] = [String(one), String(other)]
  return first < second ? -1 : Number(first > second)
}

/** The values that a declaration names. A list has the values of its default and example in an array. */
function declaredValues<T extends z.ZodType, V extends z.ZodType>(value: T, valueOrList: V) {
  const list = must('a list of values')
  return {
    default: valueOrList.optional().describe('Value if the caller sends none. Null if there is no default.'),
    enum: z.array(value, list).min(1, list).optional().describe('Allowed values.'),
    example: valueOrList.optional().describe('An example value.'),
  }
}

const declared = declaredValues(valueText, valuesText)
const listTypes = ['string', 'number', 'timestamp'] as const

export const parameterShape = z
  .strictObject(
    {
      type: z
        .enum(parameterTypeNames, must(`one of ${parameterTypeNames.join(', ')}`))
        .default('string')
        .describe('How the value is read.'),
      of: z
        .enum(listTypes, must(`one of ${listTypes.join(', ')}`))
        .optional()
        .describe('Type of the values of a list. Default: string.'),
      unordered: trueOrFalse
        .optional()
        .describe('Whether lists with the same values in another order share a cached result.'),
      required: trueOrFalse.default(false).describe('Whether the caller must send it.'),
      default: declared.default,
      enum: declared.enum,
      empty_is_omitted: trueOrFalse.default(false).describe('Whether an empty value counts as omitted.'),
      description: text.default('').describe('For people who call the endpoint.'),
      example: declared.example,
    },
    must('a list of fields, such as { required: true }'),
  )
  .superRefine((parameter, context) => {
    const problem = (message: string, ...path: (string | number)[]) =>
      context.addIssue({ code: 'custom', message, path })
    for (const field of ['of', 'unordered'] as const) {
      if (parameter.type !== 'list' && parameter[field] !== undefined) problem('is only for lists', field)
    }
    const { read, expected } = typeOf(parameter)
    const single = typeOf(itemOf(parameter))
    if (parameter.required && parameter.default !== undefined) {
      problem('is not allowed for a required parameter', 'default')
    }
    for (const [index, value] of (parameter.enum ?? []).entries()) {
      if (single.read(value) === undefined) problem(`must be ${single.expected}`, 'enum', index)
      if (parameter.enum?.indexOf(value) !== index) problem('is a duplicate', 'enum', index)
    }
    for (const field of ['default', 'example'] as const) {
      const value = parameter[field]
      if (value === undefined) continue
      if (read(value) === undefined) problem(`must be ${expected}`, field)
      else if (!isAllowed(parameter, value)) {
        problem(`must be one of ${parameter.enum?.join(', ')}`, field)
      }
    }
  })

/** With values of its type. */
const typedValues = z.union([z.string(), z.number(), z.boolean()])
export const parameterView = z.object({
  ...parameterShape.shape,
  ...declaredValues(typedValues, z.union([typedValues, z.array(typedValues)])),
})

export type ParameterDeclaration = z.output<typeof parameterShape>
type TypeFields = Pick<ParameterDeclaration, 'type'> & Partial<Pick<ParameterDeclaration, 'of' | 'unordered'>>

/** The declaration of one value of a list. */
export function itemOf({ type, of = 'string' }: TypeFields): { type: SingleType } {
  return { type: type === 'list' ? of : type }
}

export const typeText = (fields: TypeFields) =>
  fields.type === 'list' ? `list of ${itemOf(fields).type}` : fields.type

/** Types whose texts another type reads. */
const readable: Partial<Record<SingleType, SingleType>> = {
  number: 'integer',
  timestamp: 'date',
  string: 'regex',
  regex: 'string',
}

/** Whether a parameter can have each value of another one. One value is a list of one. */
export function reads(taken: TypeFields, handed: TypeFields): boolean {
  const [type, sent] = [itemOf(taken).type, itemOf(handed).type]
  return (handed.type !== 'list' || taken.type === 'list') && (sent === type || sent === readable[type])
}

/** Whether a parameter accepts all requests that one of another type accepted. */
export function accepts(now: TypeFields, then: TypeFields): boolean {
  const { type } = itemOf(now)
  const isAlikeList = (now.type === 'list') === (then.type === 'list')
  // Text has any value; not every text is an expression.
  return isAlikeList && (type === 'string' || (type !== 'regex' && reads(now, then)))
}

/** Whether the enum of a declaration has a value, or all values of a list. */
export function isAllowed({ type, enum: allowed }: ParameterDeclaration, text: string): boolean {
  if (allowed === undefined) return true
  return type === 'list' ? listValues(text).every((value) => allowed.includes(value)) : allowed.includes(text)
}

export type ParameterDeclarations = Readonly<Record<string, ParameterDeclaration>>

/** The declared parameter of this name, or the default for one that only the SQL names. */
export function declarationOf(declared: ParameterDeclarations, name: string): ParameterDeclaration {
  return (Object.hasOwn(declared, name) && declared[name]) || undeclared
}

const undeclared = parameterShape.parse({})

/** All parameters: those that are declared, and those that only the SQL uses. */
export function allDeclarations(
  declared: ParameterDeclarations,
  used: readonly string[],
): Record<string, ParameterDeclaration> {
  const names = new Set([...Object.keys(declared), ...used])
  return Object.fromEntries([...names].map((name) => [name, declarationOf(declared, name)]))
}

/** Values that fit, for checking a query without a request. */
export function sampleValues(declared: ParameterDeclarations): Record<string, string> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, declaration]) => {
      const { example, default: preset, enum: allowed } = declaration
      return [name, example ?? preset ?? allowed?.[0] ?? typeOf(declaration).samples[0]]
    }),
  )
}

/** Other values than the samples, as far as the declarations allow them. */
export function otherValues(
  declared: ParameterDeclarations,
  names: readonly string[],
): Record<string, string> {
  const samples = sampleValues(declared)
  return Object.fromEntries(
    Object.entries(allDeclarations(declared, names)).map(([name, declaration]) => {
      const others = declaration.enum ?? typeOf(declaration).samples
      return [name, others.find((value) => value !== samples[name]) ?? samples[name] ?? '']
    }),
  )
}

/** The time of a check, a day after the sample timestamp: the engine refuses bounds before 1970 and ranges that end first. */
export const sampleNowMicros = BigInt(Date.UTC(2026, 0, 2)) * 1000n

/** A declaration as people write it: its values have the type of the parameter. */
type ShownParameter = Omit<ParameterDeclaration, 'default' | 'enum' | 'example'> & {
  default?: TypedValue | TypedValue[] | undefined
  enum?: TypedValue[] | undefined
  example?: TypedValue | TypedValue[] | undefined
}

export function shownParameters(declared: ParameterDeclarations): Record<string, ShownParameter> {
  const shown = Object.entries(declared).map(([name, declaration]) => {
    const { default: preset, enum: allowed, example } = declaration
    const typed = (value: string) => typedValue(itemOf(declaration).type, value)
    const shown = (text: string) => {
      const values = declaration.type === 'list' ? listValues(text) : []
      return listText(values) === text ? values.map(typed) : typed(text)
    }
    return [
      name,
      {
        ...declaration,
        ...(preset !== undefined && { default: shown(preset) }),
        ...(allowed !== undefined && { enum: allowed.map(typed) }),
        ...(example !== undefined && { example: shown(example) }),
      },
    ] as const
  })
  return Object.fromEntries(shown)
}

/** Text stays text if it would not read back the same, such as 1.10 or an integer that a double cannot hold. */
function typedValue(type: ParameterTypeName, value: string): TypedValue {
  if (type === 'boolean') return value === 'true' || (value === 'false' ? false : value)
  if (type !== 'integer' && type !== 'number') return value
  const number = Number(value)
  return String(number) === value && (type === 'number' || Number.isSafeInteger(number)) ? number : value
}

/** Declarations whose types follow from the values. Each value is the example, so that the SQL is checked with it. */
export function declarationsOf(values: Readonly<Record<string, JsonValue>>) {
  const declared = Object.entries(values).map(([name, value]) => {
    if (value === null) return [name, {}] as const
    const list = Array.isArray(value) && {
      type: 'list',
      of: value.length > 0 && value.every((each) => typeof each === 'number') ? 'number' : 'string',
    }
    return [
      name,
      { ...(list || { type: typeOfValue(value as TypedValue) }), required: true, example: value },
    ] as const
  })
  return Object.fromEntries(declared)
}

function typeOfValue(value: TypedValue): ParameterTypeName {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}
