import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import type { Timers } from '../../base/clock.ts'
import { engineUnavailable, overloaded } from '../../base/errors.ts'
import { tokenOf } from '../route-access.ts'
import { EventStream } from './event-stream.ts'

export interface EventStreamsOptions {
  access: Access
  time: Pick<Timers, 'after'>
  maxStreams: number
}

const heartbeatMs = 15_000
/** Readers who are told to stop get so long to take what is on its way. */
const partingMs = 1_000
/** What clients are told to wait before they connect again. */
const retryMs = 2_000

export const eventStreamType = 'text/event-stream'

const streamHeaders = {
  'Content-Type': `${eventStreamType}; charset=utf-8`,
  // Neither kept nor gathered nor changed by whoever stands between.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  // The connection ends with the stream.
  Connection: 'close',
} as const

/** All streams of events that are open, within bounds. */
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

  /** Throws where one more would be too many. */
  admit(callerId: string): void {
    if (this.#stopped) throw engineUnavailable('The service is stopping.')
    const { maxStreams } = this.#options
    if (this.#open.size < maxStreams || this.#largestShare(callerId)) return
    throw overloaded(
      `All ${maxStreams} streams are open, and no token has more of them than this one would have.`,
    )
  }

  /**
   * The streams of the token that has the most, if it would still have at least as many as the caller after giving up one
   * for it. So no few tokens can keep others out, and two tokens never take streams from each other in turns.
   */
  #largestShare(callerId: string): Set<EventStream> | undefined {
    const own = this.#perCaller.get(callerId)?.size ?? 0
    let largest: Set<EventStream> | undefined
    for (const share of this.#perCaller.values()) if (share.size > (largest?.size ?? 0)) largest = share
    return largest && largest.size > own + 1 ? largest : undefined
  }

  /** Ends the newest stream of whoever has the most: the ones that have been open for long are the ones in use. */
  #makeRoom(callerId: string): void {
    if (this.#open.size < this.#options.maxStreams) return
    const newest = [...(this.#largestShare(callerId) ?? [])].at(-1)
    if (newest === undefined) return
    this.#remove(newest)
    newest.end()
    this.#options.time.after(partingMs, () => newest.destroy())
  }

  /** From here on the answer is a stream; undefined for a caller who wants its headers only. */
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

  /** Ends all of them, and lets nobody begin another. */
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
