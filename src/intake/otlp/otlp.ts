import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type OtlpRecord, type OtlpResourceLogs, recordMaker } from './entry.ts'
import { readJsonLogs } from './json.ts'
import { readProtobufLogs } from './protobuf.ts'
import { OtlpBudget } from './value.ts'

export type OtlpEncoding = 'protobuf' | 'json'

/** The records of an ExportLogsServiceRequest, in the order in which they were sent. */
export function decodeOtlpLogs(body: Buffer, encoding: OtlpEncoding): OtlpRecord[] {
  const budget = new OtlpBudget()
  const sent = encoding === 'protobuf' ? readProtobufLogs(body, budget) : readJsonLogs(body, budget)
  const records: OtlpRecord[] = []
  for (const resourceLogs of sent) addRecords(resourceLogs, budget, records)
  return records
}

function addRecords({ resource, scopes }: OtlpResourceLogs, budget: OtlpBudget, records: OtlpRecord[]): void {
  budget.repeat(
    resource,
    scopes.reduce((count, { logs }) => count + logs.length, 0),
  )
  for (const { scope, logs } of scopes) {
    budget.repeat(scope, logs.length)
    const toRecord = recordMaker(resource, scope)
    for (const log of logs) records.push(toRecord(log))
  }
}

/** ExportLogsServiceResponse: empty when everything was taken, as the protocol wants it. */
export function encodeOtlpResponse(encoding: OtlpEncoding, rejected: number, message: string): Buffer {
  if (encoding === 'json') {
    // An integer of 64 bits is a text in the JSON of protobuf.
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

/** google.rpc.Status, the body of every answer that is no success. */
export function encodeOtlpError(encoding: OtlpEncoding, message: string): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ message }))
  return Buffer.from(new BinaryWriter().tag(2, WireType.LengthDelimited).string(message).finish())
}
