import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../../base/errors.ts'
import type { OtlpBudget } from './budget.ts'
import {
  type Attributes,
  doubleValue,
  emptyLog,
  hexId,
  integerValue,
  type OtlpLog,
  type OtlpResourceLogs,
  type OtlpScope,
  type OtlpScopeLogs,
  withMember,
} from './record.ts'

interface Wire {
  reader: BinaryReader
  budget: OtlpBudget
}

/** How a field is read: `before` is the value that its property has so far. */
interface Kind {
  type: WireType
  read(wire: Wire, before: unknown, depth: number): unknown
}

/** By field number: the property that gets the value, and its kind. */
type Fields<T> = Record<number, readonly [keyof T & string, Kind] | undefined>

const { Varint, Bit32, Bit64 } = WireType

const bool: Kind = { type: Varint, read: ({ reader }) => reader.bool() }
const int32: Kind = { type: Varint, read: ({ reader }) => reader.int32() }
const uint32: Kind = { type: Varint, read: ({ reader }) => reader.uint32() }
const int64: Kind = { type: Varint, read: ({ reader }) => integerValue(BigInt(reader.int64())) }
const fixed32: Kind = { type: Bit32, read: ({ reader }) => reader.fixed32() }
const fixed64: Kind = { type: Bit64, read: ({ reader }) => BigInt(reader.fixed64()) }
const double: Kind = { type: Bit64, read: ({ reader }) => doubleValue(reader.double()) }
const text = delimited(({ reader }) => reader.string())
const base64 = delimited(({ reader }) => bytesOf(reader).toString('base64'))
const id = delimited(({ reader }) => hexId(bytesOf(reader).toString('hex')))
const value = delimited(
  (wire, _before, depth) => readMessage(wire, valueFields, { value: null }, depth).value,
)
const array = delimited(
  (wire, _before, depth) => readMessage(wire, arrayFields, { values: [] }, depth + 1).values,
)
const element = delimited((wire, before, depth) => {
  wire.budget.value(depth)
  return append(before, value.read(wire, null, depth))
})
const list = delimited(
  (wire, _before, depth) => readMessage(wire, listFields, { values: {} }, depth + 1).values,
)
const attribute = delimited((wire, before, depth) => {
  wire.budget.value(depth)
  const { key, value } = readMessage(wire, attributeFields, { key: '', value: null }, depth)
  return withMember((before ?? {}) as Attributes, key, value)
})
const log = delimited((wire, before, depth) => {
  wire.budget.record()
  return append(before, readMessage(wire, logFields, { ...emptyLog }, depth))
})
const scope = delimited((wire, before, depth) => readMessage(wire, scopeFields, before as OtlpScope, depth))
const scopeLogs = delimited((wire, before, depth) => {
  wire.budget.group()
  const scope = { name: '', version: '', attributes: undefined }
  return append(before, readMessage(wire, scopeLogsFields, { scope, logs: [] }, depth))
})
const resource = delimited((wire, before, depth) => {
  const values = before as Attributes | undefined
  return readMessage(wire, listFields, { values }, depth).values
})
const resourceLogs = delimited((wire, before, depth) => {
  wire.budget.group()
  return append(before, readMessage(wire, resourceLogsFields, { resource: undefined, scopes: [] }, depth))
})

// The field numbers are those of opentelemetry-proto 1.x.

/** If a value has several kinds, the last one counts, as the protocol says. */
const valueFields: Fields<{ value: unknown }> = {
  1: ['value', text],
  2: ['value', bool],
  3: ['value', int64],
  4: ['value', double],
  5: ['value', array],
  6: ['value', list],
  7: ['value', base64],
}
const arrayFields: Fields<{ values: unknown[] }> = { 1: ['values', element] }
const listFields: Fields<{ values: Attributes | undefined }> = { 1: ['values', attribute] }
const attributeFields: Fields<{ key: string; value: unknown }> = { 1: ['key', text], 2: ['value', value] }
const logFields: Fields<OtlpLog> = {
  1: ['timeNanos', fixed64],
  2: ['severityNumber', int32],
  3: ['severityText', text],
  5: ['body', value],
  6: ['attributes', attribute],
  7: ['droppedAttributesCount', uint32],
  8: ['flags', fixed32],
  9: ['traceId', id],
  10: ['spanId', id],
  11: ['observedTimeNanos', fixed64],
  12: ['eventName', text],
}
const scopeFields: Fields<OtlpScope> = {
  1: ['name', text],
  2: ['version', text],
  3: ['attributes', attribute],
}
const scopeLogsFields: Fields<OtlpScopeLogs> = { 1: ['scope', scope], 2: ['logs', log] }
const resourceLogsFields: Fields<OtlpResourceLogs> = { 1: ['resource', resource], 2: ['scopes', scopeLogs] }
const requestFields: Fields<{ resourceLogs: OtlpResourceLogs[] }> = { 1: ['resourceLogs', resourceLogs] }

/** Reads ExportLogsServiceRequest. Unknown fields are skipped, so that newer senders are understood. */
export function readProtobufLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  const wire = { reader: new BinaryReader(body), budget }
  try {
    return readFields(wire, body.length, requestFields, { resourceLogs: [] }, 1).resourceLogs
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The reader has no error class of its own, and nothing here fails except for what was sent.
    throw invalidBody(`The body is not a valid OTLP logs request in protobuf: ${(error as Error).message}.`)
  }
}

function delimited(read: Kind['read']): Kind {
  return { type: WireType.LengthDelimited, read }
}

function readMessage<T>(wire: Wire, fields: Fields<T>, target: T, depth: number): T {
  const length = wire.reader.uint32()
  return readFields(wire, wire.reader.pos + length, fields, target, depth)
}

function readFields<T>(wire: Wire, end: number, fields: Fields<T>, target: T, depth: number): T {
  const { reader, budget } = wire
  while (reader.pos < end) {
    budget.fields(1)
    const [number, type] = reader.tag()
    const field = fields[number]
    if (field === undefined) {
      reader.skip(type, number)
      continue
    }
    const property = field[0]
    const kind = field[1]
    // Skipping a known field of the wrong type, as some parsers do, would lose data silently.
    if (type !== kind.type) throw new Error(`field ${number} has wire type ${type} instead of ${kind.type}`)
    target[property] = kind.read(wire, target[property], depth) as T[typeof property]
  }
  // The reader only checks the end of the body.
  if (reader.pos !== end) throw new Error('a field is longer than its message')
  return target
}

function append<T>(list: unknown, item: T): T[] {
  const items = list as T[]
  items.push(item)
  return items
}

function bytesOf(reader: BinaryReader): Buffer {
  const view = reader.bytes()
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}
