import type { WireType } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../../base/errors.ts'
import type { OtlpLog, OtlpResourceLogs, OtlpScope, OtlpScopeLogs } from './entry.ts'
import { type Attributes, doubleValue, hexId, integerValue, type OtlpBudget, withMember } from './value.ts'
import { OtlpWire } from './wire.ts'

/**
 * Reads ExportLogsServiceRequest. The field numbers are those of opentelemetry-proto 1.x; unknown fields are
 * skipped, so that newer senders are understood.
 */
export function readProtobufLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  const wire = new OtlpWire(body, budget)
  const resourceLogs: OtlpResourceLogs[] = []
  try {
    wire.body((field, type) => {
      if (field !== 1) return false
      resourceLogs.push(readResourceLogs(wire, type))
      return true
    })
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The reader has no error class of its own, and nothing in here fails but on what was sent.
    throw invalidBody(`The body is no OTLP logs request in protobuf: ${(error as Error).message}.`)
  }
  return resourceLogs
}

function readResourceLogs(wire: OtlpWire, type: WireType): OtlpResourceLogs {
  wire.budget.group()
  const logs: OtlpResourceLogs = { resource: undefined, scopes: [] }
  wire.message(type, (field, type) => {
    if (field === 1) logs.resource = readMembers(wire, type, logs.resource, 1)
    else if (field === 2) logs.scopes.push(readScopeLogs(wire, type))
    else return false
    return true
  })
  return logs
}

function readScopeLogs(wire: OtlpWire, type: WireType): OtlpScopeLogs {
  wire.budget.group()
  const scope: OtlpScope = { name: '', version: '', attributes: undefined }
  const logs: OtlpLog[] = []
  const readScopeField = (field: number, type: WireType) => {
    if (field === 1) scope.name = wire.text(type)
    else if (field === 2) scope.version = wire.text(type)
    else if (field === 3) scope.attributes = readMember(wire, type, scope.attributes, 1)
    else return false
    return true
  }
  wire.message(type, (field, type) => {
    if (field === 1) wire.message(type, readScopeField)
    else if (field === 2) logs.push(readLog(wire, type))
    else return false
    return true
  })
  return { scope, logs }
}

function readLog(wire: OtlpWire, type: WireType): OtlpLog {
  wire.budget.record()
  const log: OtlpLog = {
    timeNanos: 0n,
    observedTimeNanos: 0n,
    severityNumber: 0,
    severityText: '',
    body: null,
    attributes: undefined,
    droppedAttributesCount: 0,
    flags: 0,
    traceId: '',
    spanId: '',
    eventName: '',
  }
  wire.message(type, (field, type) => {
    if (field === 1) log.timeNanos = wire.fixed64(type)
    else if (field === 2) log.severityNumber = wire.int32(type)
    else if (field === 3) log.severityText = wire.text(type)
    else if (field === 5) log.body = readValue(wire, type, 1)
    else if (field === 6) log.attributes = readMember(wire, type, log.attributes, 1)
    else if (field === 7) log.droppedAttributesCount = wire.uint32(type)
    else if (field === 8) log.flags = wire.fixed32(type)
    else if (field === 9) log.traceId = hexId(wire.bytes(type).toString('hex'))
    else if (field === 10) log.spanId = hexId(wire.bytes(type).toString('hex'))
    else if (field === 11) log.observedTimeNanos = wire.fixed64(type)
    else if (field === 12) log.eventName = wire.text(type)
    else return false
    return true
  })
  return log
}

/** Of several kinds in one value the last one counts, as the protocol says. */
function readValue(wire: OtlpWire, type: WireType, depth: number): unknown {
  let value: unknown = null
  wire.message(type, (field, type) => {
    if (field === 1) value = wire.text(type)
    else if (field === 2) value = wire.bool(type)
    else if (field === 3) value = integerValue(wire.int64(type))
    else if (field === 4) value = doubleValue(wire.double(type))
    else if (field === 5) value = readArray(wire, type, depth + 1)
    else if (field === 6) value = readMembers(wire, type, {}, depth + 1)
    else if (field === 7) value = wire.bytes(type).toString('base64')
    else return false
    return true
  })
  return value
}

function readArray(wire: OtlpWire, type: WireType, depth: number): unknown[] {
  const values: unknown[] = []
  wire.message(type, (field, type) => {
    if (field !== 1) return false
    wire.budget.value(depth)
    values.push(readValue(wire, type, depth))
    return true
  })
  return values
}

/** A resource or a list: field 1 of both is repeated and holds a key and a value. */
function readMembers<T extends Attributes | undefined>(
  wire: OtlpWire,
  type: WireType,
  into: T,
  depth: number,
): Attributes | T {
  let members: Attributes | T = into
  wire.message(type, (field, type) => {
    if (field !== 1) return false
    members = readMember(wire, type, members, depth)
    return true
  })
  return members
}

function readMember(wire: OtlpWire, type: WireType, into: Attributes | undefined, depth: number): Attributes {
  wire.budget.value(depth)
  let key = ''
  let value: unknown = null
  wire.message(type, (field, type) => {
    if (field === 1) key = wire.text(type)
    else if (field === 2) value = readValue(wire, type, depth)
    else return false
    return true
  })
  return withMember(into ?? {}, key, value)
}
