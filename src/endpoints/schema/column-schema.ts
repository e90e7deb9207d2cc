import type { JsonSchema } from '../../base/validation.ts'
import { type EngineType, parseEngineType } from './engine-type.ts'

const text: JsonSchema = { type: 'string' }
const whole: JsonSchema = { type: 'integer' }
/** NaN, such as the mean of no rows, is null. */
const fraction: JsonSchema = { type: ['number', 'null'] }
const anything: JsonSchema = {}
const point: JsonSchema = { type: 'array', prefixItems: [fraction, fraction], minItems: 2, maxItems: 2 }
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

const simpleTypes: Record<string, JsonSchema> = {
  String: text,
  FixedString: text,
  Bool: { type: 'boolean' },
  UUID: { type: 'string', format: 'uuid' },
  Date: { type: 'string', format: 'date' },
  Date32: { type: 'string', format: 'date' },
  Time: text,
  Time64: text,
  IPv4: { type: 'string', format: 'ipv4' },
  IPv6: { type: 'string', format: 'ipv6' },
  Float32: fraction,
  Float64: fraction,
  BFloat16: fraction,
  Nothing: { type: 'null' },
  Point: point,
  Ring: listOf(point),
  LineString: listOf(point),
  MultiLineString: listOf(listOf(point)),
  Polygon: listOf(listOf(point)),
  MultiPolygon: listOf(listOf(listOf(point))),
  JSON: { type: 'object', additionalProperties: true },
  Object: { type: 'object', additionalProperties: true },
  AggregateFunction: text,
}

/**
 * The schema of a result column. The service formats timestamps and large integers itself, but only at the top level;
 * inside arrays and tuples they look as the engine writes them.
 */
export function columnSchema(type: string, timestamps: 'as stored' | 'iso' = 'as stored'): JsonSchema {
  return topLevelSchema(parseEngineType(type), timestamps === 'iso')
}

const iso = 'With `_timestamps=iso`, ISO 8601 text with `Z`.'

function topLevelSchema(type: EngineType, isIso: boolean): JsonSchema {
  const [inner] = type.arguments
  if (type.name === 'LowCardinality' && inner) return topLevelSchema(inner.type, isIso)
  if (type.name === 'Nullable' && inner) return orNull(topLevelSchema(inner.type, isIso))
  if (isIso && /^DateTime(?:64)?$/.test(type.name)) return { type: 'string', format: 'date-time' }
  if (type.name === 'DateTime64') {
    return { type: 'integer', format: 'int64', description: `Microseconds since 1970, UTC. ${iso}` }
  }
  if (type.name === 'DateTime') {
    return {
      type: 'string',
      pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?$`,
      description: `Date and time in UTC, without a time zone: 2026-01-31T12:00:00. ${iso}`,
    }
  }
  if (/^U?Int(?:64|128|256)$/.test(type.name)) {
    return { type: ['integer', 'string'], description: 'A string if a double cannot hold it exactly.' }
  }
  return nestedSchema(type)
}

function nestedSchema(type: EngineType): JsonSchema {
  const { name, arguments: inside } = type
  const inner = () => (inside[0] ? nestedSchema(inside[0].type) : anything)
  switch (name) {
    case 'LowCardinality':
      return inner()
    case 'Nullable':
      return orNull(inner())
    case 'Array':
      return listOf(inner())
    case 'Map':
      return { type: 'object', additionalProperties: inside[1] ? nestedSchema(inside[1].type) : true }
    case 'Tuple':
      return tupleSchema(type)
    case 'Nested':
      return listOf(tupleSchema(type))
    case 'Variant':
      // Each can be null.
      return orNull({ anyOf: inside.map(({ type: member }) => nestedSchema(member)) })
    case 'SimpleAggregateFunction':
      return inside[1] ? nestedSchema(inside[1].type) : anything
    case 'Enum':
    case 'Enum8':
    case 'Enum16':
      return { type: 'string', enum: inside.map(({ text: member }) => enumMember(member)) }
  }
  if (/^DateTime/.test(name)) return text
  if (/^(?:U?Int\d+|Interval\w+)$/.test(name)) return whole
  if (/^Decimal/.test(name)) return { type: 'number' }
  return Object.hasOwn(simpleTypes, name) ? (simpleTypes[name] as JsonSchema) : anything
}

/** An object if the members have names, otherwise an array. */
function tupleSchema({ arguments: members }: EngineType): JsonSchema {
  const schemas = members.map(({ type }) => nestedSchema(type))
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
