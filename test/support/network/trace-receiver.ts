import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

export interface ReceivedSpan {
  service: string
  name: string
  traceId: string
  spanId: string
  parentId: string
  startNanos: bigint
  endNanos: bigint
  /** Attributes that are text. */
  attributes: Record<string, string>
}

/** An OpenTelemetry collector: receives spans as OTLP over HTTP in protobuf. */
export async function openTraceReceiver() {
  const spans: ReceivedSpan[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const packed = request.headers['content-encoding'] === 'gzip'
    spans.push(...spansIn(packed ? gunzipSync(body) : body))
    response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Field numbers are those of the OTLP schema. */
function spansIn(body: Uint8Array): ReceivedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const attributes = messages(resourceSpans, 1).flatMap((resource) => messages(resource, 1))
    const name = attributes.find((attribute) => text(attribute, 1) === 'service.name')
    const service = name ? text(messages(name, 2)[0] as Uint8Array, 1) : ''
    const found = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2))
    return found.map((span) => ({
      service,
      name: text(span, 5),
      traceId: hex(messages(span, 1)[0]),
      spanId: hex(messages(span, 2)[0]),
      parentId: hex(messages(span, 4)[0]),
      startNanos: instant(span, 7),
      endNanos: instant(span, 8),
      attributes: Object.fromEntries(
        messages(span, 9).map((pair) => [text(pair, 1), text(messages(pair, 2)[0] as Uint8Array, 1)]),
      ),
    }))
  })
}

function messages(body: Uint8Array, wanted: number): Uint8Array[] {
  const found: Uint8Array[] = []
  const reader = new BinaryReader(body)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted && type === WireType.LengthDelimited) found.push(reader.bytes())
    else reader.skip(type, field)
  }
  return found
}

function instant(body: Uint8Array, wanted: number): bigint {
  const reader = new BinaryReader(body)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted && type === WireType.Bit64) return BigInt(reader.fixed64())
    reader.skip(type, field)
  }
  return 0n
}

function text(body: Uint8Array, field: number): string {
  return Buffer.from(messages(body, field)[0] ?? []).toString()
}

function hex(bytes: Uint8Array = new Uint8Array()): string {
  return Buffer.from(bytes).toString('hex')
}
