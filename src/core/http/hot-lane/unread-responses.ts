interface AbortableResponse {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

interface UnreadResponsesOptions {
  maxBytes: number
  onAborted: (readers: number, bytes: number) => void
}

interface UnreadBody {
  bytes: number
  readers: Set<AbortableResponse>
}

/** Smaller bodies fit into the socket's buffer. */
const countedFromBytes = 64 * 1024

/** Bounds the bodies that slow clients have not read; beyond the limit, the one that has waited longest is aborted. */
export class UnreadResponses {
  readonly #options: UnreadResponsesOptions
  /** The body that has waited longest comes first. */
  readonly #bodies = new Map<object, UnreadBody>()
  #bytes = 0

  constructor(options: UnreadResponsesOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Must be called before the body is sent. */
  add(body: Buffer | string, response: AbortableResponse): void {
    if (body.length < countedFromBytes) return
    // Node encodes a string for each client separately.
    const key = typeof body === 'string' ? response : body
    const known = this.#bodies.get(key)
    const unread = known ?? { bytes: Buffer.byteLength(body), readers: new Set() }
    unread.readers.add(response)
    if (!known) {
      this.#bodies.set(key, unread)
      this.#bytes += unread.bytes
    }
    response.once('close', () => this.#sent(key, unread, response))
    this.#bound(key)
  }

  #sent(key: object, unread: UnreadBody, response: AbortableResponse): void {
    if (!unread.readers.delete(response) || this.#bodies.get(key) !== unread) return
    this.#bodies.delete(key)
    if (unread.readers.size > 0) this.#bodies.set(key, unread)
    else this.#bytes -= unread.bytes
  }

  #bound(newest: object): void {
    for (const [key, unread] of this.#bodies) {
      if (this.#bytes <= this.#options.maxBytes) return
      // The newest body alone never exceeds the limit of a result.
      if (key === newest) continue
      this.#bodies.delete(key)
      this.#bytes -= unread.bytes
      const readers = [...unread.readers]
      unread.readers.clear()
      for (const reader of readers) reader.destroy()
      this.#options.onAborted(readers.length, unread.bytes)
    }
  }
}
