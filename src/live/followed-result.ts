import type { Timers } from '../base/clock.ts'
import { internal, WellheadError } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import type { FollowedCall, LatestResult } from '../endpoints/call/endpoint-calls.ts'

/** Where the results of a follower go. */
export interface ResultSink {
  /** Bytes that were written and that the follower has not taken yet. */
  readonly pendingBytes: number
  write(frame: Buffer): void
  /** A look that failed; others may follow. */
  fail(error: WellheadError): void
  end(): void
}

export interface FollowedResultOptions {
  time: Timers
  arrivals: Arrivals | undefined
  /** Throws where the result would take too much memory. */
  admit: (answer: LatestResult) => void
  /** By so much the memory changed that the result takes. */
  onBytes: (change: number) => void
  onFailure: (error: unknown) => void
}

/** Without a cache a result is looked at no more often than this, and not more than half of the time. */
const minPauseMs = 1_000
/** A result may change with the time alone. */
const maxPauseMs = 30_000
/** Where nobody knows when entries come. */
const blindPauseMs = 5_000
/** How often the cache is asked, which also keeps it renewing; it tells by itself when there is something new. */
const maxCachePauseMs = 15_000
const longestRetryMs = 30_000
/** A follower with more than this on its way gets the newest result later. It is more than a socket takes at once. */
const maxPendingBytes = 64 * 1024

interface Reader {
  sink: ResultSink
  /** What it has; undefined after an error, which the next result takes back. */
  etag: string | undefined
  drained(): void
}

/** One result and those who follow it. They get the newest one, and never a queue of those before it. */
export class FollowedResult {
  readonly call: FollowedCall
  readonly #options: FollowedResultOptions
  readonly #readers = new Set<Reader>()
  readonly #over = new AbortController()
  #current: { etag: string; frame: Buffer } | undefined
  #failure: { code: string; times: number } | undefined
  #looking = false
  #lookAgain = false
  #cancelTimer = () => {}
  #lookedAtMs: number
  /** What the newest result cannot have seen came after it. */
  #mark: number | undefined

  constructor(call: FollowedCall, options: FollowedResultOptions) {
    this.call = call
    this.#options = options
    this.#lookedAtMs = options.time.now()
    this.#waitForNext()
  }

  get bytes(): number {
    return this.#current?.frame.length ?? 0
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0
  }

  /** Whether one more who follows can have what the others have. */
  get isCurrent(): boolean {
    return this.#current !== undefined && this.#failure === undefined
  }

  set(answer: LatestResult): void {
    const { etag, mark } = answer
    // Two looks may end in another order than they began.
    if (mark !== undefined && this.#mark !== undefined && mark < this.#mark) return
    this.#mark = mark
    this.#failure = undefined
    if (this.#current?.etag !== etag) {
      const frame = frameOf(answer)
      this.#options.onBytes(frame.length - this.bytes)
      this.#current = { etag, frame }
    }
    for (const reader of this.#readers) this.#send(reader)
  }

  add(sink: ResultSink, lastEventId: string | undefined): Reader {
    const reader: Reader = { sink, etag: lastEventId, drained: () => this.#send(reader) }
    this.#readers.add(reader)
    this.#send(reader)
    return reader
  }

  remove(reader: Reader): void {
    this.#readers.delete(reader)
  }

  lookSoon(): void {
    if (this.#looking) this.#lookAgain = true
    else this.#wait(0, true)
  }

  end(): void {
    for (const { sink } of this.#readers) sink.end()
  }

  stop(): void {
    this.#cancelTimer()
    this.#over.abort(new Error('Nobody follows the result any more.'))
    this.#options.onBytes(-this.bytes)
    this.#current = undefined
  }

  #send(reader: Reader): void {
    const { sink } = reader
    // While looking fails nothing is known, and what there was would look like news.
    if (!this.#current || this.#failure || reader.etag === this.#current.etag) return
    if (sink.pendingBytes >= maxPendingBytes) return
    reader.etag = this.#current.etag
    sink.write(this.#current.frame)
  }

  #wait(ms: number, certain = false): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#options.time.after(ms, () => {
      if (certain || this.#isDue()) void this.#look()
      else this.#wait(minPauseMs)
    })
  }

  /** Whether there may be another result by now. */
  #isDue(): boolean {
    const { time, arrivals } = this.#options
    const { cacheSeconds, sources } = this.call
    if (cacheSeconds !== null || arrivals === undefined || this.#mark === undefined) return true
    if (time.now() - this.#lookedAtMs >= maxPauseMs) return true
    return arrivals.earliestSince(this.#mark, sources) !== undefined
  }

  async #look(): Promise<void> {
    const { time, admit } = this.#options
    const { signal } = this.#over
    this.#looking = true
    this.#lookAgain = false
    this.#lookedAtMs = time.now()
    try {
      const answer = await this.call.latest(signal)
      if (signal.aborted) return
      admit(answer)
      this.set(answer)
    } catch (error) {
      if (signal.aborted) return
      this.#fail(error)
    } finally {
      this.#looking = false
      if (!signal.aborted) this.#waitForNext()
    }
  }

  #waitForNext(): void {
    if (this.#lookAgain || this.#failure) this.#wait(this.#lookAgain ? 0 : this.#retryMs(), true)
    else this.#wait(this.#pauseMs())
  }

  #retryMs(): number {
    return Math.min(longestRetryMs, minPauseMs * 2 ** Math.min((this.#failure?.times ?? 1) - 1, 10))
  }

  #pauseMs(): number {
    const { time, arrivals } = this.#options
    const { cacheSeconds } = this.call
    if (cacheSeconds !== null) return Math.max(minPauseMs, Math.min(maxCachePauseMs, cacheSeconds * 500))
    const tookMs = time.now() - this.#lookedAtMs
    return Math.max(arrivals === undefined ? blindPauseMs : minPauseMs, tookMs)
  }

  #fail(error: unknown): void {
    const known = error instanceof WellheadError ? error : internal(error)
    const before = this.#failure
    this.#failure = { code: known.code, times: (before?.times ?? 0) + 1 }
    if (before?.code === known.code) return
    this.#options.onFailure(error)
    for (const reader of this.#readers) {
      reader.etag = undefined
      reader.sink.fail(known)
    }
  }
}

/** The body as it is, over as many lines as it has. A result that was cut is told before it comes. */
function frameOf({ etag, body, truncated }: LatestResult): Buffer {
  const lines = body.toString('latin1').replaceAll('\n', '\ndata: ')
  const cut = truncated ? 'event: truncated\ndata: {"truncated":true}\n\n' : ''
  return Buffer.from(`${cut}event: result\nid: ${etag}\ndata: ${lines}\n\n`, 'latin1')
}
