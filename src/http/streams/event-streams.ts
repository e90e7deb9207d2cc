import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import type { Timers } from '../../base/clock.ts'
import { engineUnavailable, overloaded } from '../../base/errors.ts'
import { grouped } from '../../base/grouped.ts'
import { tokenOf } from '../route-access.ts'
import { EventStream, type StreamOwner } from './event-stream.ts'

interface EventStreamsOptions {
  access: Access
  time: Pick<Timers, 'after'>
  maxStreams: number
}

const heartbeatMs = 15_000
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

/** The open event streams, shared fairly among tokens, and among the projects of a token's sessions. */
export class EventStreams {
  readonly #options: EventStreamsOptions
  readonly #open = new Set<EventStream>()
  #stopped = false
  #beating = false

  constructor(options: EventStreamsOptions) {
    this.#options = options
    options.access.onChange(() => this.#check())
  }

  get size(): number {
    return this.#open.size
  }

  admit(owner: StreamOwner): void {
    if (this.#stopped) throw engineUnavailable('The service is stopping.')
    const { maxStreams } = this.#options
    if (this.#open.size < maxStreams || this.#surplus(owner)) return
    throw overloaded(
      `All ${maxStreams} streams are in use, and no token has more than its share. Try again later.`,
    )
  }

  /** The newest stream of the token with the most, or else of the owner's own token: streams open for long are in use. */
  #surplus({ id, project }: StreamOwner): EventStream | undefined {
    const open = [...this.#open]
    const ofToken = largestShare(open, ({ owner }) => owner.id, id)
    if (ofToken) return largestShare(ofToken, ({ owner }) => owner.project)?.at(-1)
    const own = open.filter(({ owner }) => owner.id === id)
    return largestShare(own, ({ owner }) => owner.project, project)?.at(-1)
  }

  #makeRoom(owner: StreamOwner): void {
    if (this.#open.size < this.#options.maxStreams) return
    const newest = this.#surplus(owner)
    if (newest === undefined) return
    this.#open.delete(newest)
    newest.end()
    this.#options.time.after(partingMs, () => newest.destroy())
  }

  begin(request: FastifyRequest, reply: FastifyReply): EventStream | undefined {
    const caller = request.caller as Caller
    this.admit(caller)
    const isValid = this.#options.access.watch(tokenOf(request), caller)
    if (request.method === 'HEAD') {
      void reply.headers(streamHeaders).send()
      return undefined
    }
    reply.headers(streamHeaders).hijack()
    request.isStream = true
    const { raw } = reply
    raw.writeHead(200, reply.getHeaders() as Record<string, string>)
    const stream = new EventStream(raw, { owner: caller, requestId: request.id, isValid })
    this.#makeRoom(caller)
    this.#open.add(stream)
    if (!this.#beating) this.#beatLater()
    raw.once('close', () => this.#open.delete(stream))
    stream.write(`retry: ${retryMs}\n\n`)
    return stream
  }

  stop(): void {
    this.#stopped = true
    for (const stream of this.#open) stream.end()
    this.#options.time.after(partingMs, () => {
      for (const stream of this.#open) stream.destroy()
    })
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

/**
 * The largest group of the streams, if it keeps at least as many as the own group after losing one. So a few groups cannot
 * block others, and two groups never take streams from each other in turns. Without an own group, simply the largest.
 */
function largestShare<Group>(
  streams: readonly EventStream[],
  groupOf: (stream: EventStream) => Group,
  ...own: [] | [Group]
): EventStream[] | undefined {
  const groups = grouped(streams, groupOf)
  const ownSize = own.length === 0 ? -1 : (groups.get(own[0])?.length ?? 0)
  const [largest] = [...groups.values()].sort((one, other) => other.length - one.length)
  return largest && largest.length > ownSize + 1 ? largest : undefined
}
