import { invalidBody } from '../../base/errors.ts'
import { readTimestamp } from '../entry-timestamp.ts'
import type { OtlpBudget } from './budget.ts'
import { idBytes } from './id-text.ts'

type Members = Record<string, unknown>

type Scope = { name?: string; version?: string; attributes?: Members }

export interface OtlpRecord {
  /** The source that the record names; undefined if it names none. */
  source: string | undefined
  /** In the shape of POST /api/logs. Records share the attributes of their resource: read only. */
  entry: Members
  /** Of an event: more members of the entry, whose keys the event may have too. */
  more?: Members
  /** Of an event: whether its `project` counts only if nothing else in it names one. */
  isProjectLast?: boolean
  /** What may be the name of a source. */
  scopeName?: string
  /** Why the record cannot be stored. */
  problem?: string
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const uint64 = { min: 0n, max: 2n ** 64n - 1n }
const int32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n }
const uint32 = { min: 0n, max: 2n ** 32n - 1n }

/** The length of an id as text, or in hex. */
const maxIdLength = 64

/** A longer structured body exceeds the limit of an entry anyway, so it is not copied into metadata. */
const maxKeptBodyLength = 2 ** 20

/** The records of ExportLogsServiceRequest in OTLP's JSON: names in lowerCamelCase, ids in hex, null as absent. */
export function recordsOf(request: unknown, budget: OtlpBudget): OtlpRecord[] {
  return list(membersOf(request, 'The body').resourceLogs, 'resourceLogs').flatMap((item) => {
    budget.group()
    const members = membersOf(item, 'resourceLogs')
    const resource = attributesOf(membersOf(members.resource, 'resource').attributes, 1, budget)
    const records = list(members.scopeLogs, 'scopeLogs').flatMap((scopeLogs) =>
      recordsOfScope(scopeLogs, resource, budget),
    )
    budget.repeat(resource, records.length)
    return records
  })
}

function recordsOfScope(value: unknown, resource: Members | undefined, budget: OtlpBudget): OtlpRecord[] {
  budget.group()
  const members = membersOf(value, 'scopeLogs')
  const { name, version, attributes } = membersOf(members.scope, 'scope')
  const scope = present({
    name: textOf(name, 'name'),
    version: textOf(version, 'version'),
    attributes: attributesOf(attributes, 1, budget),
  })
  const logs = list(members.logRecords, 'logRecords')
  budget.repeat(scope, logs.length)
  const inScope = Object.keys(scope).length > 0 ? (scope as Scope) : undefined
  return logs.map((log) => recordOf(log, inScope, resource, budget))
}

function recordOf(
  value: unknown,
  scope: Scope | undefined,
  resource: Members | undefined,
  budget: OtlpBudget,
): OtlpRecord {
  budget.record()
  const log = membersOf(value, 'logRecords')
  const body = anyValueOf(log.body, 1, budget)
  const attributes = attributesOf(log.attributes, 1, budget)
  const eventName = textOf(log.eventName, 'eventName')
  const observedTime = integerOf(log.observedTimeUnixNano, 'observedTimeUnixNano', uint64)
  const time = integerOf(log.timeUnixNano, 'timeUnixNano', uint64)
  const traceId = idOf(log.traceId, 'traceId')
  const spanId = idOf(log.spanId, 'spanId')
  const fields = present({
    resource,
    scope,
    attributes,
    severity_number: Number(integerOf(log.severityNumber, 'severityNumber', int32)),
    severity_text: textOf(log.severityText, 'severityText'),
    trace_id: traceId,
    span_id: spanId,
    flags: Number(integerOf(log.flags, 'flags', uint32)),
    event_name: eventName,
    dropped_attributes_count: Number(integerOf(log.droppedAttributesCount, 'droppedAttributesCount', uint32)),
    observed_timestamp: isoMicros(observedTime),
  })
  const places = [attributes, scope?.attributes, resource]
  const named = {
    source: nameIn(places, 'wellhead.source'),
    ...scopeNameOf(scope, resource),
    ...(Math.max(traceId.length, spanId.length) > maxIdLength && {
      problem: `trace_id or span_id is longer than ${maxIdLength} characters`,
    }),
  }
  const ownProject = nameIn(places, 'wellhead.project')
  const project = ownProject ?? nameIn(places, 'project', 'project_ref')
  const isStructured = typeof body === 'object' && body !== null
  if (isStructured && !Array.isArray(body) && eventName !== '') {
    const event = body as Members
    const times = { time: isoMicros(time), observed: isoMicros(observedTime) }
    const isProjectLast = ownProject === undefined && !isPresent(event.project)
    const entry = eventOf(event, fields, times, isProjectLast ? project : ownProject)
    return { ...named, ...entry, isProjectLast }
  }
  // An event may consist of a name and attributes only.
  const message = isStructured ? JSON.stringify(body) : String(body ?? eventName)
  const kept = isStructured && message.length <= maxKeptBodyLength ? { body } : {}
  const timestamp = isoMicros(time || observedTime)
  const metadata = { ...fields, ...kept }
  return { ...named, entry: { event_message: message, ...present({ timestamp, project }), metadata } }
}

/** Logflare sends the name of a source as the scope, and since 2026 as the service. */
function scopeNameOf(scope: Scope | undefined, resource: Members | undefined): Pick<OtlpRecord, 'scopeName'> {
  const name = scope?.name === 'Logflare' ? resource?.['service.name'] : scope?.name
  return typeof name === 'string' ? { scopeName: name } : {}
}

