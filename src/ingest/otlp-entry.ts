import type { Attributes } from './otlp-value.ts'

export interface OtlpLog {
  /** Nanoseconds since 1970; 0 is unknown, as in the protocol. */
  timeNanos: bigint
  observedTimeNanos: bigint
  severityNumber: number
  severityText: string
  body: unknown
  attributes: Attributes
  droppedAttributesCount: number
  flags: number
  traceId: string
  spanId: string
  eventName: string
}

export interface OtlpScope {
  name: string
  version: string
  attributes: Attributes
}

export interface OtlpScopeLogs {
  scope: OtlpScope
  logs: OtlpLog[]
}

export interface OtlpResourceLogs {
  resource: Attributes
  scopes: OtlpScopeLogs[]
}

export interface OtlpRecord {
  /** The source that the record names by itself; undefined leaves it to the request. */
  source: string | undefined
  /** In the shape that POST /api/logs takes. Records of one resource share its attributes: read only. */
  entry: Record<string, unknown>
}

/** An entry with a longer text is over the limit of an entry, and a second copy of it would serve nobody. */
const maxKeptBodyLength = 2 ** 20

/** What the records of one scope have in common, made once for all of them. */
export interface SharedMetadata {
  resource?: Attributes
  scope?: Record<string, unknown>
}

export function sharedMetadata(resource: Attributes, scope: OtlpScope): SharedMetadata {
  const shared: SharedMetadata = {}
  if (!isEmpty(resource)) shared.resource = resource
  const scopeMembers: Record<string, unknown> = {}
  if (scope.name !== '') scopeMembers.name = scope.name
  if (scope.version !== '') scopeMembers.version = scope.version
  if (!isEmpty(scope.attributes)) scopeMembers.attributes = scope.attributes
  if (!isEmpty(scopeMembers)) shared.scope = scopeMembers
  return shared
}

export function toRecord(
  log: OtlpLog,
  scope: OtlpScope,
  resource: Attributes,
  shared: SharedMetadata,
): OtlpRecord {
  const named = (key: string) =>
    nameIn(log.attributes, key) ?? nameIn(scope.attributes, key) ?? nameIn(resource, key)
  const metadata: Record<string, unknown> = { ...shared }
  const message = messageOf(log)
  const isStructured = typeof log.body === 'object' && log.body !== null
  if (isStructured && message.length <= maxKeptBodyLength) metadata.body = log.body
  if (!isEmpty(log.attributes)) metadata.attributes = log.attributes
  if (log.severityNumber !== 0) metadata.severity_number = log.severityNumber
  if (log.severityText !== '') metadata.severity_text = log.severityText
  if (log.traceId !== '') metadata.trace_id = log.traceId
  if (log.spanId !== '') metadata.span_id = log.spanId
  if (log.flags !== 0) metadata.flags = log.flags
  if (log.eventName !== '') metadata.event_name = log.eventName
  if (log.droppedAttributesCount !== 0) metadata.dropped_attributes_count = log.droppedAttributesCount
  if (log.observedTimeNanos !== 0n) metadata.observed_timestamp = isoMicros(log.observedTimeNanos)

  const entry: Record<string, unknown> = { event_message: message }
  const time = log.timeNanos || log.observedTimeNanos
  if (time !== 0n) entry.timestamp = isoMicros(time)
  const project = named('wellhead.project')
  if (project !== undefined) entry.project = project
  entry.metadata = metadata
  return { source: named('wellhead.source'), entry }
}

function messageOf(log: OtlpLog): string {
  const { body } = log
  if (typeof body === 'string') return body
  // An event may consist of its name and attributes alone.
  if (body === null) return log.eventName
  return typeof body === 'object' ? JSON.stringify(body) : String(body)
}

function nameIn(attributes: Attributes, key: string): string | undefined {
  const value = attributes[key]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A text, because the unit of a bare integer would be guessed from its size. */
function isoMicros(nanos: bigint): string {
  const micros = nanos / 1000n
  const toMillis = new Date(Number(micros / 1000n)).toISOString().slice(0, -1)
  return `${toMillis}${String(micros % 1000n).padStart(3, '0')}Z`
}

function isEmpty(members: object): boolean {
  for (const _ in members) return false
  return true
}
