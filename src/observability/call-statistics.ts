import { randomUUID } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import type { Timers } from '../base/clock.ts'
import { engineUnavailable, internal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import type { Engine } from '../engine/engine.ts'
import { CallEntries } from './call-lines.ts'
import type { CallRecord } from './call-record.ts'

interface CallStatisticsOptions {
  /** Resolves when the lines are on disk. The same token is stored once. */
  store: (lines: Buffer, token: string, earliestMs: number) => Promise<void>
  time: Timers
  monotonicMs: () => number
  maxRecords: number
  maxEntries: number
  log: Pick<Log, 'warn'>
}

type CallReader = (records: readonly CallRecord[], toWallMs: (monotonicMs: number) => number) => void

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
export class CallStatistics {
  readonly #options: CallStatisticsOptions
  readonly #readers: CallReader[] = []
  #records: CallRecord[] = []
  #entries: CallEntries
  #batch: Batch | undefined
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  /** The timer of the next insert fired while one was running. */
  #late = false
  #dropped = 0
  #failing = false

  constructor(options: CallStatisticsOptions) {
    this.#options = options
    this.#entries = new CallEntries(options.maxEntries)
  }

  get dropped(): number {
    return this.#dropped
  }

  onCalls(reader: CallReader): void {
    this.#readers.push(reader)
  }

  add(record: CallRecord): void {
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
    this.#entries = new CallEntries(this.#options.maxEntries)
    const lines: Buffer[] = []
    for (const slice of entries.slices()) {
      if (lines.length > 0) await giveWay()
      lines.push(Buffer.from(slice))
    }
    const { calls, earliestMs } = entries
    return { lines: Buffer.concat(lines), token: randomUUID(), calls, earliestMs, tries: 0 }
  }
}

interface EntryStoreOptions {
  engine: Engine
  sources: Pick<Sources, 'get'>
  /** Throws if the disk is full. */
  disk: { check(): void }
  arrivals: Arrivals
  /** Gets every stored entry. */
  tail: { publish(source: string, lines: readonly Buffer[]): void }
}

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata']
const limits = { deadlineMs: 10_000 }

/** Stores entries that the service writes itself; resolves when they are on disk. */
export function storeEntries(source: string, { engine, sources, disk, arrivals, tail }: EntryStoreOptions) {
  const typedColumns = builtInSources.find(({ name }) => name === source)?.columns ?? []
  return async (lines: Buffer, token: string, earliestMs: number): Promise<void> => {
    const columnsOfSource = new Set(sources.get(source).columns.map(({ name }) => name))
    if (!typedColumns.every(({ name }) => columnsOfSource.has(name))) {
      throw internal(
        new Error(`Source ${source} was created by a user and lacks the columns of the service.`),
      )
    }
    disk.check()
    const stored = arrivals.begin(source, BigInt(Math.floor(earliestMs)) * 1000n)
    try {
      await engine.insert(
        {
          table: source,
          columns,
          format: 'JSONEachRow',
          settings: { insert_deduplication_token: token },
        },
        lines,
        limits,
      )
    } finally {
      stored()
    }
    tail.publish(source, linesOf(lines))
  }
}

function linesOf(text: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0, end = text.indexOf(10); end >= 0; start = end + 1, end = text.indexOf(10, start)) {
    lines.push(text.subarray(start, end + 1))
  }
  return lines
}
