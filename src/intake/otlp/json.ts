import { invalidBody } from '../../base/errors.ts'
import type { OtlpLog, OtlpResourceLogs, OtlpScopeLogs } from './entry.ts'
import { countMarks, parseExactly } from './json-parse.ts'
import { type Attributes, doubleValue, hexId, integerValue, type OtlpBudget, withMember } from './value.ts'

type Members = Record<string, unknown>

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const uint64 = { min: 0n, max: 2n ** 64n - 1n }
const int32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n }
const uint32 = { min: 0n, max: 2n ** 32n - 1n }

/** Reads ExportLogsServiceRequest in the JSON of OTLP: names in lowerCamelCase, ids in hex, null as absent. */
export function readJsonLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  countMarks(body, budget)
  const request = membersOf(parse(body), 'The body')
  return list(request.resourceLogs, 'resourceLogs').map((item) => {
    budget.group()
    const members = membersOf(item, 'resourceLogs')
    return {
      resource: attributesOf(membersOf(members.resource, 'resource').attributes, 1, budget),
      scopes: list(members.scopeLogs, 'scopeLogs').map((scopeLogs) => readScopeLogs(scopeLogs, budget)),
    }
  })
}

function parse(body: Buffer): unknown {
  const text = new TextDecoder().decode(body)
  let parsed: unknown
  try {
    parsed = parseExactly(text)
  } catch {
    // The parser's message quotes the body, which may be long and is not for a log.
    throw invalidBody('The body is not valid JSON.')
  }
  // A member may be null, but a request that is null says nothing.
  if (parsed === null) throw invalidBody('The body must be an object.')
  return parsed
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
    const held = anyValueOf(member.value, depth, budget)
    attributes = withMember(attributes ?? {}, textOf(member.key, 'key'), held)
  }
  return attributes
}

function anyValueOf(value: unknown, depth: number, budget: OtlpBudget): unknown {
  budget.value(depth)
  const members = membersOf(value, 'value')
  if (isGiven(members.stringValue)) return textOf(members.stringValue, 'stringValue')
  if (isGiven(members.boolValue)) {
    if (typeof members.boolValue !== 'boolean') throw invalidBody('boolValue must be true or false.')
    return members.boolValue
  }
  if (isGiven(members.intValue)) return integerValue(integerOf(members.intValue, 'intValue', int64))
  if (isGiven(members.doubleValue)) return doubleOf(members.doubleValue)
  if (isGiven(members.arrayValue)) {
    const { values } = membersOf(members.arrayValue, 'arrayValue')
    return list(values, 'arrayValue.values').map((item) => anyValueOf(item, depth + 1, budget))
  }
  if (isGiven(members.kvlistValue)) {
    return attributesOf(membersOf(members.kvlistValue, 'kvlistValue').values, depth + 1, budget) ?? {}
  }
  return isGiven(members.bytesValue) ? base64Of(members.bytesValue) : null
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function membersOf(value: unknown, name: string): Members {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidBody(`${name} must be an object.`)
  return value as Members
}

function list(value: unknown, name: string): unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw invalidBody(`${name} must be an array.`)
  return value
}

function textOf(value: unknown, name: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw invalidBody(`${name} must be text.`)
  return value
}

function integerOf(value: unknown, name: string, range: { min: bigint; max: bigint }): bigint {
  if (value === undefined || value === null) return 0n
  const isInteger = typeof value === 'string' ? /^-?\d{1,20}$/.test(value) : Number.isInteger(value)
  const integer = isInteger ? BigInt(value as string | number) : undefined
  if (integer === undefined || integer < range.min || integer > range.max) {
    throw invalidBody(`${name} must be an integer from ${range.min} to ${range.max}.`)
  }
  return integer
}

function doubleOf(value: unknown): number | string {
  if (typeof value === 'number') return doubleValue(value)
  const isNaNText = value === 'NaN'
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number) && !isNaNText) throw invalidBody('doubleValue must be a number.')
  return doubleValue(number)
}

function idOf(value: unknown, name: string): string {
  const id = textOf(value, name)
  if (!/^[0-9a-f]*$/i.test(id)) throw invalidBody(`${name} must be in hex.`)
  return hexId(id)
}

function base64Of(value: unknown): string {
  const text = textOf(value, 'bytesValue')
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw invalidBody('bytesValue must be base64.')
  return Buffer.from(text, 'base64').toString('base64')
}
