import { randomUUID } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import type { Timers } from '../base/clock.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { formatMicros } from '../base/text/timestamps.ts'
import type { RequestRecord, RequestSubject } from './request-record.ts'

interface RequestStatisticsOptions {
  /** Resolves when the lines are on disk. The same token is stored once. */
  store: (lines: Buffer, token: string, earliestMs: number) => Promise<void>
  time: Timers
  monotonicMs: () => number
  maxRecords: number
  maxEntries: number
  log: Pick<Log, 'warn'>
}

type RecordReader = (records: readonly RequestRecord[], toWallMs: (monotonicMs: number) => number) => void

interface Batch {
  lines: Buffer
  token: string
  calls: number
  earliestMs: number
  tries: number
}

/** Together with the time of an insert this keeps the promise that a response is on disk two seconds later. */
const flushEveryMs = 750

/** Records that are read without a pause; each takes one to two microseconds. */
const recordsPerRead = 256

/** Attempts to store a batch while the engine is unavailable. */
const maxTries = 40

/** Stores records of requests in the background, one insert at a time; a record that finds no room is counted and dropped. */
export class RequestStatistics {
  readonly #options: RequestStatisticsOptions
  readonly #readers: RecordReader[] = []
  #records: RequestRecord[] = []
  #entries: RequestEntries
  #batch: Batch | undefined
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  /** The timer of the next insert fired while one was running. */
  #late = false
  #dropped = 0
  #failing = false

  constructor(options: RequestStatisticsOptions) {
    this.#options = options
    this.#entries = new RequestEntries(options.maxEntries)
  }

  get dropped(): number {
    return this.#dropped
  }

  onRecords(reader: RecordReader): void {
    this.#readers.push(reader)
  }

  add(record: RequestRecord): void {
    const { maxRecords } = this.#options
    if (this.#records.length >= maxRecords) {
      this.#dropped++
      return
    }
    const count = this.#records.push(record)
    if (count === 1) this.#cancelTimer ??= this.#flushLater()
    // Reading many at once would delay requests.
    else if (count === Math.min(recordsPerRead, maxRecords >> 2)) setImmediate(() => this.read())
  }

  read(): void {
    const records = this.#records
    if (records.length === 0) return
    this.#records = []
    const { time, monotonicMs } = this.#options
    const offset = time.wall.now() - monotonicMs()
    const toWallMs = (monotonic: number) => monotonic + offset
    for (const reader of this.#readers) reader(records, toWallMs)
    for (const record of records) {
      if (!this.#entries.add(record, toWallMs(record.endedAt))) this.#dropped++
    }
  }

  /** Resolves when all records so far are stored or dropped. */
  async flush(): Promise<void> {
    this.read()
    while (this.#running || this.#batch || this.#entries.size > 0) {
      await (this.#running ?? this.#storeNext())
      if (this.#failing) return
    }
  }

  async stop(): Promise<void> {
    this.#cancelTimer?.()
    await this.flush()
    this.#cancelTimer?.()
  }

  #flushLater(): () => void {
    return this.#options.time.after(flushEveryMs, () => {
      this.#cancelTimer = undefined
      this.#flushOnce()
    })
  }

  /** Starts at most one insert; records that arrive while it runs go into the next one together. */
  #flushOnce(): void {
    this.read()
    if (this.#running !== undefined) {
      this.#late = true
      return
    }
    if (this.#batch === undefined && this.#entries.size === 0) return
    // The interval starts with the insert, so a slow insert does not delay the next one.
    this.#cancelTimer ??= this.#flushLater()
    void this.#storeNext()
  }

  #storeNext(): Promise<void> {
    this.#running = this.#store().finally(() => {
      this.#running = undefined
      if (!this.#late) return
      this.#late = false
      // A failed insert is retried after a pause, even if no further request arrives.
      if (this.#failing) this.#cancelTimer ??= this.#flushLater()
      else this.#flushOnce()
    })
    return this.#running
  }

  async #store(): Promise<void> {
    const batch = this.#batch ?? (await this.#nextBatch())
    this.#batch = batch
    batch.tries++
    try {
      await this.#options.store(batch.lines, batch.token, batch.earliestMs)
      this.#batch = undefined
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'request statistics could not be stored')
      this.#failing = true
      // The token makes a retry safe: the engine stores the batch once.
      if (engineUnavailable.is(error) && batch.tries < maxTries) return
      this.#dropped += batch.calls
      this.#batch = undefined
    }
  }

  async #nextBatch(): Promise<Batch> {
    const entries = this.#entries
    this.#entries = new RequestEntries(this.#options.maxEntries)
    const lines: Buffer[] = []
    for (const slice of entries.slices()) {
      if (lines.length > 0) await giveWay()
      lines.push(Buffer.from(slice))
    }
    const { calls, earliestMs } = entries
    return { lines: Buffer.concat(lines), token: randomUUID(), calls, earliestMs, tries: 0 }
  }
}

/** A batch of at most this many records is stored as one entry each; a larger batch shares entries. */
const maxOwnEntries = 500

/** Durations within this logarithmic step share an entry. */
const durationStep = Math.log(1.05)

/** Entries that are turned into lines without a pause; each takes some microseconds. */
const entriesPerSlice = 200

/** The counts are sums over all records of the entry; all other values apply to each of them. */
interface Entry {
  call: RequestRecord
  wallMs: number
  calls: number
  rows: number
  bytes: number
}

/** In a large batch, requests without the engine share an entry if they took about as long. All counts stay exact. */
export class RequestEntries {
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

  add(record: RequestRecord, wallMs: number): boolean {
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
function subjectNumbers(): (subject: RequestSubject) => number {
  const byObject = new Map<RequestSubject, number>()
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
