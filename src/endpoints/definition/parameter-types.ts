import { formatMicros, parseIsoTimestamp } from '../../base/timestamps.ts'

/** A value as it goes to the engine, beside the SQL and never inside it. */
export type BoundValue = string | number | boolean | null

interface ParameterType {
  /** ClickHouse's type of the value. */
  engineType: string
  /** What a caller should send, as the end of "must be …". */
  expected: string
  /** Equal values come out equal, however they were written; undefined is what cannot be read. */
  read(text: string): Exclude<BoundValue, null> | undefined
}

export const timestampType = "DateTime64(6, 'UTC')"

const wholeNumber = /^-?\d{1,19}$/
const decimalNumber = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const booleans: Record<string, boolean> = { true: true, false: false, 1: true, 0: false }

export const parameterTypes = {
  string: { engineType: 'String', expected: 'text', read: (text) => text },
  integer: {
    engineType: 'Int64',
    expected: 'a whole number of at most 64 bits',
    read: (text) => {
      if (!wholeNumber.test(text)) return undefined
      const value = BigInt(text)
      return BigInt.asIntN(64, value) === value ? String(value) : undefined
    },
  },
  number: {
    engineType: 'Float64',
    expected: 'a number',
    read: (text) => {
      const value = decimalNumber.test(text) ? Number(text) : Number.NaN
      return Number.isFinite(value) ? value : undefined
    },
  },
  boolean: {
    engineType: 'Bool',
    expected: 'true or false',
    read: (text) => (Object.hasOwn(booleans, text) ? booleans[text] : undefined),
  },
  timestamp: {
    engineType: timestampType,
    expected: 'an ISO 8601 date and time, such as 2026-01-31T12:00:00Z',
    read: (text) => {
      const micros = parseIsoTimestamp(text)
      return micros === undefined ? undefined : formatMicros(micros)
    },
  },
  // Only the engine can tell whether it can compile an expression, so here it is any text.
  regex: { engineType: 'String', expected: 'a regular expression', read: (text) => text },
} as const satisfies Record<string, ParameterType>

export type ParameterTypeName = keyof typeof parameterTypes

export const parameterTypeNames = Object.keys(parameterTypes) as [ParameterTypeName, ...ParameterTypeName[]]
