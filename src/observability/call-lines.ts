import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/text/timestamps.ts'
import type { CallRecord, CallSubject } from './call-record.ts'

/** A batch of at most this many records is stored as one entry each; a larger batch shares entries. */
const maxOwnEntries = 500

/** Durations within this logarithmic step share an entry. */
const durationStep = Math.log(1.05)

/** The counts are sums over all records of the entry; all other values apply to each of them. */
interface Entry {
  call: CallRecord
  calls: number
  rows: number
  bytes: number
}

/**
 * Entries of the source of requests, as lines of JSON. In a large batch, requests that did not reach the engine share an
 * entry if they differ by only a few percent of their duration. 20,000 requests a second become a few hundred entries,
 * and all counts stay exact.
 */
export function callLines(
  records: readonly CallRecord[],
  toWallMs: (monotonicMs: number) => number,
): string[] {
  const entries = records.length <= maxOwnEntries ? records.map(entryOf) : sharedEntries(records)
  return entries.map((entry) => lineOf(entry, toWallMs(entry.call.endedAt)))
}

function sharedEntries(records: readonly CallRecord[]): Entry[] {
  const own: Entry[] = []
  const shared = new Map<string, Entry>()
  const subjectIds = subjectNumbers()
  for (const record of records) {
    if (record.engineMs > 0) {
      own.push(entryOf(record))
      continue
    }
    const step = Math.round(Math.log(Math.max(record.totalMs, 0.001)) / durationStep)
    const key = `${step} ${record.status} ${record.cache} ${subjectIds(record.subject)} ${record.code}`
    const entry = shared.get(key)
    if (entry === undefined) shared.set(key, entryOf({ ...record, totalMs: Math.exp(step * durationStep) }))
    else {
      entry.calls++
      entry.rows += record.rows
      entry.bytes += record.bytes
    }
  }
  return [...own, ...shared.values()]
}

function entryOf(call: CallRecord): Entry {
  return { call, calls: 1, rows: call.rows, bytes: call.bytes }
}

/** Numbers equal subjects alike. Cache hits share their subject's object, which is much faster to look up than its text. */
function subjectNumbers(): (subject: CallSubject) => number {
  const byObject = new Map<CallSubject, number>()
  const byText = new Map<string, number>()
  return (subject) => {
    let id = byObject.get(subject)
    if (id === undefined) {
      const { endpoint, endpointId, version, tokenId, project, method, format } = subject
      const text = `${endpointId} ${version} ${tokenId} ${method} ${format} ${project} ${endpoint}`
      id = byText.get(text) ?? byText.size
      byText.set(text, id)
      byObject.set(subject, id)
    }
    return id
  }
}

function lineOf({ call, calls, rows, bytes }: Entry, wallMs: number): string {
  const { subject, status, cache, code } = call
  const { endpoint, method } = subject
  const row = {
    project: subject.project,
    id: uuidv7({ msecs: Math.floor(wallMs) }),
    timestamp: formatMicros(BigInt(Math.round(wallMs * 1000))),
    event_message: `${method} ${endpoint} ${status}${cache === 'none' ? '' : ` ${cache}`}`,
    metadata: {
      endpoint,
      endpoint_id: subject.endpointId,
      version: subject.version,
      token_id: subject.tokenId,
      method,
      status,
      cache,
      calls,
      rows,
      bytes,
      engine_ms: rounded(call.engineMs),
      total_ms: rounded(call.totalMs),
      format: subject.format,
      ...(code !== '' && { code }),
    },
  }
  return `${JSON.stringify(row)}\n`
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
