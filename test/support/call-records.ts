import type { RequestRecord } from '../../src/core/http/request-record.ts'

/** A cache hit by default. */
export function callRecord(fields: Partial<RequestRecord> = {}): RequestRecord {
  return {
    endpoint: 'logs.all',
    endpointId: 'de267b0d-59a4-4f82-ba4c-f499a8ff0db7',
    version: 3,
    tokenId: 'a-token',
    project: 'blue',
    method: 'GET',
    format: 'json',
    requestId: 'a-request',
    status: 200,
    cache: 'hit',
    totalMs: 0.1,
    engineMs: 0,
    rows: 2,
    bytes: 100,
    rowsRead: 0,
    code: '',
    ...fields,
  }
}
