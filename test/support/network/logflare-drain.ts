import { readFileSync } from 'node:fs'
import { createFileRegistry, type DescMessage, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'

/** OpenTelemetry's own definitions of 1.9, compiled by buf. */
const definitions = readFileSync(new URL('opentelemetry-logs.binpb', import.meta.url))
const request = createFileRegistry(fromBinary(FileDescriptorSetSchema, definitions)).getMessage(
  'opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest',
) as DescMessage

type Event = Record<string, unknown>

function anyValueOf(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValueOf) } }
  return value === null ? {} : { kvlistValue: { values: pairsOf(value as Event) } }
}

function pairsOf(members: Event): object[] {
  return Object.entries(members).map(([key, value]) => ({ key, value: anyValueOf(value) }))
}

/** Ids are sent as their text, or as their bytes. */
function idOf(id: unknown): string | undefined {
  return typeof id === 'string' ? Buffer.from(id).toString('base64') : undefined
}

function recordOf(event: Event): object {
  const { timestamp, event_message, attributes, trace_id, span_id, severity_number, severity_text, ...body } =
    event
  return {
    ...(timestamp !== undefined && { timeUnixNano: `${timestamp}000` }),
    observedTimeUnixNano: `${Date.now()}000000`,
    eventName: event_message,
    body: anyValueOf(body),
    attributes: pairsOf((attributes ?? {}) as Event),
    ...{ traceId: idOf(trace_id), spanId: idOf(span_id) },
    ...{ severityNumber: severity_number, severityText: severity_text },
  }
}

const ownAttributes = { name: 'Logflare', service: 'Logflare', node: 'logflare@10.0.0.1', cluster: 'prod' }

/** The request that Logflare's OTLP drain sends for events of one source. */
export function logflareDrain(
  source: string,
  events: readonly Event[],
  resource: Event = ownAttributes,
): Uint8Array<ArrayBuffer> {
  const scopeLogs = [{ scope: { name: source, version: '1.30.0' }, logRecords: events.map(recordOf) }]
  const resourceLogs = [{ resource: { attributes: pairsOf(resource) }, scopeLogs }]
  return new Uint8Array(toBinary(request, fromJson(request, JSON.parse(JSON.stringify({ resourceLogs })))))
}
