import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { invalidBody, tooLarge } from '../../base/errors.ts'
import { otlpLimits } from './budget.ts'
import { decodeOtlpLogs, type OtlpEncoding } from './otlp.ts'

/** A length-delimited field. */
function field(number: number, ...content: (string | Uint8Array)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.from(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish())
}

const inRecord = (...fields: Uint8Array[]) => field(1, field(2, field(2, ...fields)))
const attribute = (key: string, value: Uint8Array) => field(6, field(1, key), field(2, value))

const sample = inRecord(
  Buffer.from([0x09, 0, 0, 0x64, 0xa7, 0xb3, 0xb6, 0xe0, 0x0d]),
  field(5, field(1, 'a message')),
  attribute('a.b', field(6, field(1, field(1, 'k'), field(2, field(5, field(1, Buffer.from([0x18, 5]))))))),
  field(9, Buffer.alloc(16, 7)),
)

/** A request in JSON that has one record. */
function jsonRequest(record: unknown): Buffer {
  return Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }))
}

function outcome(body: Buffer, encoding: OtlpEncoding): 'decoded' | 'invalid' {
  try {
    decodeOtlpLogs(body, encoding)
    return 'decoded'
  } catch (error) {
    if (invalidBody.is(error)) return 'invalid'
    throw error
  }
}

describe('protobuf', () => {
  test('a sample decodes, and is invalid if it is cut at any byte', () => {
    expect(decodeOtlpLogs(Buffer.alloc(0), 'protobuf')).toEqual([])
    expect(decodeOtlpLogs(sample, 'protobuf')).toMatchObject([
      { entry: { event_message: 'a message', metadata: { attributes: { 'a.b': { k: [5] } } } } },
    ])
    for (let length = 1; length < sample.length; length += 1) {
      expect(outcome(sample.subarray(0, length), 'protobuf')).toBe('invalid')
    }
  })

  test('a known field of another wire type is an error', () => {
    const body = inRecord(Buffer.from([0x28, 1]))
    expect(() => decodeOtlpLogs(body, 'protobuf')).toThrow('field 5 has wire type 0 instead of 2')
  })

  test('a field that is longer than its message is an error', () => {
    const body = Buffer.concat([field(1, Buffer.from([0x1a, 3, 1])), Buffer.from([0x0a, 0])])
    expect(() => decodeOtlpLogs(body, 'protobuf')).toThrow('longer than its message')
  })

  test('unknown fields of every wire type are skipped', () => {
    const unknown = Buffer.concat([
      Buffer.from([0xf8, 0x07, 0xff, 0xff, 0x01]),
      Buffer.from([0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8]),
      field(127, 'anything'),
      Buffer.from([0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07]),
      Buffer.from([0xfd, 0x07, 1, 2, 3, 4]),
    ])
    const body = Buffer.concat([unknown, inRecord(unknown, field(5, unknown, field(1, 'kept')))])
    expect(decodeOtlpLogs(body, 'protobuf')).toEqual([
      { source: undefined, entry: { event_message: 'kept', metadata: {} } },
    ])
  })

  test('a resource and a scope may follow their records', () => {
    const logs = field(2, field(2, field(5, field(1, 'm'))), field(1, field(1, 'scope')))
    const resource = field(1, field(1, field(1, 'wellhead.source'), field(2, field(1, 'edge_logs'))))
    expect(decodeOtlpLogs(field(1, logs, resource), 'protobuf')).toMatchObject([
      { source: 'edge_logs', entry: { metadata: { scope: { name: 'scope' } } } },
    ])
  })

  test('invalid UTF-8 is replaced, and the batch is kept', () => {
    const [record] = decodeOtlpLogs(inRecord(field(5, field(1, Buffer.from([0x61, 0xff])))), 'protobuf')
    expect(record?.entry.event_message).toBe('a\ufffd')
  })

  test('numbers that JSON cannot hold exactly become text', () => {
    const double = (value: number) => new BinaryWriter().tag(4, WireType.Bit64).double(value).finish()
    const int = (value: bigint) => new BinaryWriter().tag(3, WireType.Varint).int64(value).finish()
    const body = inRecord(
      attribute('nan', double(Number.NaN)),
      attribute('up', double(Number.POSITIVE_INFINITY)),
      attribute('down', double(Number.NEGATIVE_INFINITY)),
      attribute('max', int(2n ** 63n - 1n)),
      attribute('min', int(-(2n ** 63n))),
      attribute('minus', int(-1n)),
    )
    expect(decodeOtlpLogs(body, 'protobuf')[0]?.entry.metadata).toEqual({
      attributes: {
        ...{ nan: 'NaN', up: 'Infinity', down: '-Infinity' },
        ...{ max: '9223372036854775807', min: '-9223372036854775808', minus: -1 },
      },
    })
  })
})

