import type { ServerResponse } from 'node:http'
import type { WellheadError } from '../../base/errors.ts'
import { errorBody } from '../error-response.ts'

/** Heartbeats in a row during which a reader may take nothing at all. */
const maxIdleHeartbeats = 4

/** Heartbeats may say how far the reader has got. */
export interface StreamFollower {
  /** The reader has taken what was written. */
  drained(): void
  close(): void
  place?(): string | undefined
}

/** One connection on which events are sent, for as long as its token holds. */
export class EventStream {
  readonly callerId: string
  readonly #requestId: string
  readonly #response: ServerResponse
  readonly #isValid: () => boolean
  #follower: StreamFollower | undefined
  #ended = false
  #writtenBytes = 0
  #takenBytes = 0
  #idle = 0

  constructor(
    response: ServerResponse,
    options: { callerId: string; requestId: string; isValid: () => boolean },
  ) {
    this.callerId = options.callerId
    this.#requestId = options.requestId
    this.#response = response
    this.#isValid = options.isValid
    response.on('drain', () => this.#follower?.drained())
    // A reader who is gone is no error of ours.
    response.on('error', () => {})
    response.once('close', () => {
      this.#ended = true
      this.#follower?.close()
    })
  }

  get pendingBytes(): number {
    return this.#response.writableLength
  }

  /** Who hears of the reader from now on. */
  follow(follower: StreamFollower): void {
    this.#follower = follower
    if (this.#ended) follower.close()
    else this.#mark()
  }

  write(frames: Buffer | string): void {
    if (!this.check()) return
    this.#writtenBytes += Buffer.byteLength(frames)
    this.#response.write(frames)
  }

  fail(error: WellheadError): void {
    this.write(`event: error\ndata: ${JSON.stringify(errorBody(error, this.#requestId))}\n\n`)
  }

  /** Ends the stream if its token no longer holds. */
  check(): boolean {
    if (!this.#ended && !this.#isValid()) this.end()
    return !this.#ended
  }

  heartbeat(): void {
    if (!this.check()) return
    const takenBytes = this.#writtenBytes - this.pendingBytes
    this.#idle = this.pendingBytes === 0 || takenBytes > this.#takenBytes ? 0 : this.#idle + 1
    this.#takenBytes = takenBytes
    if (this.#idle >= maxIdleHeartbeats) this.#response.destroy()
    // What is on its way already tells as much.
    else if (this.pendingBytes === 0) this.#mark(': heartbeat\n')
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#response.end()
  }

  /** Whoever did not take the end by now will not. */
  destroy(): void {
    this.#response.destroy()
  }

  #mark(before = ''): void {
    const place = this.#follower?.place?.()
    const id = place === undefined ? '' : `id: ${place}\n`
    if (before + id !== '') this.write(`${before}${id}\n`)
  }
}
