import type { LiveEntry } from './live-entry.ts'

export interface LiveSink {
  /** Bytes that were written and not yet sent. */
  readonly pendingBytes: number
  write(frames: Buffer): void
  end(): void
}

/** The newest entries of a source, at most so many bytes. Readers catch up from it. */
export class LiveRing {
  /** A reader that has read up to this cursor, or further, has missed nothing. */
  since: number
  #entries: (LiveEntry | undefined)[] = []
  #first = 0
  #bytes = 0

  constructor(since: number) {
    this.since = since
  }

  push(entry: LiveEntry, maxBytes: number): void {
    this.#entries.push(entry)
    this.#bytes += entry.bytes
    while (this.#bytes > maxBytes) {
      const oldest = this.#entries[this.#first] as LiveEntry
      this.#entries[this.#first++] = undefined
      this.#bytes -= oldest.bytes
      this.since = oldest.cursor
    }
    if (this.#first * 2 <= this.#entries.length) return
    this.#entries = this.#entries.slice(this.#first)
    this.#first = 0
  }

  after(cursor: number): LiveEntry[] {
    let [low, high] = [this.#first, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle] as LiveEntry).cursor <= cursor) low = middle + 1
      else high = middle
    }
    return this.#entries.slice(low) as LiveEntry[]
  }
}

/** Events that are written together, to any number of readers. */
export interface Batch {
  frames: Buffer
  count: number
  /** Of the last entry. */
  cursor: number
}

/** A batch exceeds this by less than one entry. */
const batchBytes = 64 * 1024

interface LiveReaderOptions {
  sink: LiveSink
  ring: LiveRing
  matches: (entry: LiveEntry) => boolean
  maxPendingBytes: number
  cursor: number
}

/**
 * Reads a source without a queue of its own. A slow reader gets nothing until its connection drains. Then it catches up from
 * the ring, and is told how many entries it missed.
 */
export class LiveReader {
  readonly #options: LiveReaderOptions
  #cursor: number
  /** Number of entries that it has not got yet. */
  #behind = 0

  constructor(options: LiveReaderOptions) {
    this.#options = options
    this.#cursor = options.cursor
  }

  get isBehind(): boolean {
    return this.#behind > 0
  }

  take({ frames, count, cursor }: Batch): void {
    if (this.#behind > 0 || this.#isSlow()) {
      this.#behind += count
      return
    }
    this.#options.sink.write(frames)
    this.#cursor = cursor
  }

  /** Sends the entries in the ring after its cursor. */
  resume(): void {
    this.#behind += this.#waiting().length
    this.catchUp()
  }

  /** Called when the connection has drained. */
  catchUp(): void {
    if (this.#behind === 0 || this.#isSlow()) return
    const waiting = this.#waiting()
    const missed = this.#behind - waiting.length
    if (missed > 0) {
      this.say('missed', { count: missed })
      this.#behind = waiting.length
    }
    for (const { frames, count, cursor } of batchesOf(waiting)) {
      if (this.#isSlow()) return
      this.#options.sink.write(frames)
      this.#behind -= count
      this.#cursor = cursor
    }
  }

  say(event: string, data: object): void {
    this.#options.sink.write(Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  }

  end(): void {
    this.#options.sink.end()
  }

  #waiting(): LiveEntry[] {
    return this.#options.ring.after(this.#cursor).filter(this.#options.matches)
  }

  #isSlow(): boolean {
    return this.#options.sink.pendingBytes >= this.#options.maxPendingBytes
  }
}

export function* batchesOf(entries: readonly LiveEntry[]): Generator<Batch> {
  let frames: Buffer[] = []
  let bytes = 0
  for (const [index, { frame, cursor }] of entries.entries()) {
    frames.push(frame)
    bytes += frame.length
    if (bytes < batchBytes && index < entries.length - 1) continue
    yield { frames: Buffer.concat(frames, bytes), count: frames.length, cursor }
    frames = []
    bytes = 0
  }
}
