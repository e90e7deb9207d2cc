import { invalidBody, WellheadError } from '../../base/errors.ts'
import { JsonScanner } from '../../base/json/json-scanner.ts'
import { type OtlpBudget, otlpLimits } from './budget.ts'
import {
  type Attributes,
  doubleValue,
  hexId,
  integerValue,
  type OtlpLog,
  type OtlpResourceLogs,
  type OtlpScopeLogs,
  withMember,
} from './record.ts'

type Members = Record<string, unknown>

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const uint64 = { min: 0n, max: 2n ** 64n - 1n }
const int32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n }
const uint32 = { min: 0n, max: 2n ** 32n - 1n }

/** Reads ExportLogsServiceRequest in OTLP's JSON: names in lowerCamelCase, ids in hex, null as absent. */
export function readJsonLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  const request = parse(body, budget)
  // A member may be null, but not the request.
  if (request === null) throw invalidBody('The body must be an object.')
  return list(membersOf(request, 'The body').resourceLogs, 'resourceLogs').map((item) => {
    budget.group()
    const members = membersOf(item, 'resourceLogs')
    return {
      resource: attributesOf(membersOf(members.resource, 'resource').attributes, 1, budget),
      scopes: list(members.scopeLogs, 'scopeLogs').map((scopeLogs) => readScopeLogs(scopeLogs, budget)),
    }
  })
}

/** Also matches inside of strings, which costs a scan and nothing else. */
const mayHaveLongInteger = /[\s:,[]-?\d{16}/

function parse(body: Buffer, budget: OtlpBudget): unknown {
  const text = new TextDecoder().decode(body)
  const mustScan = body.length > otlpLimits.maxFields || mayHaveLongInteger.test(text)
  try {
    return JSON.parse(mustScan ? scan(text, budget) : text)
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The parser's message quotes the body, which may be long and must not be logged.
    throw invalidBody('The body is not valid JSON.')
  }
}

/** Counts values before the parser creates them, and quotes integers that a double may not hold, such as nanoseconds. */
function scan(text: string, budget: OtlpBudget): string {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes)
  const longIntegers: number[] = []
  scanner.longIntegers = longIntegers
  scanner.space()
  scanner.value()
  // Empty containers cost memory, too.
  budget.fields(scanner.values + scanner.emptyContainers)
  let quoted = ''
  let copiedTo = 0
  for (let at = 0; at < longIntegers.length; at += 2) {
    const [start, end] = [longIntegers[at] as number, longIntegers[at + 1] as number]
    quoted += `${bytes.toString('utf8', copiedTo, start)}"${bytes.toString('latin1', start, end)}"`
    copiedTo = end
  }
  return quoted + bytes.toString('utf8', copiedTo)
}

function readScopeLogs(value: unknown, budget: OtlpBudget): OtlpScopeLogs {
  budget.group()
  const members = membersOf(value, 'scopeLogs')
  const scope = membersOf(members.scope, 'scope')
  return {
    scope: {
      name: textOf(scope.name, 'name'),
      version: textOf(scope.version, 'version'),
      attributes: attributesOf(scope.attributes, 1, budget),
    },
    logs: list(members.logRecords, 'logRecords').map((record) => readLog(record, budget)),
  }
}

function readLog(value: unknown, budget: OtlpBudget): OtlpLog {
  budget.record()
  const log = membersOf(value, 'logRecords')
  return {
    timeNanos: integerOf(log.timeUnixNano, 'timeUnixNano', uint64),
    observedTimeNanos: integerOf(log.observedTimeUnixNano, 'observedTimeUnixNano', uint64),
    severityNumber: Number(integerOf(log.severityNumber, 'severityNumber', int32)),
    severityText: textOf(log.severityText, 'severityText'),
    body: anyValueOf(log.body, 1, budget),
    attributes: attributesOf(log.attributes, 1, budget),
    droppedAttributesCount: Number(integerOf(log.droppedAttributesCount, 'droppedAttributesCount', uint32)),
    flags: Number(integerOf(log.flags, 'flags', uint32)),
    traceId: idOf(log.traceId, 'traceId'),
    spanId: idOf(log.spanId, 'spanId'),
    eventName: textOf(log.eventName, 'eventName'),
  }
}

function attributesOf(value: unknown, depth: number, budget: OtlpBudget): Attributes | undefined {
  let attributes: Attributes | undefined
  for (const item of list(value, 'attributes')) {
    const member = membersOf(item, 'attributes')
    const memberValue = anyValueOf(member.value, depth, budget)
    attributes = withMember(attributes ?? {}, textOf(member.key, 'key'), memberValue)
  }
  return attributes
}

function anyValueOf(value: unknown, depth: number, budget: OtlpBudget): unknown {
  budget.value(depth)
  const members = membersOf(value, 'value')
  if (isPresent(members.stringValue)) return textOf(members.stringValue, 'stringValue')
  if (isPresent(members.boolValue)) {
    if (typeof members.boolValue !== 'boolean') throw invalidBody('boolValue must be true or false.')
    return members.boolValue
  }
  if (isPresent(members.intValue)) return integerValue(integerOf(members.intValue, 'intValue', int64))
  if (isPresent(members.doubleValue)) return doubleOf(members.doubleValue)
  if (isPresent(members.arrayValue)) {
    const { values } = membersOf(members.arrayValue, 'arrayValue')
    return list(values, 'arrayValue.values').map((item) => anyValueOf(item, depth + 1, budget))
  }
  if (isPresent(members.kvlistValue)) {
    return attributesOf(membersOf(members.kvlistValue, 'kvlistValue').values, depth + 1, budget) ?? {}
  }
  return isPresent(members.bytesValue) ? base64Of(members.bytesValue) : null
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function membersOf(value: unknown, name: string): Members {
  const members = value ?? {}
  if (typeof members !== 'object' || Array.isArray(members)) throw invalidBody(`${name} must be an object.`)
  return members as Members
}

function list(value: unknown, name: string): unknown[] {
  const items = value ?? []
  if (!Array.isArray(items)) throw invalidBody(`${name} must be an array.`)
  return items
}

function textOf(value: unknown, name: string): string {
  const text = value ?? ''
  if (typeof text !== 'string') throw invalidBody(`${name} must be a string.`)
  return text
}

function integerOf(value: unknown, name: string, range: { min: bigint; max: bigint }): bigint {
  if (!isPresent(value)) return 0n
  const isInteger = typeof value === 'string' ? /^-?\d{1,20}$/.test(value) : Number.isInteger(value)
  const integer = isInteger ? BigInt(value as string | number) : undefined
  if (integer === undefined || integer < range.min || integer > range.max) {
    throw invalidBody(`${name} must be an integer from ${range.min} to ${range.max}.`)
  }
  return integer
}

function doubleOf(value: unknown): number | string {
  if (typeof value === 'number') return doubleValue(value)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number) && value !== 'NaN') throw invalidBody('doubleValue must be a number.')
  return doubleValue(number)
}

function idOf(value: unknown, name: string): string {
  const id = textOf(value, name)
  if (!/^[0-9a-f]*$/i.test(id)) throw invalidBody(`${name} must be hexadecimal.`)
  return hexId(id)
}

function base64Of(value: unknown): string {
  const text = textOf(value, 'bytesValue')
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw invalidBody('bytesValue must be base64.')
  return Buffer.from(text, 'base64').toString('base64')
}
