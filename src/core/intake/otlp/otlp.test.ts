import { readFileSync } from 'node:fs'
import type { Attributes } from '@opentelemetry/api'
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { type Logger, SeverityNumber } from '@opentelemetry/api-logs'
import { JsonLogsSerializer, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { describe, expect, test } from 'vitest'
import { decodeBody } from '../decode-body.ts'
import { otlpLimits } from './budget.ts'
import { decodeOtlpLogs, encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from './otlp.ts'

const shop = { 'service.name': 'shop', 'host.name': 'a1' }

/** The records that the SDK's own serializers produce, decoded; both encodings have to agree. */
async function throughSdk(emit: (logger: Logger) => void, attributes: Attributes = shop) {
  const exporter = new InMemoryLogRecordExporter()
  const sdk = new LoggerProvider({
    resource: resourceFromAttributes(attributes),
    processors: [new SimpleLogRecordProcessor({ exporter })],
    logRecordLimits: { attributeCountLimit: 8 },
  })
  emit(sdk.getLogger('checkout', '2.1.0'))
  await sdk.forceFlush()
  const logs = exporter.getFinishedLogRecords()
  const fromProtobuf = decode('protobuf', ProtobufLogsSerializer.serializeRequest(logs))
  const fromJson = decode('json', JsonLogsSerializer.serializeRequest(logs))
  expect(fromJson).toEqual(fromProtobuf)
  return fromProtobuf
}

function decode(encoding: OtlpEncoding, bytes: Uint8Array | undefined) {
  return decodeOtlpLogs(Buffer.from(bytes ?? []), encoding)
}

function decodeJson(request: unknown) {
  return decodeOtlpLogs(Buffer.from(JSON.stringify(request)), 'json')
}

/** The record of a JSON request that has only this one. */
function decodeLog(log: unknown) {
  const [record] = decodeJson({ resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] })
  return record as NonNullable<typeof record>
}

function attributeOf(value: unknown) {
  const { entry } = decodeLog({ attributes: [{ key: 'a', value }] })
  return (entry.metadata as { attributes: { a: unknown } }).attributes.a
}

describe('records of the OpenTelemetry SDK', () => {
  test('a full record has the documented shape', async () => {
    const spanContext = {
      traceId: '5b8efff798038103d269b633813fc60c',
      spanId: 'eee19b7ec3c1b174',
      traceFlags: 1,
    }
    const records = await throughSdk((logger) =>
      logger.emit({
        timestamp: [1_763_000_000, 123_456_789],
        observedTimestamp: [1_763_000_001, 5_000],
        severityNumber: SeverityNumber.WARN,
        severityText: 'WARN',
        eventName: 'cart.abandoned',
        body: 'cart 17 was abandoned',
        attributes: { 'cart.id': 17, total: 12.5, guest: true, tags: ['a', 'b'], nested: { 'x.y': null } },
        context: trace.setSpanContext(ROOT_CONTEXT, spanContext),
      }),
    )
    expect(records).toEqual([
      {
        source: undefined,
        scopeName: 'checkout',
        entry: {
          event_message: 'cart 17 was abandoned',
          timestamp: '2025-11-13T02:13:20.123456Z',
          metadata: {
            resource: shop,
            scope: { name: 'checkout', version: '2.1.0' },
            attributes: {
              'cart.id': 17,
              total: 12.5,
              guest: true,
              tags: ['a', 'b'],
              nested: { 'x.y': null },
            },
            severity_number: 13,
            severity_text: 'WARN',
            trace_id: '5b8efff798038103d269b633813fc60c',
            span_id: 'eee19b7ec3c1b174',
            flags: 1,
            event_name: 'cart.abandoned',
            observed_timestamp: '2025-11-13T02:13:21.000005Z',
          },
        },
      },
    ])
  })

  test('a structured body becomes JSON text, and stays structured in metadata', async () => {
    const body = { order: 5, lines: [{ sku: 'a' }, { sku: 'b' }], note: null }
    const [record] = await throughSdk((logger) => logger.emit({ body }))
    expect(JSON.parse(record?.entry.event_message as string)).toEqual(body)
    expect(record?.entry.metadata).toMatchObject({ body })
  })

  test('simple bodies become text', async () => {
    const records = await throughSdk((logger) => {
      for (const body of ['', 'ünï 🎉', 42, -1.5, true, new Uint8Array([1, 2, 255])]) logger.emit({ body })
    })
    const messages = records.map(({ entry }) => entry.event_message)
    expect(messages).toEqual(['', 'ünï 🎉', '42', '-1.5', 'true', 'AQL/'])
    for (const { entry } of records) expect(entry.metadata).not.toHaveProperty('body')
  })

  test('the message of an event without a body is its name', async () => {
    const [record] = await throughSdk((logger) => logger.emit({ eventName: 'session.start' }))
    expect(record?.entry.event_message).toBe('session.start')
  })

  test('large integers stay numbers, and bytes become base64', async () => {
    const attributes = { safe: 2 ** 53 - 1, minus: -5, bytes: Buffer.from('hi') }
    const [record] = await throughSdk((logger) => logger.emit({ attributes }))
    expect(record?.entry.metadata).toMatchObject({ attributes: { ...attributes, bytes: 'aGk=' } })
  })

  test('the number of dropped attributes is kept', async () => {
    const attributes = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, i]))
    const [record] = await throughSdk((logger) => logger.emit({ attributes }))
    expect(record?.entry.metadata).toMatchObject({ dropped_attributes_count: 3 })
  })

  test('source and project of the record take precedence over those of the resource', async () => {
    const records = await throughSdk(
      (logger) => {
        logger.emit({ body: 'own', attributes: { 'wellhead.source': 'auth_logs', 'wellhead.project': 7 } })
        logger.emit({ body: 'shared' })
      },
      { 'wellhead.source': 'edge_logs', 'wellhead.project': 'abc' },
    )
    expect(records.map(({ source, entry }) => [source, entry.project])).toEqual([
      ['auth_logs', '7'],
      ['edge_logs', 'abc'],
    ])
  })

  test.each<[resource: Attributes, record: Attributes, project: string | undefined]>([
    [{ project: 'a' }, {}, 'a'],
    [{ project_ref: 'a' }, {}, 'a'],
    [{ project: 'a' }, { project_ref: 'b' }, 'b'],
    [{ project: 'a' }, { project_ref: 'b', project: 'c' }, 'c'],
    [{ 'wellhead.project': 'a' }, { project: 'b' }, 'a'],
    [{ project: '' }, { project: '', project_ref: 5 }, '5'],
    [{ project: ['a'] }, {}, undefined],
  ])('resource %j and record %j have the project %s', async (resource, attributes, project) => {
    const [record] = await throughSdk((logger) => logger.emit({ body: 'x', attributes }), resource)
    expect(record?.entry.project).toBe(project)
  })
})

