import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../../base/errors.ts'
import { OtlpBudget, otlpLimits } from './budget.ts'
import { idText } from './id-text.ts'

type Message = Record<string, unknown>

interface Scalar {
  type: WireType
  read: (reader: BinaryReader) => unknown
}

/** By field number: the name in OTLP's JSON, and a scalar or the name of a message, in brackets if it is repeated. */
type Fields = Record<number, readonly [name: string, kind: Scalar | string | [string]] | undefined>

const { Varint, Bit32, Bit64, LengthDelimited } = WireType

const bool: Scalar = { type: Varint, read: (reader) => reader.bool() }
const int32: Scalar = { type: Varint, read: (reader) => reader.int32() }
const uint32: Scalar = { type: Varint, read: (reader) => reader.uint32() }
const int64: Scalar = { type: Varint, read: (reader) => reader.int64() }
const fixed32: Scalar = { type: Bit32, read: (reader) => reader.fixed32() }
const fixed64: Scalar = { type: Bit64, read: (reader) => reader.fixed64() }
const double: Scalar = { type: Bit64, read: (reader) => reader.double() }
const text: Scalar = { type: LengthDelimited, read: (reader) => reader.string() }
const base64: Scalar = { type: LengthDelimited, read: (reader) => bytesOf(reader).toString('base64') }
const traceId: Scalar = { type: LengthDelimited, read: (reader) => idText(bytesOf(reader), 'traceId') }
const spanId: Scalar = { type: LengthDelimited, read: (reader) => idText(bytesOf(reader), 'spanId') }

/** The field numbers are those of opentelemetry-proto 1.x. */
const messages: Record<string, Fields> = {
  request: { 1: ['resourceLogs', ['resourceLogs']] },
  resourceLogs: { 1: ['resource', 'resource'], 2: ['scopeLogs', ['scopeLogs']] },
  resource: { 1: ['attributes', ['keyValue']] },
  scopeLogs: { 1: ['scope', 'scope'], 2: ['logRecords', ['logRecord']] },
  scope: { 1: ['name', text], 2: ['version', text], 3: ['attributes', ['keyValue']] },
  logRecord: {
    1: ['timeUnixNano', fixed64],
    2: ['severityNumber', int32],
    3: ['severityText', text],
    5: ['body', 'anyValue'],
    6: ['attributes', ['keyValue']],
    7: ['droppedAttributesCount', uint32],
    8: ['flags', fixed32],
    9: ['traceId', traceId],
    10: ['spanId', spanId],
    11: ['observedTimeUnixNano', fixed64],
    12: ['eventName', text],
  },
  keyValue: { 1: ['key', text], 2: ['value', 'anyValue'] },
  anyValue: {
    1: ['stringValue', text],
    2: ['boolValue', bool],
    3: ['intValue', int64],
    4: ['doubleValue', double],
    5: ['arrayValue', 'arrayValue'],
    6: ['kvlistValue', 'kvlistValue'],
    7: ['bytesValue', base64],
  },
  arrayValue: { 1: ['values', ['anyValue']] },
  kvlistValue: { 1: ['values', ['keyValue']] },
}

/** Each level of a value is up to three messages. */
const maxDepth = 3 * otlpLimits.maxDepth + 10

/** Reads ExportLogsServiceRequest into the form of its JSON. Unknown fields are skipped, so that newer senders are understood. */
export function readProtobuf(body: Buffer, budget: OtlpBudget): Message {
  const reader = new BinaryReader(body)
  /** Counts while the tree is built, because its messages take far more memory than the body. */
  const built = new OtlpBudget()
  try {
    return readMessage('request', {}, body.length, 0)
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The reader has no error class of its own, and nothing here fails except for what was sent.
    throw invalidBody(`The body is not a valid OTLP logs request in protobuf: ${(error as Error).message}.`)
  }

  function readMessage(name: string, message: Message, end: number, depth: number): Message {
    if (depth > maxDepth) throw new Error('a value is nested too deeply')
    if (name === 'logRecord') built.record()
    else if (name === 'anyValue') built.value(1)
    else if (name === 'resourceLogs' || name === 'scopeLogs') built.group()
    while (reader.pos < end) {
      budget.fields(1)
      const [number, type] = reader.tag()
      const field = messages[name]?.[number]
      if (field === undefined) {
        reader.skip(type, number)
        continue
      }
      const [property, kind] = field
      const isScalar = typeof kind === 'object' && 'read' in kind
      const expected = isScalar ? kind.type : LengthDelimited
      // Skipping a known field of the wrong type, as some parsers do, would lose data silently.
      if (type !== expected) throw new Error(`field ${number} has wire type ${type} instead of ${expected}`)
      const before = message[property]
      // If a value has several kinds, the last one counts, as the protocol says.
      if (name === 'anyValue') for (const other of Object.keys(message)) delete message[other]
      message[property] = isScalar ? kind.read(reader) : readInner(kind, before, depth + 1)
    }
    // The reader only checks the end of the body.
    if (reader.pos !== end) throw new Error('a field is longer than its message')
    return message
  }

  function readInner(kind: string | [string], before: unknown, depth: number): unknown {
    const length = reader.uint32()
    const end = reader.pos + length
    if (typeof kind === 'string') return readMessage(kind, (before ?? {}) as Message, end, depth)
    const items = (before ?? []) as Message[]
    items.push(readMessage(kind[0], {}, end, depth))
    return items
  }
}

function bytesOf(reader: BinaryReader): Buffer {
  const view = reader.bytes()
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}
