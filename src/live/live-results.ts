import type { Timers } from '../base/clock.ts'
import { overloaded, tooLarge } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import type { FollowedCall, LatestResult } from '../endpoints/call/endpoint-calls.ts'
import { FollowedResult, type ResultSink } from './followed-result.ts'

export interface LiveResultsOptions {
  time: Timers
  /** Undefined where others write to the engine, too: then nobody here knows what came. */
  arrivals: Arrivals | undefined
  /** Over all results that are followed. */
  maxBytes: number
  /** A result could not be looked at again. */
  onFailure: (failure: { endpoint: string; error: unknown }) => void
}

/** One result takes at most this share of the memory. */
const maxShare = 1 / 16

/** Results that somebody follows: each is looked at again once for all of its followers. */
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

  /** Throws where the result would take too much memory. */
  admit({ key }: Pick<FollowedCall, 'key'>, { body }: Pick<LatestResult, 'body'>): void {
    const { maxBytes } = this.#options
    if (body.length > maxBytes * maxShare) {
      throw tooLarge(
        `A result of more than ${Math.floor((maxBytes * maxShare) / 2 ** 20)} MiB cannot be followed.`,
      )
    }
    const others = this.#bytes - (this.#followed.get(key)?.bytes ?? 0)
    if (others + body.length > maxBytes) throw overloaded('More results are followed than fit into memory.')
  }

  /** What the first event will be; undefined where others follow the same and have it already. */
  async first(call: FollowedCall, signal: AbortSignal, caller: string): Promise<LatestResult | undefined> {
    if (this.#followed.get(call.key)?.isCurrent) return undefined
    const answer = await call.latest(signal, caller)
    this.admit(call, answer)
    return answer
  }

  /** Gives the result at once, unless the follower has it, and again whenever it is another. */
  subscribe(
    call: FollowedCall,
    first: LatestResult | undefined,
    sink: ResultSink,
    lastEventId?: string,
  ): { drained(): void; close(): void } {
    const followed = this.#followed.get(call.key) ?? this.#begin(call)
    if (first) followed.set(first)
    const reader = followed.add(sink, lastEventId)
    return {
      drained: () => reader.drained(),
      close: () => {
        followed.remove(reader)
        if (!followed.hasReaders) this.#end(followed)
      },
    }
  }

  /** The cache has a newer result. */
  stored(key: string): void {
    this.#followed.get(key)?.lookSoon()
  }

  /** The endpoint is no longer what it was: whoever connects again gets what it is now. */
  drop(endpointId: string): void {
    for (const followed of this.#followed.values()) {
      if (followed.call.endpointId === endpointId) followed.end()
    }
  }

  #begin(call: FollowedCall): FollowedResult {
    const { time, arrivals, onFailure } = this.#options
    const followed = new FollowedResult(call, {
      time,
      arrivals,
      admit: (answer) => this.admit(call, answer),
      onBytes: (change) => {
        this.#bytes += change
      },
      onFailure: (error) => onFailure({ endpoint: call.endpointId, error }),
    })
    this.#followed.set(call.key, followed)
    return followed
  }

  #end(followed: FollowedResult): void {
    followed.stop()
    if (this.#followed.get(followed.call.key) === followed) this.#followed.delete(followed.call.key)
  }
}
