import type { Attributes } from './value.ts'

export interface OtlpLog {
  /** Nanoseconds since 1970; 0 is unknown, as in the protocol. */
  timeNanos: bigint
  observedTimeNanos: bigint
  severityNumber: number
  severityText: string
  /** null: there is none. */
  body: unknown
  attributes: Attributes | undefined
  droppedAttributesCount: number
  flags: number
  traceId: string
  spanId: string
  eventName: string
}

export interface OtlpScope {
  name: string
  version: string
  attributes: Attributes | undefined
}

export interface OtlpScopeLogs {
  scope: OtlpScope
  logs: OtlpLog[]
}

export interface OtlpResourceLogs {
  /** Its attributes. */
  resource: Attributes | undefined
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

/** Makes the entries of one scope; what they have in common is made once. */
export function recordMaker(
  resource: Attributes | undefined,
  scope: OtlpScope,
): (log: OtlpLog) => OtlpRecord {
  const scopeMembers = membersOfScope(scope)
  const iso = isoMicros()
  return (log) => {
    const named = (key: string) =>
      nameIn(log.attributes, key) ?? nameIn(scope.attributes, key) ?? nameIn(resource, key)
    const message = messageOf(log)
    // Member by member: an object that starts as a copy of another one is many times slower to fill.
    const metadata: Record<string, unknown> = {}
    if (resource) metadata.resource = resource
    if (scopeMembers) metadata.scope = scopeMembers
    if (isStructured(log.body) && message.length <= maxKeptBodyLength) metadata.body = log.body
    if (log.attributes) metadata.attributes = log.attributes
    if (log.severityNumber !== 0) metadata.severity_number = log.severityNumber
    if (log.severityText !== '') metadata.severity_text = log.severityText
    if (log.traceId !== '') metadata.trace_id = log.traceId
    if (log.spanId !== '') metadata.span_id = log.spanId
    if (log.flags !== 0) metadata.flags = log.flags
    if (log.eventName !== '') metadata.event_name = log.eventName
    if (log.droppedAttributesCount !== 0) metadata.dropped_attributes_count = log.droppedAttributesCount
    if (log.observedTimeNanos !== 0n) metadata.observed_timestamp = iso(log.observedTimeNanos)

    const entry: Record<string, unknown> = { event_message: message }
    const time = log.timeNanos || log.observedTimeNanos
    if (time !== 0n) entry.timestamp = iso(time)
    const project = named('wellhead.project')
    if (project !== undefined) entry.project = project
    entry.metadata = metadata
    return { source: named('wellhead.source'), entry }
  }
}

function membersOfScope({ name, version, attributes }: OtlpScope): Record<string, unknown> | undefined {
  if (name === '' && version === '' && !attributes) return undefined
  return {
    ...(name !== '' && { name }),
    ...(version !== '' && { version }),
    ...(attributes && { attributes }),
  }
}

function messageOf({ body, eventName }: OtlpLog): string {
  if (typeof body === 'string') return body
  // An event may consist of its name and attributes alone.
  if (body === null) return eventName
  return isStructured(body) ? JSON.stringify(body) : String(body)
}

function isStructured(body: unknown): boolean {
  return typeof body === 'object' && body !== null
}

function nameIn(attributes: Attributes | undefined, key: string): string | undefined {
  const value = attributes?.[key]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Times as text, because the unit of a bare integer would be guessed from its size. Most records are of the second
 * of the one before, and to make the text of a second is what takes long.
 */
function isoMicros(): (nanos: bigint) => string {
  let secondsOfText = -1
  let text = ''
  return (nanos) => {
    const seconds = Number(nanos / 1_000_000_000n)
    if (seconds !== secondsOfText) {
      text = new Date(seconds * 1000).toISOString().slice(0, -4)
      secondsOfText = seconds
    }
    const micros = Math.floor(Number(nanos % 1_000_000_000n) / 1000)
    return `${text}${String(micros).padStart(6, '0')}Z`
  }
}