describe('nesting', () => {
  const protobufOf = (depth: number) => {
    let value = field(1, 'x')
    for (let i = 1; i < depth; i += 1) value = field(5, field(1, value))
    return inRecord(field(5, value))
  }
  const jsonOf = (depth: number) => {
    const open = '{"arrayValue":{"values":['.repeat(depth - 1)
    const body = `${open}{"stringValue":"x"}${']}}'.repeat(depth - 1)}`
    return Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${body}}]}]}]}`)
  }

  test.each([
    ['protobuf', protobufOf],
    ['json', jsonOf],
  ] as const)('%s may be nested up to the documented limit', (encoding, of) => {
    expect(outcome(of(otlpLimits.maxDepth), encoding)).toBe('decoded')
    expect(() => decodeOtlpLogs(of(otlpLimits.maxDepth + 1), encoding)).toThrow('more than 64 levels deep')
    expect(outcome(of(2_000), encoding)).toBe('invalid')
  })

  test('a million open brackets or groups are invalid', () => {
    const open = '['.repeat(1e6)
    expect(outcome(Buffer.from(open), 'json')).toBe('invalid')
    expect(outcome(Buffer.from(open + ']'.repeat(1e6)), 'json')).toBe('invalid')
    expect(outcome(Buffer.alloc(1e6, '{"":'), 'json')).toBe('invalid')
    expect(outcome(Buffer.alloc(1e6, 0x1b), 'protobuf')).toBe('invalid')
  })
})

describe('keys are data', () => {
  const keys = ['__proto__', 'constructor', 'toString', '', 'a.b', '\u0000', 'hasOwnProperty']
  const members = (value: object) => keys.map((key) => ({ key, value }))
  const record = { body: { kvlistValue: { values: members({ boolValue: true }) } } }
  const resource = { attributes: members({ stringValue: 'v' }) }
  const json = { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] }
  const pairs = (value: Uint8Array) => keys.map((key) => field(1, field(1, key), field(2, value)))
  const protobuf = field(
    1,
    field(1, ...pairs(field(1, 'v'))),
    field(2, field(2, field(5, field(6, ...pairs(Buffer.from([0x10, 1])))))),
  )

  test.each([
    ['json', Buffer.from(JSON.stringify(json))],
    ['protobuf', protobuf],
  ] as const)('%s stores names of JavaScript properties like any other', (encoding, body) => {
    const [record] = decodeOtlpLogs(body, encoding)
    const metadata = record?.entry.metadata as Record<string, object>
    expect(Object.keys(metadata.resource ?? {})).toEqual(keys)
    expect(Object.getPrototypeOf(metadata.resource)).toBe(Object.prototype)
    expect(JSON.parse(record?.entry.event_message as string)).toEqual(metadata.body)
    expect(Object.keys(metadata.body ?? {})).toEqual(keys)
    expect(({} as { v?: unknown }).v).toBeUndefined()
  })

  test('a __proto__ that holds an object changes no prototype', () => {
    const text =
      '{"__proto__":{"resourceLogs":[1]},"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"__proto__",' +
      '"value":{"kvlistValue":{"values":[{"key":"wellhead.source","value":{"stringValue":"edge_logs"}}]}}}]}]}]}]}'
    const [record] = decodeOtlpLogs(Buffer.from(text), 'json')
    expect(record?.source).toBeUndefined()
    expect(JSON.stringify(record?.entry.metadata)).toBe(
      '{"attributes":{"__proto__":{"wellhead.source":"edge_logs"}}}',
    )
  })
})

describe('size', () => {
  // Quadratic time would take longer than a test may.
  test('100,000 attributes decode in linear time', () => {
    const many = Array.from({ length: 1e5 }, (_, i) => attribute(`k${i}`, field(1, 'v')))
    const attributes = Array.from({ length: 1e5 }, (_, i) => ({ key: `k${i}`, value: { stringValue: 'v' } }))
    const request = jsonRequest({ attributes })
    const fromProtobuf = decodeOtlpLogs(inRecord(Buffer.concat(many)), 'protobuf')
    const fromJson = decodeOtlpLogs(request, 'json')
    expect(JSON.stringify(fromJson)).toBe(JSON.stringify(fromProtobuf))
  })

  test.each([
    ['records', field(1, field(2, Buffer.alloc(2 * otlpLimits.maxRecords + 2, Buffer.from([0x12, 0]))))],
    ['scopes', field(1, Buffer.alloc(2 * otlpLimits.maxGroups + 2, Buffer.from([0x12, 0])))],
    ['values', inRecord(Buffer.alloc(2 * otlpLimits.maxValues + 2, Buffer.from([0x32, 0])))],
    ['fields', Buffer.alloc(2 * otlpLimits.maxFields + 2, Buffer.from([0x78, 1]))],
  ])('too many empty %s are refused, whatever the size of the body', (_, body) => {
    expect(() => decodeOtlpLogs(body, 'protobuf')).toThrow(/^A request may have at most/)
  })

  test('too many empty objects in JSON are refused before they are parsed', () => {
    const body = Buffer.concat([
      Buffer.from('{"a":['),
      Buffer.alloc(3 * otlpLimits.maxFields, '{},'),
      Buffer.from('1]}'),
    ])
    expect(() => decodeOtlpLogs(body, 'json')).toThrow('fields')
  })

  test('syntax inside of strings is not counted', () => {
    const text = JSON.stringify({ ignored: '\\"{[,'.repeat(otlpLimits.maxFields / 3) })
    expect(decodeOtlpLogs(Buffer.from(text), 'json')).toEqual([])
  })

  test('a large resource with many records is refused before it is copied', () => {
    const resource = field(1, field(1, field(1, 'k'), field(2, field(1, 'v'.repeat(1e6)))))
    const record = field(2, field(5, field(1, 'm')))
    const inOneScope = field(1, resource, field(2, ...Array.from({ length: 100 }, () => record)))
    const inManyScopes = field(1, resource, ...Array.from({ length: 100 }, () => field(2, record)))
    for (const body of [inOneScope, inManyScopes]) {
      expect(() => decodeOtlpLogs(body, 'protobuf')).toThrow(expect.toSatisfy(tooLarge.is))
    }
  })

  test('a structured body beyond the size limit of an entry is not copied', () => {
    const body = inRecord(field(5, field(5, field(1, field(1, 'v'.repeat(2 ** 20))))))
    const [record] = decodeOtlpLogs(body, 'protobuf')
    expect(record?.entry.event_message).toHaveLength(2 ** 20 + 4)
    expect(record?.entry.metadata).toEqual({})
  })
})

describe('JSON of the wrong shape', () => {
  test.each([
    ...['', ' ', 'null', '7', '[]', '"text"', '{', '{"resourceLogs":{}}', '{"resourceLogs":[1]}'],
    '{"resourceLogs":[{"scopeLogs":[{"logRecords":[[]]}]}]}',
    '{"resourceLogs":[{"resource":"r"}]}',
    '{"a":01234567890123456789}',
  ])('%s is invalid', (text) => {
    expect(outcome(Buffer.from(text), 'json')).toBe('invalid')
  })

  test.each([
    { timeUnixNano: 'yesterday' },
    { timeUnixNano: -1 },
    { timeUnixNano: 1.5 },
    { timeUnixNano: String(2n ** 64n) },
    { timeUnixNano: { toString: 1 } },
    { timeUnixNano: [5] },
    { severityNumber: 'SEVERITY_NUMBER_INFO' },
    { severityText: 5 },
    { flags: 2 ** 32 },
    { traceId: 7 },
    { body: 'text' },
    { body: { boolValue: 'true' } },
    { body: { intValue: String(2n ** 63n) } },
    { body: { doubleValue: 'many' } },
    { body: { doubleValue: '' } },
    { body: { doubleValue: { toString: 1 } } },
    { body: { bytesValue: '*' } },
    { attributes: { key: 'a' } },
  ])('a record with %j is invalid', (record) => {
    expect(outcome(jsonRequest(record), 'json')).toBe('invalid')
  })
})

describe('arbitrary input', () => {
  test.each(['protobuf', 'json'] as const)('%s decodes or is invalid', (encoding) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void outcome(Buffer.from(bytes), encoding)),
      { numRuns: 500 },
    )
  })

  test('a sample with bytes changed decodes or is invalid', () => {
    const change = fc.tuple(fc.nat(sample.length - 1), fc.integer({ min: 0, max: 255 }))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        const body = Buffer.from(sample)
        for (const [at, byte] of changes) body[at] = byte
        outcome(body, 'protobuf')
      }),
      { numRuns: 500 },
    )
  })

  test('JSON of any shape under the known names decodes or is invalid', () => {
    const names =
      'resourceLogs resource scopeLogs scope logRecords attributes key value body timeUnixNano __proto__ ' +
      'stringValue intValue doubleValue arrayValue kvlistValue bytesValue values'
    const shape = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 9 },
        fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names.split(' ')), tie('any'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(shape.any, (value) => void outcome(jsonRequest(value), 'json')),
      { numRuns: 500 },
    )
  })

  test('any tree of values is the same from both encodings', () => {
    const tree = fc.letrec<{ any: Tree }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(
          fc.string(),
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
          fc.double(),
          fc.boolean(),
        ),
        fc.array(tie('any'), { maxLength: 4 }),
        fc
          .dictionary(fc.string(), tie('any'), { maxKeys: 4 })
          .map((members) => new Map(Object.entries(members))),
      ),
    })).any
    fc.assert(
      fc.property(tree, (value) => {
        const fromJson = decodeOtlpLogs(jsonRequest({ body: toJson(value) }), 'json')
        const fromProtobuf = decodeOtlpLogs(inRecord(field(5, toProtobuf(value))), 'protobuf')
        expect(JSON.stringify(fromJson)).toBe(JSON.stringify(fromProtobuf))
      }),
      { numRuns: 500 },
    )
  })
})

type Tree = string | bigint | number | boolean | Tree[] | Map<string, Tree>

function toJson(value: Tree): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'bigint') return { intValue: String(value) }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return { doubleValue: Number.isFinite(value) ? value : String(value) }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toJson) } }
  return { kvlistValue: { values: [...value].map(([key, member]) => ({ key, value: toJson(member) })) } }
}

function toProtobuf(value: Tree): Uint8Array {
  if (typeof value === 'string') return field(1, value)
  if (typeof value === 'bigint') return new BinaryWriter().tag(3, WireType.Varint).int64(value).finish()
  if (typeof value === 'boolean') return new BinaryWriter().tag(2, WireType.Varint).bool(value).finish()
  if (typeof value === 'number') return new BinaryWriter().tag(4, WireType.Bit64).double(value).finish()
  if (Array.isArray(value)) return field(5, ...value.map((item) => field(1, toProtobuf(item))))
  return field(6, ...[...value].map(([key, member]) => field(1, field(1, key), field(2, toProtobuf(member)))))
}
