import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../base/errors.ts'
import type { OtlpLog, OtlpResourceLogs, OtlpScope, OtlpScopeLogs } from './otlp-entry.ts'
import {
  type Attributes,
  doubleValue,
  hexId,
  integerValue,
  type OtlpBudget,
  setMember,
} from './otlp-value.ts'
import { bytes, eachField, endOf, expectType, fixed64, text } from './otlp-wire.ts'

/**
 * Reads ExportLogsServiceRequest. The field numbers are those of opentelemetry-proto 1.x; unknown fields are
 * skipped, so that newer senders are understood.
 */
export function readProtobufLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  const reader = new BinaryReader(body)
  const resourceLogs: OtlpResourceLogs[] = []
  try {
    eachField(reader, body.length, (field, type) => {
      if (field !== 1) return false
      resourceLogs.push(readResourceLogs(reader, endOf(reader, type), budget))
      return true
    })
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The reader has no error class of its own, and nothing in here fails but on what was sent.
    throw invalidBody(`The body is no OTLP logs request in protobuf: ${(error as Error).message}.`)
  }
  return resourceLogs
}

function readResourceLogs(reader: BinaryReader, end: number, budget: OtlpBudget): OtlpResourceLogs {
  budget.group()
  const logs: OtlpResourceLogs = { resource: {}, scopes: [] }
  eachField(reader, end, (field, type) => {
    if (field === 1) readResource(reader, endOf(reader, type), logs.resource, budget)
    else if (field === 2) logs.scopes.push(readScopeLogs(reader, endOf(reader, type), budget))
    else return false
    return true
  })
  return logs
}

function readResource(reader: BinaryReader, end: number, attributes: Attributes, budget: OtlpBudget): void {
  eachField(reader, end, (field, type) => {
    if (field !== 1) return false
    readMember(reader, endOf(reader, type), attributes, 1, budget)
    return true
  })
}

function readScopeLogs(reader: BinaryReader, end: number, budget: OtlpBudget): OtlpScopeLogs {
  budget.group()
  const scopeLogs: OtlpScopeLogs = { scope: { name: '', version: '', attributes: {} }, logs: [] }
  eachField(reader, end, (field, type) => {
    if (field === 1) readScope(reader, endOf(reader, type), scopeLogs.scope, budget)
    else if (field === 2) scopeLogs.logs.push(readLog(reader, endOf(reader, type), budget))
    else return false
    return true
  })
  return scopeLogs
}

function readScope(reader: BinaryReader, end: number, scope: OtlpScope, budget: OtlpBudget): void {
  eachField(reader, end, (field, type) => {
    if (field === 1) scope.name = text(reader, type)
    else if (field === 2) scope.version = text(reader, type)
    else if (field === 3) readMember(reader, endOf(reader, type), scope.attributes, 1, budget)
    else return false
    return true
  })
}

function readLog(reader: BinaryReader, end: number, budget: OtlpBudget): OtlpLog {
  budget.record()
  const log: OtlpLog = {
    timeNanos: 0n,
    observedTimeNanos: 0n,
    severityNumber: 0,
    severityText: '',
    body: null,
    attributes: {},
    droppedAttributesCount: 0,
    flags: 0,
    traceId: '',
    spanId: '',
    eventName: '',
  }
  eachField(reader, end, (field, type) => readLogField(reader, field, type, log, budget))
  return log
}

function readLogField(
  reader: BinaryReader,
  field: number,
  type: WireType,
  log: OtlpLog,
  budget: OtlpBudget,
): boolean {
  switch (field) {
    case 1:
      log.timeNanos = fixed64(reader, type)
      return true
    case 2:
      expectType(type, WireType.Varint)
      log.severityNumber = reader.int32()
      return true
    case 3:
      log.severityText = text(reader, type)
      return true
    case 5:
      budget.value(1)
      log.body = readValue(reader, endOf(reader, type), 1, budget)
      return true
    case 6:
      readMember(reader, endOf(reader, type), log.attributes, 1, budget)
      return true
    case 7:
      expectType(type, WireType.Varint)
      log.droppedAttributesCount = reader.uint32()
      return true
    case 8:
      expectType(type, WireType.Bit32)
      log.flags = reader.fixed32()
      return true
    case 9:
      log.traceId = hexId(bytes(reader, type).toString('hex'))
      return true
    case 10:
      log.spanId = hexId(bytes(reader, type).toString('hex'))
      return true
    case 11:
      log.observedTimeNanos = fixed64(reader, type)
      return true
    case 12:
      log.eventName = text(reader, type)
      return true
    default:
      return false
  }
}

function readMember(
  reader: BinaryReader,
  end: number,
  target: Attributes,
  depth: number,
  budget: OtlpBudget,
): void {
  budget.value(depth)
  let key = ''
  let value: unknown = null
  eachField(reader, end, (field, type) => {
    if (field === 1) key = text(reader, type)
    else if (field === 2) value = readValue(reader, endOf(reader, type), depth, budget)
    else return false
    return true
  })
  setMember(target, key, value)
}

/** Of several kinds in one value the last one counts, as the protocol says. */
function readValue(reader: BinaryReader, end: number, depth: number, budget: OtlpBudget): unknown {
  let value: unknown = null
  eachField(reader, end, (field, type) => {
    switch (field) {
      case 1:
        value = text(reader, type)
        return true
      case 2:
        expectType(type, WireType.Varint)
        value = reader.bool()
        return true
      case 3:
        expectType(type, WireType.Varint)
        value = integerValue(BigInt(reader.int64()))
        return true
      case 4:
        expectType(type, WireType.Bit64)
        value = doubleValue(reader.double())
        return true
      case 5:
        value = readArray(reader, endOf(reader, type), depth + 1, budget)
        return true
      case 6:
        value = readList(reader, endOf(reader, type), depth + 1, budget)
        return true
      case 7:
        value = bytes(reader, type).toString('base64')
        return true
      default:
        return false
    }
  })
  return value
}

function readArray(reader: BinaryReader, end: number, depth: number, budget: OtlpBudget): unknown[] {
  const values: unknown[] = []
  eachField(reader, end, (field, type) => {
    if (field !== 1) return false
    budget.value(depth)
    values.push(readValue(reader, endOf(reader, type), depth, budget))
    return true
  })
  return values
}

function readList(reader: BinaryReader, end: number, depth: number, budget: OtlpBudget): Attributes {
  const members: Attributes = {}
  eachField(reader, end, (field, type) => {
    if (field !== 1) return false
    readMember(reader, endOf(reader, type), members, depth, budget)
    return true
  })
  return members
}