/** An event as it was before it became a record: its body has its fields, and the name of the record is its message. */
function eventOf(
  event: Members,
  { event_name, ...fields }: Members,
  { time, observed }: { time: string | undefined; observed: string | undefined },
  project: string | undefined,
): Pick<OtlpRecord, 'entry' | 'more'> {
  const hasText = [event.event_message, event.message, event.msg].some(
    (text) => typeof text === 'string' && text !== '',
  )
  const first = present({
    event_message: hasText ? undefined : event_name,
    timestamp: time ?? (isPresent(event.timestamp) ? undefined : observed),
    project,
  })
  const more: Members = hasText ? { event_name, ...fields } : fields
  const entry: Members = { ...first }
  for (const key of Object.keys(event)) {
    // Records of Logflare have the time of the event once or twice.
    const isRepeated = key === 'timestamp' && first.timestamp !== undefined && isSameTime(event, first)
    if (isRepeated) continue
    define(Object.hasOwn(first, key) ? more : entry, key, event[key])
  }
  return { entry, more }
}

function isSameTime(event: Members, record: Members): boolean {
  const [one, other] = [event, record].map(({ timestamp }) => readTimestamp(timestamp))
  return one !== undefined && BigInt(one) === BigInt(other as number | bigint)
}

/** The protocol does not distinguish zero and empty text from what was not sent. */
function present(members: Members): Members {
  const kept: Members = {}
  for (const name in members) {
    const value = members[name]
    if (value !== undefined && value !== '' && value !== 0) kept[name] = value
  }
  return kept
}

/** The first of these attributes that the record has, or else its scope, or else its resource. */
function nameIn(places: readonly (Members | undefined)[], ...keys: string[]): string | undefined {
  for (const place of places) {
    for (const key of keys) {
      const value = place?.[key]
      if (typeof value === 'number') return String(value)
      if (typeof value === 'string' && value !== '') return value
    }
  }
  return undefined
}

/** As text, because the unit of a number would be guessed from its size. Undefined for 0, which means unknown. */
function isoMicros(nanos: bigint): string | undefined {
  if (nanos === 0n) return undefined
  const micros = String((nanos / 1_000n) % 1_000n).padStart(3, '0')
  return `${new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, -1)}${micros}Z`
}

function attributesOf(value: unknown, depth: number, budget: OtlpBudget): Members | undefined {
  const items = list(value, 'attributes')
  if (items.length === 0) return undefined
  const attributes: Members = {}
  for (const item of items) {
    const member = membersOf(item, 'attributes')
    const key = textOf(member.key, 'key')
    const memberValue = anyValueOf(member.value, depth, budget)
    define(attributes, key, memberValue)
  }
  return attributes
}

const dataProperty = { enumerable: true, configurable: true, writable: true }

/** Keys are data: __proto__ becomes a member like any other. */
function define(members: Members, key: string, value: unknown): void {
  if (key !== '__proto__') members[key] = value
  else Object.defineProperty(members, key, { ...dataProperty, value })
}

function anyValueOf(value: unknown, depth: number, budget: OtlpBudget): unknown {
  budget.value(depth)
  const members = membersOf(value, 'value')
  if (isPresent(members.stringValue)) return textOf(members.stringValue, 'stringValue')
  if (isPresent(members.boolValue)) {
    if (typeof members.boolValue !== 'boolean') throw invalidBody('boolValue must be true or false.')
    return members.boolValue
  }
  if (isPresent(members.intValue)) {
    const integer = integerOf(members.intValue, 'intValue', int64)
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : String(integer)
  }
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
  const isInteger =
    typeof value === 'string'
      ? /^-?\d{1,20}$/.test(value)
      : typeof value === 'bigint' || Number.isInteger(value)
  const integer = isInteger ? BigInt(value as string | number | bigint) : undefined
  if (integer === undefined || integer < range.min || integer > range.max) {
    throw invalidBody(`${name} must be an integer from ${range.min} to ${range.max}.`)
  }
  return integer
}

/** Text for NaN, infinity, and doubles that JSON would write as an integer beyond 64 bits, which the engine cannot read. */
function doubleOf(value: unknown): number | string {
  const isText = typeof value === 'string' && value.trim() !== ''
  const number = typeof value === 'number' || isText ? Number(value) : Number.NaN
  if (typeof value !== 'number' && value !== 'NaN' && Number.isNaN(number)) {
    throw invalidBody('doubleValue must be a number.')
  }
  const size = Math.abs(number)
  return Number.isFinite(number) && (size < 2 ** 63 || size >= 1e21) ? number : String(number)
}

/** Any text, because some senders have ids of their own; those of the protocol in lowercase. Zeros mean that there is none. */
function idOf(value: unknown, name: 'traceId' | 'spanId'): string {
  const id = textOf(value, name)
  if (!/[^0]/.test(id)) return ''
  return id.length === 2 * idBytes[name] && /^[0-9a-f]*$/i.test(id) ? id.toLowerCase() : id
}

function base64Of(value: unknown): string {
  const text = textOf(value, 'bytesValue')
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw invalidBody('bytesValue must be base64.')
  return Buffer.from(text, 'base64').toString('base64')
}
