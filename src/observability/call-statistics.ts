import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { CallPage } from './call-page.ts'
import type { CallRecord, CallSubject } from './call-record.ts'
import { callLines } from './call-rows.ts'

export interface CallStatisticsOptions {
  /** Stores lines so that they are on disk when it resolves; the same token is stored once. */
  store: (lines: Buffer, token: string, earliestMs: number) => Promise<void>
  clock: Clock
  monotonicMs: () => number
  after: (ms: number, run: () => void) => () => void
  /** So many calls may wait to be looked at, and so many entries to be stored. */
  maxCalls: number
  maxEntries: number
  log: Pick<Log, 'warn'>
}

/** Looks at calls before they are forgotten; must be quick. */
export type CallReader = (page: CallPage, toWallMs: (monotonicMs: number) => number) => void

interface Batch {
  lines: Buffer
  token: string
  calls: number
  /** When the first of its calls was answered. */
  earliestMs: number
  tries: number
}

/** With this and the time of an insert, what was answered two seconds ago is on disk. */
const flushEveryMs = 750

/** An insert is tried so often while the engine is away. */
const maxTries = 40
const maxSubjects = 10_000

/**
 * Writes every call down and stores what was written in the background, in one insert at a time. A call never waits for
 * it: what finds no room is counted and dropped.
 */
export class CallStatistics {
  readonly #options: CallStatisticsOptions
  readonly #page: CallPage
  readonly #subjects = new Map<string, CallSubject>()
  readonly #readers: CallReader[] = []
  #lines: string[] = []
  /** Of the lines that wait. */
  #calls = 0
  #earliestMs = Number.POSITIVE_INFINITY
  #batch: Batch | undefined
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  /** The time for the next insert came while one was running. */
  #late = false
  #dropped = 0
  #failing = false

  constructor(options: CallStatisticsOptions) {
    this.#options = options
    this.#page = new CallPage(options.maxCalls)
  }

  /** Calls that are in no statistics. */
  get dropped(): number {
    return this.#dropped
  }

  onCalls(reader: CallReader): void {
    this.#readers.push(reader)
  }

  /** The one object for this subject, as long as there are not too many of them. */
  subject(of: CallSubject): CallSubject {
    const key = `${of.endpointId}\n${of.version}\n${of.tokenId}\n${of.method}\n${of.format}\n${of.project}\n${of.endpoint}`
    const known = this.#subjects.get(key)
    if (known !== undefined) return known
    if (this.#subjects.size >= maxSubjects) this.#subjects.clear()
    this.#subjects.set(key, of)
    return of
  }

  add(call: CallRecord): void {
    if (!this.#page.add(call)) {
      this.#dropped++
      return
    }
    const { length, capacity } = this.#page
    if (length === 1) this.#cancelTimer ??= this.#flushLater()
    // What is looked at takes less room, and is stored when it is time.
    else if (length === capacity >> 1) setImmediate(() => this.read())
  }

  /** Hands what was written down to whoever reads it, and makes it into what is stored next. */
  read(): void {
    const page = this.#page
    if (page.length === 0) return
    const { clock, monotonicMs, maxEntries } = this.#options
    const offset = clock.now() - monotonicMs()
    const toWallMs = (monotonic: number) => monotonic + offset
    for (const reader of this.#readers) reader(page, toWallMs)
    const lines = callLines(page, toWallMs)
    if (this.#lines.length + lines.length > maxEntries) this.#dropped += page.length
    else {
      this.#calls += page.length
      for (let at = 0; at < page.length; at++) {
        this.#earliestMs = Math.min(this.#earliestMs, toWallMs(page.number(at, 'endedAt')))
      }
      for (const line of lines) this.#lines.push(line)
    }
    page.clear()
  }

  /** Resolves when everything that was written down until now is stored or given up. */
  async flush(): Promise<void> {
    this.read()
    while (this.#running || this.#batch || this.#lines.length > 0) {
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
    return this.#options.after(flushEveryMs, () => {
      this.#cancelTimer = undefined
      this.#flushOnce()
    })
  }

  /** One insert and no more: what comes while it runs waits, so that many calls become one insert and not many. */
  #flushOnce(): void {
    this.read()
    if (this.#running !== undefined) {
      this.#late = true
      return
    }
    if (this.#batch === undefined && this.#lines.length === 0) return
    // Counted from the beginning of the insert: however long it takes, the next one is not later for it.
    this.#cancelTimer ??= this.#flushLater()
    void this.#storeNext()
  }

  #storeNext(): Promise<void> {
    this.#running = this.#store().finally(() => {
      this.#running = undefined
      if (!this.#late) return
      this.#late = false
      // What could not be stored is tried again, also if nobody calls any more, but not at once.
      if (this.#failing) this.#cancelTimer ??= this.#flushLater()
      else this.#flushOnce()
    })
    return this.#running
  }

  async #store(): Promise<void> {
    this.#batch ??= this.#nextBatch()
    const batch = this.#batch
    batch.tries++
    try {
      await this.#options.store(batch.lines, batch.token, batch.earliestMs)
      this.#batch = undefined
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'statistics of calls cannot be stored')
      this.#failing = true
      // Whether the engine has stored them or not, the token makes it once.
      if (engineUnavailable.is(error) && batch.tries < maxTries) return
      this.#dropped += batch.calls
      this.#batch = undefined
    }
  }

  #nextBatch(): Batch {
    const batch = {
      lines: Buffer.from(this.#lines.join('')),
      token: randomUUID(),
      calls: this.#calls,
      earliestMs: this.#earliestMs,
      tries: 0,
    }
    this.#lines = []
    this.#calls = 0
    this.#earliestMs = Number.POSITIVE_INFINITY
    return batch
  }
}
