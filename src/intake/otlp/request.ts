import { WireType } from '@bufbuild/protobuf/wire'
import { fieldsOf, type Input, type Kind } from './message.ts'
import {
  type Attributes,
  emptyLog,
  type OtlpLog,
  type OtlpResourceLogs,
  type OtlpScope,
  type OtlpScopeLogs,
  withMember,
} from './record.ts'
import { base64, bool, double, fixed32, fixed64, id, int32, int64, text, uint32 } from './scalars.ts'

const value = message((input, _before, depth) => input.message(valueFields, { value: null }, depth).value)
const array = message((input, _before, depth) => input.message(arrayFields, { values: [] }, depth + 1).values)
const list = message((input, _before, depth) => input.message(listFields, { values: {} }, depth + 1).values)
const element = repeated((input, before, depth) => {
  input.budget.value(depth)
  return append(before, value.read(input, null, depth))
})
const attribute = repeated((input, before, depth) => {
  input.budget.value(depth)
  const { key, value } = input.message(attributeFields, { key: '', value: null }, depth)
  return withMember((before ?? {}) as Attributes, key, value)
})
const log = repeated((input, before, depth) => {
  input.budget.record()
  return append(before, input.message(logFields, { ...emptyLog }, depth))
})
const scope = message((input, before, depth) => input.message(scopeFields, before as OtlpScope, depth))
const scopeLogs = repeated((input, before, depth) => {
  input.budget.group()
  const scope = { name: '', version: '', attributes: undefined }
  return append(before, input.message(scopeLogsFields, { scope, logRecords: [] }, depth))
})
const resource = message((input, before, depth) => {
  const attributes = before as Attributes | undefined
  return input.message(resourceFields, { attributes }, depth).attributes
})
const resourceLogs = repeated((input, before, depth) => {
  input.budget.group()
  return append(before, input.message(resourceLogsFields, { resource: undefined, scopeLogs: [] }, depth))
})

// The field numbers and names are those of opentelemetry-proto 1.x.

/** If a value has several kinds, the last one counts, as the protocol says. */
const valueFields = fieldsOf<{ value: unknown }>(
  [1, 'stringValue', text, 'value'],
  [2, 'boolValue', bool, 'value'],
  [3, 'intValue', int64, 'value'],
  [4, 'doubleValue', double, 'value'],
  [5, 'arrayValue', array, 'value'],
  [6, 'kvlistValue', list, 'value'],
  [7, 'bytesValue', base64, 'value'],
)
const arrayFields = fieldsOf<{ values: unknown[] }>([1, 'values', element])
const listFields = fieldsOf<{ values: Attributes }>([1, 'values', attribute])
const attributeFields = fieldsOf<{ key: string; value: unknown }>([1, 'key', text], [2, 'value', value])
const logFields = fieldsOf<OtlpLog>(
  [1, 'timeUnixNano', fixed64],
  [2, 'severityNumber', int32],
  [3, 'severityText', text],
  [5, 'body', value],
  [6, 'attributes', attribute],
  [7, 'droppedAttributesCount', uint32],
  [8, 'flags', fixed32],
  [9, 'traceId', id],
  [10, 'spanId', id],
  [11, 'observedTimeUnixNano', fixed64],
  [12, 'eventName', text],
)
const scopeFields = fieldsOf<OtlpScope>([1, 'name', text], [2, 'version', text], [3, 'attributes', attribute])
const scopeLogsFields = fieldsOf<OtlpScopeLogs>([1, 'scope', scope], [2, 'logRecords', log])
const resourceFields = fieldsOf<{ attributes: Attributes | undefined }>([1, 'attributes', attribute])
const resourceLogsFields = fieldsOf<OtlpResourceLogs>([1, 'resource', resource], [2, 'scopeLogs', scopeLogs])
const requestFields = fieldsOf<{ resourceLogs: OtlpResourceLogs[] }>([1, 'resourceLogs', resourceLogs])

/** Reads ExportLogsServiceRequest. */
export function readRequest(input: Input): OtlpResourceLogs[] {
  return input.message(requestFields, { resourceLogs: [] }, 1).resourceLogs
}

function message(read: Kind['read']): Kind {
  return { type: WireType.LengthDelimited, repeated: false, read }
}

function repeated(read: Kind['read']): Kind {
  return { ...message(read), repeated: true }
}

function append<T>(list: unknown, item: T): T[] {
  const items = list as T[]
  items.push(item)
  return items
}
