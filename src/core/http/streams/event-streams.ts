import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import type { Timers } from '../../base/clock.ts'
import { engineUnavailable, overloaded, type WellheadError } from '../../base/errors.ts'
import { grouped } from '../../base/grouped.ts'
import { errorBody } from '../error-response.ts'
import { tokenOf } from '../route-access.ts'

/** A client that reads nothing for this many heartbeats is disconnected. */
const maxIdleHeartbeats = 4

interface StreamFollower {
  drained(): void
  close(): void
  /** The id of the last event, which a client sends to resume. */
  place?(): string | undefined
}

/** Whose share a stream belongs to. Sessions of one token can have different projects. */
type StreamOwner = Pick<Caller, 'id' | 'project'>

/** A connection that receives events while its token is valid. */
class EventStream {
  readonly owner: StreamOwner
  readonly #requestId: string
  readonly #response: ServerResponse
  readonly #isValid: () => boolean
  #follower: StreamFollower | undefined
  #ended = false
  #writtenBytes = 0
  #readBytes = 0
  #idle = 0

  constructor(response: ServerResponse, owner: StreamOwner, requestId: string, isValid: () => boolean) {
    this.owner = owner
    this.#requestId = requestId
    this.#response = response
    this.#isValid = isValid
    response.on('drain', () => this.#follower?.drained())
    // A client that disconnects is not an error.
    response.on('error', () => {})
    response.once('close', () => {
      this.#ended = true
      this.#follower?.close()
    })
  }

  get pendingBytes(): number {
    return this.#response.writableLength
  }

  follow(follower: StreamFollower): void {
    this.#follower = follower
    if (this.#ended) follower.close()
    else this.#writePosition()
  }

  write(frames: Buffer | string): void {
    if (!this.check()) return
    this.#writtenBytes += Buffer.byteLength(frames)
    this.#response.write(frames)
  }

  fail(error: WellheadError): void {
    this.write(`event: error\ndata: ${JSON.stringify(errorBody(error, this.#requestId))}\n\n`)
  }

  check(): boolean {
    if (!this.#ended && !this.#isValid()) this.end()
    return !this.#ended
  }

  heartbeat(): void {
    if (!this.check()) return
    const readBytes = this.#writtenBytes - this.pendingBytes
    this.#idle = this.pendingBytes === 0 || readBytes > this.#readBytes ? 0 : this.#idle + 1
    this.#readBytes = readBytes
    if (this.#idle >= maxIdleHeartbeats) this.#response.destroy()
    // Pending events make a heartbeat unnecessary.
    else if (this.pendingBytes === 0) this.#writePosition(': heartbeat\n')
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }

  #writePosition(before = ''): void {
    const position = this.#follower?.place?.()
    const id = position === undefined ? '' : `id: ${position}\n`
    if (before + id !== '') this.write(`${before}${id}\n`)
  }
}

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
    options.access.onChange(() => this.check())
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

  begin(request: FastifyRequest, reply: FastifyReply, isAllowed = () => true): EventStream | undefined {
    const caller = request.caller as Caller
    this.admit(caller)
    const hasRights = this.#options.access.watch(tokenOf(request), caller)
    const isValid = () => hasRights() && isAllowed()
    if (request.method === 'HEAD') {
      void reply.headers(streamHeaders).send()
      return undefined
    }
    reply.headers(streamHeaders).hijack()
    request.isStream = true
    const { raw } = reply
    raw.writeHead(200, reply.getHeaders() as Record<string, string>)
    const stream = new EventStream(raw, caller, request.id, isValid)
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

  /** Ends those that are not allowed anymore. */
  check(): void {
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
