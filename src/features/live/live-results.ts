import type { Arrivals } from '../../core/base/arrivals.ts'
import type { Timers } from '../../core/base/clock.ts'
import { internal, overloaded, tooLarge, WellheadError } from '../../core/base/errors.ts'
import type { Call } from '../../core/endpoints/call/call.ts'
import type { EndpointCalls, LatestResult } from '../../core/endpoints/call/endpoint-calls.ts'
import type { LiveSink } from './live-reader.ts'

interface LiveResultsOptions {
  time: Timers
  /** Undefined if other services write to the same engine: then not all arrivals are known. */
  arrivals: Arrivals | undefined
  latest: EndpointCalls['latest']
  cache: Pick<EndpointCalls['cache'], 'follow'>
  maxBytes: number
  onFailure: (failure: { endpoint: string; error: unknown }) => void
}

const maxShare = 1 / 16

export class LiveResults {
  readonly #options: LiveResultsOptions
  readonly #followed = new Map<string, FollowedResult>()
  #bytes = 0

  constructor(options: LiveResultsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#followed.size
  }

  /** Throws if the result would take too much memory. */
  admit({ key }: Pick<Call, 'key'>, { body }: Pick<LatestResult, 'body'>): void {
    const { maxBytes } = this.#options
    if (body.length > maxBytes * maxShare) {
      throw tooLarge(
        `A result of more than ${Math.floor((maxBytes * maxShare) / 2 ** 20)} MiB cannot be followed.`,
      )
    }
    const others = this.#bytes - (this.#followed.get(key)?.bytes ?? 0)
    if (others + body.length > maxBytes)
      throw overloaded('The results that are followed do not fit into memory. Try again later.')
  }

