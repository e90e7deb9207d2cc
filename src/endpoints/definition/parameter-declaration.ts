import { z } from 'zod'
import { formatMicros, parseIsoTimestamp } from '../../base/text/timestamps.ts'

type TypedValue = string | number | boolean
export type JsonValue = TypedValue | null

interface ParameterType {
  engineType: string
  /** What a caller should send; follows "must be". */
  expected: string
  /** Two valid values, for checking a query without a request. */
  samples: readonly [string, string]
  /** Equal values are read as equal, however they are written. Undefined if the text is not a value of the type. */
  read(text: string): TypedValue | undefined
}

export const timestampType = "DateTime64(6, 'UTC')"

const wholeNumber = /^-?\d{1,19}$/
const decimalNumber = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
/** Midnight, UTC. */
const dateForm = /^\d{4}-\d\d-\d\d$/
const booleans: Record<string, boolean> = { true: true, false: false, 1: true, 0: false }

const string = {
  engineType: 'String',
  expected: 'text',
  samples: ['', '1'],
  read: (text) => text,
} as const satisfies ParameterType

export const parameterTypes = {
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
      const micros = parseIsoTimestamp(dateForm.test(text) ? `${text}T00:00Z` : text)
      return micros === undefined ? undefined : formatMicros(micros)
    },
  },
  // Only the engine knows whether it can compile an expression, so any text is accepted here.
  regex: { ...string, expected: 'a regular expression' },
} as const satisfies Record<string, ParameterType>

type ParameterTypeName = keyof typeof parameterTypes

export const parameterTypeNames = Object.keys(parameterTypes) as [ParameterTypeName, ...ParameterTypeName[]]

/** Messages follow the name of the field, as in "max_rows must be …". */
export function must(be: string) {
  return {
    error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : `must be ${be}`),
  }
}

export const trueOrFalse = z.boolean(must('true or false'))
export const text = z.string(must('text'))

/** Values are text, as callers send them. A number or a boolean becomes its text. */
export const valueText = z
  .union([z.string(), z.number(), z.boolean()], must('text, a number, or true or false'))
  .transform(String)

/** The values that a declaration names. */
export function declaredValues<T extends z.ZodType>(value: T) {
  const list = must('a list of values')
  return {
    default: value.optional().describe('Value if the caller sends none. Null if there is no default.'),
    enum: z.array(value, list).min(1, list).optional().describe('Allowed values.'),
    example: value.optional().describe('An example value.'),
  }
}

const declared = declaredValues(valueText)

export const parameterShape = z
  .strictObject(
    {
      type: z
        .enum(parameterTypeNames, must(`one of ${parameterTypeNames.join(', ')}`))
        .default('string')
        .describe('How the value is read.'),
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
    const { read, expected } = parameterTypes[parameter.type]
    if (parameter.required && parameter.default !== undefined) {
      problem('is not allowed for a required parameter', 'default')
    }
    for (const [index, value] of (parameter.enum ?? []).entries()) {
      if (read(value) === undefined) problem(`must be ${expected}`, 'enum', index)
      if (parameter.enum?.indexOf(value) !== index) problem('is a duplicate', 'enum', index)
    }
    for (const field of ['default', 'example'] as const) {
      const value = parameter[field]
      if (value === undefined) continue
      if (read(value) === undefined) problem(`must be ${expected}`, field)
      else if (parameter.enum?.includes(value) === false) {
        problem(`must be one of ${parameter.enum.join(', ')}`, field)
      }
    }
  })

export type ParameterDeclaration = z.output<typeof parameterShape>
export type ParameterDeclarations = Readonly<Record<string, ParameterDeclaration>>

/** The declared parameter of this name, or the default for one that only the SQL names. */
export function declarationOf(declared: ParameterDeclarations, name: string): ParameterDeclaration {
  return (Object.hasOwn(declared, name) && declared[name]) || undeclared
}

const undeclared = parameterShape.parse({})

/** Values that fit, for checking a query without a request. */
export function sampleValues(declared: ParameterDeclarations): Record<string, string> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, { example, default: preset, enum: allowed, type }]) => [
      name,
      example ?? preset ?? allowed?.[0] ?? parameterTypes[type].samples[0],
    ]),
  )
}

/** Other values than the samples, as far as the declarations allow them. */
export function otherValues(
  declared: ParameterDeclarations,
  names: readonly string[],
): Record<string, string> {
  const samples = sampleValues(declared)
  return Object.fromEntries(
    [...new Set([...Object.keys(declared), ...names])].map((name) => {
      const { type, enum: allowed } = declarationOf(declared, name)
      const others = allowed ?? parameterTypes[type].samples
      return [name, others.find((value) => value !== samples[name]) ?? samples[name] ?? '']
    }),
  )
}

/** The time of a check, a day after the sample timestamp: the engine refuses bounds before 1970 and ranges that end first. */
export const sampleNowMicros = BigInt(Date.UTC(2026, 0, 2)) * 1000n

/** A declaration as people write it: its values have the type of the parameter. */
type ShownParameter = Omit<ParameterDeclaration, 'default' | 'enum' | 'example'> & {
  default?: TypedValue | undefined
  enum?: TypedValue[] | undefined
  example?: TypedValue | undefined
}

export function shownParameters(declared: ParameterDeclarations): Record<string, ShownParameter> {
  const shown = Object.entries(declared).map(([name, declaration]) => {
    const { type, default: preset, enum: allowed, example } = declaration
    const typed = (value: string) => typedValue(type, value)
    return [
      name,
      {
        ...declaration,
        ...(preset !== undefined && { default: typed(preset) }),
        ...(allowed !== undefined && { enum: allowed.map(typed) }),
        ...(example !== undefined && { example: typed(example) }),
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
    return [name, value === null ? {} : { type: typeOf(value), required: true, example: value }] as const
  })
  return Object.fromEntries(declared)
}

function typeOf(value: string | number | boolean): ParameterTypeName {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}
