import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { OtlpBudget } from './budget.ts'
import { readJsonLogs } from './json.ts'
import { readProtobufLogs } from './protobuf.ts'
import { type OtlpRecord, recordMaker } from './record.ts'

export type OtlpEncoding = 'protobuf' | 'json'

/** The records of an ExportLogsServiceRequest, in the order in which they were sent. */
export function decodeOtlpLogs(body: Buffer, encoding: OtlpEncoding): OtlpRecord[] {
  const budget = new OtlpBudget()
  const read = encoding === 'protobuf' ? readProtobufLogs : readJsonLogs
  const records: OtlpRecord[] = []
  for (const { resource, scopes } of read(body, budget)) {
    const total = scopes.reduce((count, { logs }) => count + logs.length, 0)
    budget.repeat(resource, total)
    for (const { scope, logs } of scopes) {
      budget.repeat(scope, logs.length)
      const toRecord = recordMaker(resource, scope)
      for (const log of logs) records.push(toRecord(log))
    }
  }
  return records
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