  /** The first result; undefined if other followers already have it. */
  async first(call: Call): Promise<LatestResult | undefined> {
    if (this.#followed.get(call.key)?.isCurrent) return undefined
    const result = await this.#options.latest(call, call.signal, call.caller)
    this.admit(call, result)
    return result
  }

  subscribe(call: Call, first: LatestResult | undefined, sink: ResultSink, lastEventId?: string) {
    const followed = this.#followed.get(call.key) ?? this.#begin(call)
    if (first) followed.set(first)
    return followed.subscribe(sink, lastEventId)
  }

  /** Ends streams whose results are no longer valid. Clients reconnect and get new results. */
  drop(isDropped: (call: Call) => boolean): void {
    for (const followed of this.#followed.values()) if (isDropped(followed.call)) followed.end()
  }

  #begin(call: Call): FollowedResult {
    const followed: FollowedResult = new FollowedResult(call, {
      ...this.#options,
      admit: (result) => this.admit(call, result),
      onBytes: (change) => {
        this.#bytes += change
      },
      onUnused: () => {
        if (this.#followed.get(call.key) !== followed) return
        this.#followed.delete(call.key)
        unfollow()
      },
    })
    const unfollow = this.#options.cache.follow(call.key, () => followed.updateSoon())
    this.#followed.set(call.key, followed)
    return followed
  }
}

interface ResultSink extends LiveSink {
  fail(error: WellheadError): void
}

interface FollowedResultOptions extends LiveResultsOptions {
  admit: (result: LatestResult) => void
  onBytes: (change: number) => void
  onUnused: () => void
}

/** Minimum pause between two runs without a cache. The pause is also at least as long as the last run. */
const minPauseMs = 1_000
/** A result may change with time alone. */
const maxPauseMs = 30_000
/** Pause if arrivals of entries are unknown. */
const blindPauseMs = 5_000
/** Each request keeps the cached result warm. The cache reports new results by itself. */
const maxCachePauseMs = 15_000
const longestRetryMs = 30_000
const maxPendingBytes = 64 * 1024

interface Reader {
  sink: ResultSink
  /** The tag of the last result it got; undefined after an error, so that it gets the next result in any case. */
  etag: string | undefined
}

/** One result and its followers. A slow follower skips results and gets the newest one. */
class FollowedResult {
  readonly call: Call
  readonly #options: FollowedResultOptions
  readonly #readers = new Set<Reader>()
  readonly #over = new AbortController()
  #current: { etag: string; frame: Buffer } | undefined
  #failure: { code: string; times: number } | undefined
  #updating = false
  #updateAgain = false
  #cancelTimer = () => {}
  #startedAtMs: number
  /** Entries that arrived after it may be missing from the newest result. */
  #mark: number | undefined

  constructor(call: Call, options: FollowedResultOptions) {
    this.call = call
    this.#options = options
    this.#startedAtMs = options.time.now()
    this.#waitForNext()
  }

  get bytes(): number {
    return this.#current?.frame.length ?? 0
  }

  get isCurrent(): boolean {
    return this.#current !== undefined && this.#failure === undefined
  }

  set(result: LatestResult): void {
    const { etag, mark } = result
    // Two runs may end in a different order than they started.
    if (mark !== undefined && this.#mark !== undefined && mark < this.#mark) return
    this.#mark = mark
    this.#failure = undefined
    if (this.#current?.etag !== etag) {
      const frame = frameOf(result)
      this.#options.onBytes(frame.length - this.bytes)
      this.#current = { etag, frame }
    }
    for (const reader of this.#readers) this.#send(reader)
  }

  subscribe(sink: ResultSink, lastEventId: string | undefined) {
    const reader: Reader = { sink, etag: lastEventId }
    this.#readers.add(reader)
    this.#send(reader)
    return {
      drained: () => this.#send(reader),
      close: () => {
        this.#readers.delete(reader)
        if (this.#readers.size === 0) this.#stop()
      },
    }
  }

  updateSoon(): void {
    if (this.#updating) this.#updateAgain = true
    else this.#wait(0, true)
  }

  end(): void {
    for (const { sink } of this.#readers) sink.end()
  }

  #stop(): void {
    this.#cancelTimer()
    this.#over.abort(new Error('The result has no followers.'))
    this.#options.onBytes(-this.bytes)
    this.#current = undefined
    this.#options.onUnused()
  }

  #send(reader: Reader): void {
    const { sink } = reader
    // After a failure, the last result would look like a new one.
    if (!this.#current || this.#failure || reader.etag === this.#current.etag) return
    if (sink.pendingBytes >= maxPendingBytes) return
    reader.etag = this.#current.etag
    sink.write(this.#current.frame)
  }

  #wait(ms: number, certain = false): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#options.time.after(ms, () => {
      if (certain || this.#isDue()) void this.#update()
      else this.#wait(minPauseMs)
    })
  }

  #isDue(): boolean {
    const { time, arrivals } = this.#options
    if (
      this.call.endpoint.definition.cache_seconds !== null ||
      arrivals === undefined ||
      this.#mark === undefined
    )
      return true
    if (time.now() - this.#startedAtMs >= maxPauseMs) return true
    return arrivals.hasNew(this.#mark, this.call.sources)
  }

  async #update(): Promise<void> {
    const { time, admit, latest } = this.#options
    const { signal } = this.#over
    this.#updating = true
    this.#updateAgain = false
    this.#startedAtMs = time.now()
    try {
      const result = await latest(this.call, signal)
      if (signal.aborted) return
      admit(result)
      this.set(result)
    } catch (error) {
      if (signal.aborted) return
      this.#fail(error)
    } finally {
      this.#updating = false
      if (!signal.aborted) this.#waitForNext()
    }
  }

  #waitForNext(): void {
    if (this.#updateAgain || this.#failure) this.#wait(this.#updateAgain ? 0 : this.#retryMs(), true)
    else this.#wait(this.#pauseMs())
  }

  #retryMs(): number {
    return Math.min(longestRetryMs, minPauseMs * 2 ** Math.min((this.#failure?.times ?? 1) - 1, 10))
  }

  #pauseMs(): number {
    const { time, arrivals } = this.#options
    const { cache_seconds: cacheSeconds } = this.call.endpoint.definition
    if (cacheSeconds !== null) return Math.max(minPauseMs, Math.min(maxCachePauseMs, cacheSeconds * 500))
    const tookMs = time.now() - this.#startedAtMs
    return Math.max(arrivals === undefined ? blindPauseMs : minPauseMs, tookMs)
  }

  #fail(error: unknown): void {
    const known = error instanceof WellheadError ? error : internal(error)
    const before = this.#failure
    this.#failure = { code: known.code, times: (before?.times ?? 0) + 1 }
    if (before?.code === known.code) return
    this.#options.onFailure({ endpoint: this.call.endpoint.definition.id, error })
    for (const reader of this.#readers) {
      reader.etag = undefined
      reader.sink.fail(known)
    }
  }
}

/** The body as an event, one data line for each of its lines. A truncated result is preceded by an event that says so. */
function frameOf({ etag, body, truncated }: LatestResult): Buffer {
  const lines = body.toString('latin1').replaceAll('\n', '\ndata: ')
  const cut = truncated ? 'event: truncated\ndata: {"truncated":true}\n\n' : ''
  return Buffer.from(`${cut}event: result\nid: ${etag}\ndata: ${lines}\n\n`, 'latin1')
}