describe('events', () => {
  const text = (stringValue: string) => ({ stringValue })
  const list = (members: Record<string, object>) => ({
    kvlistValue: { values: Object.entries(members).map(([key, value]) => ({ key, value })) },
  })
  const source = { name: 'logs', retentionDays: 36_500, projectPath: ['customer', 'id'] }
  const sources = new Map([['logs', { ...source, isOpen: true, hides: false }]])

  test.each<[body: Record<string, object>, project: string, attribute?: string]>([
    [{}, 'theirs'],
    [{ project: text('own') }, 'own'],
    [{ project_ref: text('own') }, 'own'],
    [{ customer: list({ id: text('own') }) }, 'own'],
    [{ metadata: list({ customer: list({ id: text('own') }) }) }, 'own'],
    [{ metadata: list({ project: text('own') }) }, 'own'],
    [{ metadata: list({ project_ref: text('own') }) }, 'own'],
    [{ project_ref: text('own') }, 'theirs', 'wellhead.project'],
  ])('with the body %j has the project %s', (members, project, attribute = 'project') => {
    const resource = { attributes: [{ key: attribute, value: text('theirs') }] }
    const tooLong = { ...members, id: text('x'.repeat(1000)) }
    const logRecords = [members, tooLong].map((each) => ({ eventName: 'happened', body: list(each) }))
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }))
    const job = { kind: 'otlp', encoding: 'json', defaultSource: 'logs', sources } as const
    const [batch] = decodeBody(body, { ...job, nowMs: Date.UTC(2026, 0, 1), owner: undefined })
    expect(JSON.parse(String(batch?.lines.at(0))).project).toBe(project)
    // An erasure reads the field before any other.
    const rejected = JSON.parse(JSON.parse(String(batch?.quarantine.at(0))).event_message)
    expect(rejected.project ?? 'own').toBe(project)
  })
})

