export type Attributes = Record<string, unknown>

export const emptyLog = {
  /** Nanoseconds since 1970; 0 if unknown, as in the protocol. */
  timeNanos: 0n,
  observedTimeNanos: 0n,
  severityNumber: 0,
  severityText: '',
  /** null if there is none. */
  body: null as unknown,
  attributes: undefined as Attributes | undefined,
  droppedAttributesCount: 0,
  flags: 0,
  traceId: '',
  spanId: '',
  eventName: '',
}

export type OtlpLog = typeof emptyLog

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
  resource: Attributes | undefined
  scopes: OtlpScopeLogs[]
}

export interface OtlpRecord {
  /** The source that the record names; undefined if it names none. */
  source: string | undefined
  /** In the shape of POST /api/logs. Records share the attributes of their resource: read only. */
  entry: Record<string, unknown>
}

/** A longer structured body exceeds the limit of an entry anyway, so it is not copied into metadata. */
const maxKeptBodyLength = 2 ** 20

/** Returns a function that makes the records of one scope. */
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
    // Member by member: an object that starts as a copy of another is many times slower to fill.
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
    const project =
      named('wellhead.project') ??
      projectIn(log.attributes) ??
      projectIn(scope.attributes) ??
      projectIn(resource)
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
  // An event may consist of a name and attributes only.
  if (body === null) return eventName
  return isStructured(body) ? JSON.stringify(body) : String(body)
}

function isStructured(body: unknown): boolean {
  return typeof body === 'object' && body !== null
}

function projectIn(attributes: Attributes | undefined): string | undefined {
  return nameIn(attributes, 'project') ?? nameIn(attributes, 'project_ref')
}

function nameIn(attributes: Attributes | undefined, key: string): string | undefined {
  const value = attributes?.[key]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** As text, because the unit of a number would be guessed from its size. Caches the second that most records share. */
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

export function integerValue(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Text for NaN, infinity, and doubles that JSON would write as an integer beyond 64 bits, which the engine cannot read. */
export function doubleValue(value: number): number | string {
  const size = Math.abs(value)
  return Number.isFinite(value) && (size < 2 ** 63 || size >= 1e21) ? value : String(value)
}

/** Keys are data: __proto__ becomes a member like any other. */
export function withMember(target: Attributes, key: string, value: unknown): Attributes {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    target[key] = value
  }
  return target
}

/** An id of zeros means that there is none. */
export function hexId(hex: string): string {
  return /[^0]/.test(hex) ? hex.toLowerCase() : ''
}
