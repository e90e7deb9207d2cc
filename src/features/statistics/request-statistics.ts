import { randomUUID } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import type { Timers } from '../../core/base/clock.ts'
import { engineUnavailable } from '../../core/base/errors.ts'
import type { Log } from '../../core/base/log.ts'
import { serviceLine } from '../../core/base/service-line.ts'
import type { RequestRecord } from '../../core/http/request-record.ts'

interface RequestStatisticsOptions {
  /** Resolves when the lines are on disk. The same token is stored once. */
  store: (lines: Buffer, token: string) => Promise<void>
  time: Timers
  maxEntries: number
  log: Pick<Log, 'warn'>
}

interface Batch {
  lines: Buffer
  token: string
  calls: number
  tries: number
}

/** Together with the time of an insert this keeps the promise that a response is on disk two seconds later. */
const flushEveryMs = 750

/** Entries that are turned into lines without a pause; each takes some microseconds. */
const entriesPerSlice = 200

/** Attempts to store a batch while the engine is unavailable. */
const maxTries = 40

/** Stores records of requests in the background, one insert at a time; a record that finds no room is counted and dropped. */
export class RequestStatistics {
  readonly #options: RequestStatisticsOptions
  #entries: RequestEntries
  /** What is being stored, or is tried again later. */
  #batch: Batch | undefined
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #dropped = 0
  #failing = false

  constructor(options: RequestStatisticsOptions) {
    this.#options = options
    this.#entries = new RequestEntries(options.maxEntries)
  }

  get dropped(): number {
    return this.#dropped
  }

  /** Takes some microseconds, so it is called when the response is sent. */
  add(record: RequestRecord): void {
    if (!this.#entries.add(record, this.#options.time.wall.now())) this.#dropped++
    this.#flushLater()
  }

  /** Resolves when all records so far are stored or dropped, or cannot be stored now. */
  async flush(): Promise<void> {
    while (this.#running) await this.#running
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const { time } = this.#options
    const begunMs = time.now()
    this.#running = this.#storeAll().finally(() => {
      this.#running = undefined
      // The interval began with the insert, so a slow one does not delay the next. A failed one is tried after a pause.
      const spentMs = this.#failing ? 0 : time.now() - begunMs
      if (this.#batch || this.#entries.size > 0) this.#flushLater(flushEveryMs - spentMs)
    })
    await this.#running
  }

  async stop(): Promise<void> {
    await this.flush()
    this.#cancelTimer?.()
  }

  #flushLater(ms = flushEveryMs): void {
    if (this.#running) return
    this.#cancelTimer ??= this.#options.time.after(Math.max(0, ms), () => void this.flush())
  }

  async #storeAll(): Promise<void> {
    if (this.#batch) await this.#store(this.#batch)
    if (this.#batch || this.#entries.size === 0) return
    this.#batch = await this.#nextBatch()
    await this.#store(this.#batch)
  }

  async #store(batch: Batch): Promise<void> {
    batch.tries++
    try {
      await this.#options.store(batch.lines, batch.token)
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'request statistics could not be stored')
      this.#failing = true
      // The token makes a retry safe: the engine stores the batch once.
      if (engineUnavailable.is(error) && batch.tries < maxTries) return
      this.#dropped += batch.calls
    }
    this.#batch = undefined
  }

  async #nextBatch(): Promise<Batch> {
    const entries = this.#entries.list()
    this.#entries = new RequestEntries(this.#options.maxEntries)
    const lines: string[] = []
    for (const [index, entry] of entries.entries()) {
      if (index % entriesPerSlice === entriesPerSlice - 1) await giveWay()
      lines.push(lineOf(entry, index))
    }
    const calls = entries.reduce((sum, entry) => sum + entry.calls, 0)
    return { lines: Buffer.from(lines.join('')), token: randomUUID(), calls, tries: 0 }
  }
}

/** A batch of at most this many records is stored as one entry each; a larger batch shares entries. */
const maxOwnEntries = 500

/** Durations within this logarithmic step share an entry. */
const durationStep = Math.log(1.05)

/** The counts are sums over all records of the entry; all other values apply to each of them. */
interface Entry {
  call: RequestRecord
  wallMs: number
  calls: number
  rows: number
  bytes: number
  totalMs: number
}

/** In a large batch, requests without the engine share an entry if they took about as long. All counts stay exact. */
export class RequestEntries {
  readonly #maxEntries: number
  /** By number, or by what those that share an entry have in common. */
  readonly #entries = new Map<number | string, Entry>()
  #isShared = false

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#entries.size
  }

  list(): Entry[] {
    return [...this.#entries.values()]
  }

  add(call: RequestRecord, wallMs: number): boolean {
    const { rows, bytes, totalMs } = call
    const isAdded = this.#add({ call, wallMs, calls: 1, rows, bytes, totalMs })
    if (isAdded && !this.#isShared && this.size > maxOwnEntries) {
      this.#isShared = true
      const own = this.list()
      this.#entries.clear()
      for (const entry of own) this.#add(entry)
    }
    return isAdded
  }

  #add(entry: Entry): boolean {
    const { call } = entry
    const key = this.#isShared && call.engineMs === 0 ? commonTo(call) : this.size
    const same = this.#entries.get(key)
    if (same) {
      same.calls++
      same.rows += entry.rows
      same.bytes += entry.bytes
      same.totalMs += entry.totalMs
    } else if (this.size >= this.#maxEntries) return false
    else this.#entries.set(key, entry)
    return true
  }
}

function commonTo(call: RequestRecord): string {
  const { endpoint, endpointId, version, tokenId, project, method, format } = call
  const { status, cache, code, totalMs } = call
  const step = Math.round(Math.log(Math.max(totalMs, 0.001)) / durationStep)
  return `${step} ${status} ${cache} ${code} ${endpointId} ${version} ${tokenId} ${method} ${format} ${project} ${endpoint}`
}

export function lineOf({ call, wallMs, calls, rows, bytes, totalMs }: Entry, seq: number): string {
  const { endpoint, method, status, cache, code } = call
  return serviceLine({
    project: call.project,
    // Requests of the same millisecond stay in order.
    id: uuidv7({ msecs: Math.floor(wallMs), seq }),
    atMs: wallMs,
    message: `${method} ${endpoint} ${status}${cache === 'none' ? '' : ` ${cache}`}`,
    metadata: {
      endpoint,
      endpoint_id: call.endpointId,
      version: call.version,
      token_id: call.tokenId,
      method,
      status,
      cache,
      calls,
      rows,
      bytes,
      engine_ms: rounded(call.engineMs),
      total_ms: rounded(totalMs / calls),
      format: call.format,
      ...(code !== '' && { code }),
      // Hits are many, and nobody looks for one of them.
      ...(cache !== 'hit' && { request_id: call.requestId }),
    },
  })
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
