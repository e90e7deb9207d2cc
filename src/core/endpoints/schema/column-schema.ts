import type { JsonSchema } from '../../base/validation.ts'
import { type EngineType, parseEngineType } from '../definition/output-types.ts'

const text: JsonSchema = { type: 'string' }
const anything: JsonSchema = {}
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

const iso = 'With `_timestamps=iso`, ISO 8601 text with `Z`.'
const isoTime: JsonSchema = { type: 'string', format: 'date-time' }
const micros: JsonSchema = {
  type: 'integer',
  format: 'int64',
  description: `Microseconds since 1970, UTC. ${iso}`,
}
const dateTime: JsonSchema = {
  type: 'string',
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?$`,
  description: `Date and time in UTC, without a time zone: 2026-01-31T12:00:00. ${iso}`,
}
const inexact = 'A string if a double cannot hold it exactly.'

/** Types that contain no others. A name gets the first schema that fits. */
const simpleTypes: readonly (readonly [RegExp, JsonSchema])[] = [
  [/^(?:(?:Fixed)?String|Time(?:64)?|AggregateFunction)$/, text],
  [/^Bool$/, { type: 'boolean' }],
  [/^UUID$/, { type: 'string', format: 'uuid' }],
  [/^Date(?:32)?$/, { type: 'string', format: 'date' }],
  [/^IPv4$/, { type: 'string', format: 'ipv4' }],
  [/^IPv6$/, { type: 'string', format: 'ipv6' }],
  // NaN, such as the mean of no rows, is null.
  [/^B?Float\d+$/, { type: ['number', 'null'] }],
  [/^U?Int64$/, { type: ['integer', 'string'], format: 'int64', description: inexact }],
  [/^U?Int(?:128|256)$/, { type: ['integer', 'string'], description: inexact }],
  [/^(?:U?Int\d+|Interval\w+)$/, { type: 'integer' }],
  [/^Decimal/, { type: ['number', 'string'], description: inexact }],
  [/^Nothing$/, { type: 'null' }],
  [/^(?:JSON|Object)$/, { type: 'object', additionalProperties: true }],
]

export function columnSchema(type: string, timestamps: 'iso' | 'logflare'): JsonSchema {
  return schemaOf(parseEngineType(type), timestamps === 'iso')
}

function schemaOf(type: EngineType, isIso: boolean): JsonSchema {
  const { name, arguments: inside } = type
  const inner = (index = 0) => (inside[index] ? schemaOf(inside[index].type, isIso) : anything)
  switch (name) {
    case 'LowCardinality':
      return inner()
    case 'Nullable':
      return orNull(inner())
    case 'Array':
      return listOf(inner())
    case 'Map':
      return { type: 'object', additionalProperties: inside[1] ? inner(1) : true }
    case 'Tuple':
      return tupleSchema(type, isIso)
    case 'Nested':
      return listOf(tupleSchema(type, isIso))
    case 'Variant':
      // Each can be null. The engine writes timestamps in it.
      return orNull({
        anyOf: inside.map(({ type: member }) =>
          member.name.startsWith('DateTime') ? text : schemaOf(member, isIso),
        ),
      })
    case 'SimpleAggregateFunction':
      return inner(1)
    case 'Enum8':
    case 'Enum16':
      return { type: 'string', enum: inside.map(({ text: member }) => enumMember(member)) }
    case 'DateTime64':
      return isIso ? isoTime : micros
    case 'DateTime':
      return isIso ? isoTime : dateTime
  }
  return simpleTypes.find(([names]) => names.test(name))?.[1] ?? anything
}

function tupleSchema({ arguments: members }: EngineType, isIso: boolean): JsonSchema {
  const schemas = members.map(({ type }) => schemaOf(type, isIso))
  const labels = members.flatMap(({ label }) => (label === undefined ? [] : [label]))
  if (labels.length === members.length && labels.length > 0) {
    return {
      type: 'object',
      properties: Object.fromEntries(labels.map((label, index) => [label, schemas[index]])),
      required: labels,
    }
  }
  return { type: 'array', prefixItems: schemas, minItems: schemas.length, maxItems: schemas.length }
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf, enum: values } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined) return schema
  const types = [type].flat() as string[]
  return {
    ...schema,
    type: types.includes('null') ? type : [...types, 'null'],
    ...(Array.isArray(values) && { enum: [...values, null] }),
  }
}

/** `'a' = 1` is the text `a`. */
function enumMember(written: string): string {
  const quoted = /^'((?:[^'\\]|\\.|'')*)'/.exec(written)?.[1] ?? written
  return quoted.replace(/\\(.)|''/g, (_, escaped: string | undefined) => escaped ?? "'")
}
