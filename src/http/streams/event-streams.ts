import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import type { Timers } from '../../base/clock.ts'
import { engineUnavailable, overloaded } from '../../base/errors.ts'
import { tokenOf } from '../route-access.ts'
import { EventStream } from './event-stream.ts'

interface EventStreamsOptions {
  access: Access
  time: Pick<Timers, 'after'>
  maxStreams: number
}

const heartbeatMs = 15_000
/** Time to read pending events before an ended stream is disconnected. */
const partingMs = 1_000
/** How long clients wait before they reconnect. */
const retryMs = 2_000

export const eventStreamType = 'text/event-stream'

const streamHeaders = {
  'Content-Type': `${eventStreamType}; charset=utf-8`,
  // Proxies must not store, buffer or change the stream.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  // The connection ends with the stream.
  Connection: 'close',
} as const

/** The open event streams, shared fairly among tokens. */
export class EventStreams {
  readonly #options: EventStreamsOptions
  readonly #open = new Set<EventStream>()
  /** The streams of each token, oldest first. */
  readonly #perCaller = new Map<string, Set<EventStream>>()
  #stopped = false
  #beating = false

  constructor(options: EventStreamsOptions) {
    this.#options = options
    options.access.onChange(() => this.#check())
  }

  get size(): number {
    return this.#open.size
  }

  /** Throws if the caller cannot open another stream. */
  admit(callerId: string): void {
    if (this.#stopped) throw engineUnavailable('The service is stopping.')
    const { maxStreams } = this.#options
    if (this.#open.size < maxStreams || this.#largestShare(callerId)) return
    throw overloaded(
      `All ${maxStreams} streams are in use, and no token has more than its share. Try again later.`,
    )
  }

  /**
   * The streams of the token with the most, if it keeps at least as many as the caller after losing one. So a few tokens
   * cannot block others, and two tokens never take streams from each other in turns.
   */
  #largestShare(callerId: string): Set<EventStream> | undefined {
    const own = this.#perCaller.get(callerId)?.size ?? 0
    let largest: Set<EventStream> | undefined
    for (const share of this.#perCaller.values()) if (share.size > (largest?.size ?? 0)) largest = share
    return largest && largest.size > own + 1 ? largest : undefined
  }

  /** Ends the newest stream of the token with the most: streams that have been open for long are in use. */
  #makeRoom(callerId: string): void {
    if (this.#open.size < this.#options.maxStreams) return
    const newest = [...(this.#largestShare(callerId) ?? [])].at(-1)
    if (newest === undefined) return
    this.#remove(newest)
    newest.end()
    this.#options.time.after(partingMs, () => newest.destroy())
  }

  /** Turns the response into a stream; undefined for a HEAD request. */
  begin(request: FastifyRequest, reply: FastifyReply): EventStream | undefined {
    const caller = request.caller as Caller
    const { id } = caller
    this.admit(id)
    const isValid = this.#options.access.watch(tokenOf(request), caller)
    if (request.method === 'HEAD') {
      void reply.headers(streamHeaders).send()
      return undefined
    }
    reply.headers(streamHeaders).hijack()
    request.isStream = true
    const { raw } = reply
    raw.writeHead(200, reply.getHeaders() as Record<string, string>)
    const stream = new EventStream(raw, { callerId: id, requestId: request.id, isValid })
    this.#makeRoom(id)
    this.#add(stream)
    raw.once('close', () => this.#remove(stream))
    stream.write(`retry: ${retryMs}\n\n`)
    return stream
  }

  /** Ends all streams and refuses new ones. */
  stop(): void {
    this.#stopped = true
    for (const stream of this.#open) stream.end()
    this.#options.time.after(partingMs, () => {
      for (const stream of this.#open) stream.destroy()
    })
  }

  #add(stream: EventStream): void {
    this.#open.add(stream)
    const share = this.#perCaller.get(stream.callerId) ?? new Set()
    this.#perCaller.set(stream.callerId, share.add(stream))
    if (!this.#beating) this.#beatLater()
  }

  #remove(stream: EventStream): void {
    if (!this.#open.delete(stream)) return
    const share = this.#perCaller.get(stream.callerId)
    share?.delete(stream)
    if (share?.size === 0) this.#perCaller.delete(stream.callerId)
  }

  #beatLater(): void {
    this.#beating = true
    this.#options.time.after(heartbeatMs, () => {
      for (const stream of this.#open) stream.heartbeat()
      this.#beating = false
      if (this.#open.size > 0) this.#beatLater()
    })
  }

  #check(): void {
    for (const stream of this.#open) stream.check()
  }
}
