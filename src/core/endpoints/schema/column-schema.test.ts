import { describe, expect, test } from 'vitest'
import { parseEngineType } from '../definition/output-types.ts'
import { columnSchema } from './column-schema.ts'

const shapeOf = (type: string) => {
  const { description: _, ...schema } = columnSchema(type, 'logflare')
  return schema
}

describe('columnSchema', () => {
  test.each([
    ['String', { type: 'string' }],
    ['LowCardinality(String)', { type: 'string' }],
    ['FixedString(16)', { type: 'string' }],
    ['Nullable(String)', { type: ['string', 'null'] }],
    ['LowCardinality(Nullable(String))', { type: ['string', 'null'] }],
    ['UInt8', { type: 'integer' }],
    ['Int32', { type: 'integer' }],
    ['Int64', { type: ['integer', 'string'], format: 'int64' }],
    ['Nullable(UInt64)', { type: ['integer', 'string', 'null'], format: 'int64' }],
    ['UInt256', { type: ['integer', 'string'] }],
    ['Float64', { type: ['number', 'null'] }],
    ['Nullable(Float32)', { type: ['number', 'null'] }],
    ['Decimal(18, 4)', { type: ['number', 'string'] }],
    ['Bool', { type: 'boolean' }],
    ['UUID', { type: 'string', format: 'uuid' }],
    ['Date', { type: 'string', format: 'date' }],
    ["DateTime64(6, 'UTC')", { type: 'integer', format: 'int64' }],
    ["Nullable(DateTime64(3, 'Europe/Berlin'))", { type: ['integer', 'null'], format: 'int64' }],
    ["DateTime('UTC')", { type: 'string', pattern: expect.any(String) }],
    ['Nullable(DateTime)', { type: ['string', 'null'], pattern: expect.any(String) }],
    ['Array(UInt32)', { type: 'array', items: { type: 'integer' } }],
    [
      "Array(DateTime64(6, 'UTC'))",
      { type: 'array', items: { type: 'integer', format: 'int64', description: expect.any(String) } },
    ],
    ["Variant(DateTime('UTC'))", { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['Array(Nullable(String))', { type: 'array', items: { type: ['string', 'null'] } }],
    [
      'Map(String, Array(Int8))',
      { type: 'object', additionalProperties: { type: 'array', items: { type: 'integer' } } },
    ],
    ['JSON', { type: 'object', additionalProperties: true }],
    ['JSON(max_dynamic_paths=8, a.b UInt32)', { type: 'object', additionalProperties: true }],
    ['Variant(String, UInt32)', { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] }],
    ['Dynamic', {}],
    ['Nullable(Nothing)', { type: 'null' }],
    ['IntervalDay', { type: 'integer' }],
    [
      'SimpleAggregateFunction(max, Nullable(UInt64))',
      { type: ['integer', 'string', 'null'], format: 'int64' },
    ],
    ['AggregateFunction(uniq, String)', { type: 'string' }],
    ['SomethingOfTomorrow(1, 2)', {}],
    ['constructor', {}],
  ])('%s', (type, schema) => {
    expect(shapeOf(type)).toEqual(schema)
  })

  test('a tuple is an object if its members have names, else a list', () => {
    expect(shapeOf('Tuple(UInt8, Tuple(String))')).toEqual({
      type: 'array',
      prefixItems: [
        { type: 'integer' },
        { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1, maxItems: 1 },
      ],
      minItems: 2,
      maxItems: 2,
    })
    const named = {
      type: 'object',
      properties: { a: { type: 'integer' }, 'b, (c`': { type: ['string', 'null'] } },
      required: ['a', 'b, (c`'],
    }
    expect(shapeOf('Tuple(a UInt8, `b, (c\\`` Nullable(String))')).toEqual(named)
    expect(shapeOf('Nested(a UInt8, `b, (c\\`` Nullable(String))')).toEqual({ type: 'array', items: named })
  })

  test('an enum lists its names, whatever signs they have', () => {
    expect(shapeOf("Enum8('a' = 1, 'b, \\'c\\'' = -2, '' = 0)")).toEqual({
      type: 'string',
      enum: ['a', "b, 'c'", ''],
    })
    expect(shapeOf("Nullable(Enum16('x' = 1))")).toEqual({ type: ['string', 'null'], enum: ['x', null] })
  })
})

test('what is no type that can be read is taken as a name', () => {
  for (const text of ['', '(', ')', 'Array(', 'Array)', "Enum8('", 'Tuple(,)', 'Map(`']) {
    expect(() => columnSchema(text, 'logflare')).not.toThrow()
  }
  expect(parseEngineType('Array(')).toMatchObject({ name: 'Array(', arguments: [] })
})

test.each(['2026-01-31T12:00:00', '2026-01-31T12:00:00Z'])('a datetime can be %s', (text) => {
  expect(text).toMatch(new RegExp(String(columnSchema("DateTime('UTC')", 'logflare').pattern)))
})
