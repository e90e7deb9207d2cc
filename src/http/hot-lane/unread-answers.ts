/** As much of a response as it takes to give one up. */
export interface Answering {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

export interface UnreadAnswersOptions {
  /** What all of them may take together. */
  maxBytes: number
  /** Told of readers that were given up. */
  onGivenUp: (readers: number, bytes: number) => void
}

interface UnreadBody {
  bytes: number
  readers: Set<Answering>
}

/** Smaller ones fit into what the system keeps for a connection anyway. */
const countedFromBytes = 64 * 1024

/**
 * Answers that are on their way to readers who may take their time. Results can be large and readers many, so they are
 * bounded together: beyond that the body that has waited longest for one of its readers to take it is given up. A body
 * that many are sent is there once, and counts once.
 */
export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions
  /** The one that has waited longest comes first. */
  readonly #bodies = new Map<object, UnreadBody>()
  #bytes = 0

  constructor(options: UnreadAnswersOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Goes before the body is sent. */
  add(body: Buffer | string, answering: Answering): void {
    if (body.length < countedFromBytes) return
    // What was a text is turned into bytes for each of its readers.
    const key = typeof body === 'string' ? answering : body
    const known = this.#bodies.get(key)
    const unread = known ?? { bytes: Buffer.byteLength(body), readers: new Set() }
    unread.readers.add(answering)
    if (!known) {
      this.#bodies.set(key, unread)
      this.#bytes += unread.bytes
    }
    answering.once('close', () => this.#taken(key, unread, answering))
    this.#bound(key)
  }

  #taken(key: object, unread: UnreadBody, answering: Answering): void {
    if (!unread.readers.delete(answering) || this.#bodies.get(key) !== unread) return
    this.#bodies.delete(key)
    if (unread.readers.size > 0) this.#bodies.set(key, unread)
    else this.#bytes -= unread.bytes
  }

  #bound(newest: object): void {
    for (const [key, unread] of this.#bodies) {
      if (this.#bytes <= this.#options.maxBytes) return
      // Alone it is as large as a result may be.
      if (key === newest) continue
      this.#bodies.delete(key)
      this.#bytes -= unread.bytes
      const readers = [...unread.readers]
      unread.readers.clear()
      for (const reader of readers) reader.destroy()
      this.#options.onGivenUp(readers.length, unread.bytes)
    }
  }
}
