import type { LiveEntry } from './live-entry.ts'

export interface LiveSink {
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
    return this.#entries.slice(this.#indexAfter(cursor)) as LiveEntry[]
  }

  /** Undefined if it is no longer kept. */
  find(cursor: number): LiveEntry | undefined {
    const entry = cursor > this.since ? this.#entries[this.#indexAfter(cursor) - 1] : undefined
    return entry?.cursor === cursor ? entry : undefined
  }

  /** Forgets all entries up to this cursor, with some that were never kept. */
  clear(since: number): void {
    this.since = since
    this.#entries = []
    this.#first = 0
    this.#bytes = 0
  }

  #indexAfter(cursor: number): number {
    let [low, high] = [this.#first, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle] as LiveEntry).cursor <= cursor) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Events that are written together, to any number of readers. */
interface Batch {
  frames: Buffer
  cursors: readonly number[]
}

/** A batch exceeds this by less than one entry. */
const batchBytes = 64 * 1024

interface LiveReaderOptions {
  sink: LiveSink
  ring: LiveRing
  maxPendingBytes: number
}

/** Gets the entries of a group. A slow reader waits until its connection drains, and is told how many entries it missed. */
export class LiveReader {
  readonly #options: LiveReaderOptions
  /** Cursors of entries that it has not got yet. */
  #waiting: number[] = []
  #missed = 0
  /** Set if the number of missed entries is unknown. */
  #resetReason: string | undefined

  constructor(options: LiveReaderOptions) {
    this.#options = options
  }

  get isBehind(): boolean {
    return this.#waiting.length > 0 || this.#missed > 0 || this.#resetReason !== undefined
  }

  take({ frames, cursors }: Batch): void {
    if (!this.isBehind && !this.#isSlow()) {
      this.#options.sink.write(frames)
      return
    }
    this.#waiting.push(...cursors)
    this.#forgetMissed()
  }

  reset(reason: string): void {
    this.#waiting = []
    this.#missed = 0
    this.#resetReason = reason
    this.catchUp()
  }

  catchUp(): void {
    if (!this.isBehind || this.#isSlow()) return
    if (this.#resetReason !== undefined) this.#say('reset', { reason: this.#resetReason })
    this.#resetReason = undefined
    this.#forgetMissed()
    if (this.#missed > 0) this.#say('missed', { count: this.#missed })
    this.#missed = 0
    const entries = this.#waiting.map((cursor) => this.#options.ring.find(cursor) as LiveEntry)
    let sent = 0
    for (const { frames, cursors } of batchesOf(entries)) {
      if (this.#isSlow()) break
      this.#options.sink.write(frames)
      sent += cursors.length
    }
    this.#waiting = this.#waiting.slice(sent)
  }

  end(): void {
    this.#options.sink.end()
  }

  /** The first entries that wait may have left the ring. */
  #forgetMissed(): void {
    const { since } = this.#options.ring
    const kept = this.#waiting.findIndex((cursor) => cursor > since)
    const gone = kept === -1 ? this.#waiting.length : kept
    if (gone === 0) return
    this.#missed += gone
    this.#waiting = this.#waiting.slice(gone)
  }

  #say(event: string, data: object): void {
    this.#options.sink.write(Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  }

  #isSlow(): boolean {
    return this.#options.sink.pendingBytes >= this.#options.maxPendingBytes
  }
}

export function* batchesOf(entries: readonly LiveEntry[]): Generator<Batch> {
  let frames: Buffer[] = []
  let cursors: number[] = []
  let bytes = 0
  for (const [index, { frame, cursor }] of entries.entries()) {
    frames.push(frame)
    cursors.push(cursor)
    bytes += frame.length
    if (bytes < batchBytes && index < entries.length - 1) continue
    yield { frames: Buffer.concat(frames, bytes), cursors }
    frames = []
    cursors = []
    bytes = 0
  }
}
