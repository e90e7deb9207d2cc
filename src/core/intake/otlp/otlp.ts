import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { OtlpBudget } from './budget.ts'
import { parseJson } from './json.ts'
import { readProtobuf } from './protobuf.ts'
import { type OtlpRecord, recordsOf } from './records.ts'

export type OtlpEncoding = 'protobuf' | 'json'

/** The records of an ExportLogsServiceRequest, in the order in which they were sent. */
export function decodeOtlpLogs(body: Buffer, encoding: OtlpEncoding): OtlpRecord[] {
  const budget = new OtlpBudget()
  const read = encoding === 'protobuf' ? readProtobuf : parseJson
  return recordsOf(read(body, budget), budget)
}

/** The record in the form of POST /api/logs. Keys that it has twice are left to the reader of entries. */
export function entryText({ entry, more = {} }: OtlpRecord): Buffer {
  const [text, rest] = [JSON.stringify(entry), JSON.stringify(more)]
  if (rest === '{}') return Buffer.from(text)
  return Buffer.from(text === '{}' ? rest : `${text.slice(0, -1)},${rest.slice(1)}`)
}

/** ExportLogsServiceResponse; empty if nothing was rejected, as the protocol requires. */
export function encodeOtlpResponse(encoding: OtlpEncoding, rejected: number, message: string): Buffer {
  if (encoding === 'json') {
    // The JSON form of protobuf writes 64-bit integers as strings.
    const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage: message }
    return Buffer.from(JSON.stringify(rejected === 0 ? {} : { partialSuccess }))
  }
  const writer = new BinaryWriter()
  if (rejected > 0) {
    writer.tag(1, WireType.LengthDelimited).fork()
    writer.tag(1, WireType.Varint).int64(rejected)
    writer.tag(2, WireType.LengthDelimited).string(message)
    writer.join()
  }
  return Buffer.from(writer.finish())
}

/** google.rpc.Status, the body of every error. */
export function encodeOtlpError(encoding: OtlpEncoding, message: string): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ message }))
  return Buffer.from(new BinaryWriter().tag(2, WireType.LengthDelimited).string(message).finish())
}
