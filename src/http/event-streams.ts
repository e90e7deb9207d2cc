import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/access.ts'
import type { Caller } from '../access/caller.ts'
import type { Timers } from '../base/clock.ts'
import { engineUnavailable, overloaded } from '../base/errors.ts'
import { EventStream } from './event-stream.ts'
import { tokenOf } from './route-access.ts'

export interface EventStreamsOptions {
  access: Access
  time: Pick<Timers, 'after'>
  maxStreams: number
  maxStreamsPerToken: number
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
  readonly #perCaller = new Map<string, number>()
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
    const { maxStreams, maxStreamsPerToken } = this.#options
    if (this.#open.size >= maxStreams) throw overloaded(`${maxStreams} streams are open, which is the most.`)
    if ((this.#perCaller.get(callerId) ?? 0) >= maxStreamsPerToken) {
      throw overloaded(`This token has ${maxStreamsPerToken} streams open, which is the most.`)
    }
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
    this.#perCaller.set(stream.callerId, (this.#perCaller.get(stream.callerId) ?? 0) + 1)
    if (!this.#beating) this.#beatLater()
  }

  #remove(stream: EventStream): void {
    if (!this.#open.delete(stream)) return
    const left = (this.#perCaller.get(stream.callerId) ?? 1) - 1
    if (left > 0) this.#perCaller.set(stream.callerId, left)
    else this.#perCaller.delete(stream.callerId)
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
