import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/text/timestamps.ts'
import type { CallRecord, CallSubject } from './call-record.ts'

/** A batch of at most this many records is stored as one entry each; a larger batch shares entries. */
const maxOwnEntries = 500

/** Durations within this logarithmic step share an entry. */
const durationStep = Math.log(1.05)

/** Entries that are turned into lines without a pause; each takes some microseconds. */
const entriesPerSlice = 200

/** The counts are sums over all records of the entry; all other values apply to each of them. */
interface Entry {
  call: CallRecord
  wallMs: number
  calls: number
  rows: number
  bytes: number
}

/** In a large batch, requests without the engine share an entry if they took about as long. All counts stay exact. */
export class CallEntries {
  /** Requests that have an entry, and the time of the first response among them. */
  calls = 0
  earliestMs = Number.POSITIVE_INFINITY
  readonly #maxEntries: number
  #own: Entry[] = []
  /** Undefined while the batch is small. */
  #shared: Map<string, Entry> | undefined
  readonly #subjectNumber = subjectNumbers()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#own.length + (this.#shared?.size ?? 0)
  }

  /** Returns false if there is no room. */
  add(record: CallRecord, wallMs: number): boolean {
    // The detail holds parameter values, which must be released soon.
    const call = record.detail === undefined ? record : { ...record, detail: undefined }
    const isAdded = this.#add({ call, wallMs, calls: 1, rows: call.rows, bytes: call.bytes })
    if (!isAdded) return false
    this.calls++
    this.earliestMs = Math.min(this.earliestMs, wallMs)
    if (this.#shared === undefined && this.#own.length > maxOwnEntries) this.#share()
    return true
  }

  #add(entry: Entry): boolean {
    const shared = this.#shared
    const { call } = entry
    if (shared === undefined || call.engineMs > 0) {
      return this.size < this.#maxEntries && this.#own.push(entry) > 0
    }
    const step = Math.round(Math.log(Math.max(call.totalMs, 0.001)) / durationStep)
    const key = `${step} ${call.status} ${call.cache} ${this.#subjectNumber(call.subject)} ${call.code}`
    const same = shared.get(key)
    if (same !== undefined) {
      same.calls++
      same.rows += call.rows
      same.bytes += call.bytes
      return true
    }
    if (this.size >= this.#maxEntries) return false
    shared.set(key, { ...entry, call: { ...call, totalMs: Math.exp(step * durationStep) } })
    return true
  }

  #share(): void {
    this.#shared = new Map()
    for (const entry of this.#own.splice(0)) this.#add(entry)
  }

  /** Lines of JSON, in slices of which each blocks the event loop for about a millisecond. */
  *slices(): Generator<string> {
    const entries = [...this.#own, ...(this.#shared?.values() ?? [])]
    for (let at = 0; at < entries.length; at += entriesPerSlice) {
      yield entries
        .slice(at, at + entriesPerSlice)
        .map(lineOf)
        .join('')
    }
  }
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

function lineOf({ call, wallMs, calls, rows, bytes }: Entry): string {
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