describe('OTLP in JSON', () => {
  test('the example of the specification decodes', () => {
    const [record] = decodeJson({
      resourceLogs: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'my.service' } }] },
          scopeLogs: [
            {
              scope: {
                name: 'my.library',
                version: '1.0.0',
                attributes: [{ key: 'wellhead.source', value: { stringValue: 'storage_logs' } }],
              },
              logRecords: [
                {
                  timeUnixNano: '1544712660300000000',
                  observedTimeUnixNano: '1544712660300000000',
                  severityNumber: 10,
                  severityText: 'Information',
                  traceId: '5B8EFFF798038103D269B633813FC60C',
                  spanId: 'EEE19B7EC3C1B174',
                  body: { stringValue: 'Example log record' },
                  attributes: [
                    {
                      key: 'map',
                      value: { kvlistValue: { values: [{ key: 'k', value: { intValue: '10' } }] } },
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    })
    expect(record).toMatchObject({
      source: 'storage_logs',
      entry: {
        timestamp: '2018-12-13T14:51:00.300000Z',
        metadata: {
          trace_id: '5b8efff798038103d269b633813fc60c',
          scope: { name: 'my.library', version: '1.0.0', attributes: { 'wellhead.source': 'storage_logs' } },
          attributes: { map: { k: 10 } },
        },
      },
    })
  })

  test('nulls and unknown members are ignored', () => {
    const record = decodeLog({
      timeUnixNano: null,
      body: null,
      attributes: null,
      traceId: '',
      flags: null,
      later: [],
    })
    expect(record).toEqual({ source: undefined, entry: { event_message: '', metadata: {} } })
    expect(decodeJson({ resourceLogs: null, more: 1 })).toEqual([])
    expect(decodeJson({ resourceLogs: [null, {}, { scopeLogs: [null, { scope: null }] }] })).toEqual([])
  })

  test('the observed time replaces an unknown time', () => {
    const { entry } = decodeLog({ timeUnixNano: '0', observedTimeUnixNano: '1763000000000001000' })
    expect(entry.timestamp).toBe('2025-11-13T02:13:20.000001Z')
  })

  test('a small number of nanoseconds is not mistaken for seconds', () => {
    expect(decodeLog({ timeUnixNano: '1700000000' }).entry.timestamp).toBe('1970-01-01T00:00:01.700000Z')
    expect(decodeLog({ timeUnixNano: String(2n ** 64n - 1n) }).entry.timestamp).toBe(
      '2554-07-21T23:34:33.709551Z',
    )
  })

  test('64-bit integers are exact, as text and as numbers', () => {
    expect(attributeOf({ intValue: '9007199254740991' })).toBe(9007199254740991)
    expect(attributeOf({ intValue: '-9223372036854775808' })).toBe('-9223372036854775808')
    const text =
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano": 1763000000123456789,"body":{"stringValue":' +
      '"\\\\\\": 1234567890123456789"},"attributes":[{"key":"a","value":{"intValue":-9223372036854775807}},' +
      '{"key":"b","value":{"doubleValue":1234567890123456789.5e3}}]}]}]}]}'
    const [record] = decodeOtlpLogs(Buffer.from(text), 'json')
    expect(record?.entry).toEqual({
      event_message: '\\": 1234567890123456789',
      timestamp: '2025-11-13T02:13:20.123456Z',
      metadata: { attributes: { a: '-9223372036854775807', b: Number('1234567890123456789.5e3') } },
    })
  })

  test.each([
    [{ stringValue: '' }, ''],
    [{ boolValue: false }, false],
    [{ intValue: 0 }, 0],
    [{ intValue: 12 }, 12],
    [{ doubleValue: 0.5 }, 0.5],
    [{ doubleValue: '-Infinity' }, '-Infinity'],
    [{ doubleValue: 'NaN' }, 'NaN'],
    [{ doubleValue: '1e3' }, 1000],
    [{ bytesValue: '-_8' }, '+/8='],
    [{ arrayValue: {} }, []],
    [{ arrayValue: { values: [null, { intValue: 1 }] } }, [null, 1]],
    [{ kvlistValue: {} }, {}],
    [{ stringValue: null, intValue: '3' }, 3],
    [{}, null],
    [null, null],
  ])('the value %j is %j', (value, expected) => {
    expect(attributeOf(value)).toEqual(expected)
  })

  test('an id of zeros is absent', () => {
    expect(decodeLog({ traceId: '0'.repeat(32), spanId: '0'.repeat(16) }).entry.metadata).toEqual({})
  })
})

describe('responses', () => {
  test('the message is empty if nothing was rejected', () => {
    expect(encodeOtlpResponse('protobuf', 0, 'ignored')).toEqual(Buffer.alloc(0))
    expect(encodeOtlpResponse('json', 0, 'ignored').toString()).toBe('{}')
  })

  test('the SDK reads the number of rejected records', () => {
    const read = {
      protobuf: ProtobufLogsSerializer.deserializeResponse(encodeOtlpResponse('protobuf', 300, 'bad tïme')),
      json: JsonLogsSerializer.deserializeResponse(encodeOtlpResponse('json', 3, 'bad tïme')),
    }
    expect(read.protobuf.partialSuccess?.errorMessage).toBe('bad tïme')
    expect(Number(read.protobuf.partialSuccess?.rejectedLogRecords)).toBe(300)
    expect(read.json).toEqual({ partialSuccess: { rejectedLogRecords: '3', errorMessage: 'bad tïme' } })
  })

  test('an error is a google.rpc.Status', () => {
    expect(encodeOtlpError('json', 'no').toString()).toBe('{"message":"no"}')
    expect(encodeOtlpError('protobuf', 'no')).toEqual(Buffer.from([0x12, 2, 0x6e, 0x6f]))
  })
})

describe('docs/guides/otlp.md', () => {
  const page = readFileSync(new URL('../../../../docs/guides/otlp.md', import.meta.url), 'utf8')

  test('lists every member of metadata, and no other', () => {
    const attributes = [{ key: 'a', value: { stringValue: 'b' } }]
    const ids = { traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174', flags: 1 }
    const severity = { severityNumber: 9, severityText: 'INFO' }
    const rest = { eventName: 'e', droppedAttributesCount: 1, observedTimeUnixNano: '1' }
    const record = { body: { arrayValue: {} }, attributes, ...ids, ...severity, ...rest }
    const scopeLogs = [{ scope: { name: 's' }, logRecords: [record] }]
    const request = { resourceLogs: [{ resource: { attributes }, scopeLogs }] }
    const [decoded] = decodeOtlpLogs(Buffer.from(JSON.stringify(request)), 'json')
    const written = Object.keys(decoded?.entry.metadata as object)
    const listed = [...page.matchAll(/^- `metadata\.(\w+)`/gm)].map((match) => match[1])
    expect(listed.sort()).toEqual(written.sort())
  })

  test('states the limits', () => {
    for (const limit of [otlpLimits.maxRecords, otlpLimits.maxValues, otlpLimits.maxDepth]) {
      expect(page).toContain(limit.toLocaleString('en'))
    }
  })
})
