import type { Timers } from '../base/clock.ts'
import { overloaded, tooLarge } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import type { EndpointCalls, LatestResult } from '../endpoints/call/endpoint-calls.ts'
import type { PreparedCall } from '../endpoints/call/prepared-call.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import { FollowedResult, type ResultSink } from './followed-result.ts'

interface LiveResultsOptions {
  time: Timers
  /** Undefined if other services write to the same engine: then not all arrivals are known. */
  arrivals: Arrivals | undefined
  latest: EndpointCalls['latest']
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
  admit({ key }: Pick<PreparedCall, 'key'>, { body }: Pick<LatestResult, 'body'>): void {
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
  async first(call: PreparedCall): Promise<LatestResult | undefined> {
    if (this.#followed.get(call.key)?.isCurrent) return undefined
    const result = await this.#options.latest(call, call.signal, call.caller)
    this.admit(call, result)
    return result
  }

  subscribe(call: PreparedCall, first: LatestResult | undefined, sink: ResultSink, lastEventId?: string) {
    const followed = this.#followed.get(call.key) ?? this.#begin(call)
    if (first) followed.set(first)
    return followed.subscribe(sink, lastEventId)
  }

  stored(key: string): void {
    this.#followed.get(key)?.updateSoon()
  }

  /** Ends streams whose results are no longer valid. Clients reconnect and get new results. */
  drop(isDropped: (endpoint: Endpoint) => boolean): void {
    for (const followed of this.#followed.values()) if (isDropped(followed.call.endpoint)) followed.end()
  }

  #begin(call: PreparedCall): FollowedResult {
    const { time, arrivals, onFailure } = this.#options
    const followed: FollowedResult = new FollowedResult(call, {
      time,
      arrivals,
      latest: (signal) => this.#options.latest(call, signal),
      admit: (result) => this.admit(call, result),
      onBytes: (change) => {
        this.#bytes += change
      },
      onFailure: (error) => onFailure({ endpoint: call.endpoint.definition.id, error }),
      onUnused: () => {
        if (this.#followed.get(call.key) === followed) this.#followed.delete(call.key)
      },
    })
    this.#followed.set(call.key, followed)
    return followed
  }
}
