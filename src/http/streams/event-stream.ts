import type { ServerResponse } from 'node:http'
import type { Caller } from '../../access/caller.ts'
import type { WellheadError } from '../../base/errors.ts'
import { errorBody } from '../error-response.ts'

/** A client that reads nothing for this many heartbeats is disconnected. */
const maxIdleHeartbeats = 4

interface StreamFollower {
  drained(): void
  close(): void
  /** The id of the last event, which a client sends to resume. */
  place?(): string | undefined
}

/** Whose share a stream belongs to. Sessions of one token can have different projects. */
export type StreamOwner = Pick<Caller, 'id' | 'project'>

/** A connection that receives events while its token is valid. */
export class EventStream {
  readonly owner: StreamOwner
  readonly #requestId: string
  readonly #response: ServerResponse
  readonly #isValid: () => boolean
  #follower: StreamFollower | undefined
  #ended = false
  #writtenBytes = 0
  #readBytes = 0
  #idle = 0

  constructor(
    response: ServerResponse,
    options: { owner: StreamOwner; requestId: string; isValid: () => boolean },
  ) {
    this.owner = options.owner
    this.#requestId = options.requestId
    this.#response = response
    this.#isValid = options.isValid
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
