import type { LiveEntry } from './live-entry.ts'
import type { LiveRing } from './live-ring.ts'

/** Where the events of a reader go. */
export interface LiveSink {
  /** Bytes that were written and that the reader has not taken yet. */
  readonly pendingBytes: number
  write(frames: Buffer): void
  end(): void
}

/** Events that are written at once, for however many readers. */
export interface Piece {
  frames: Buffer
  count: number
  /** The place of the last one. */
  cursor: number
}

/** A piece is not much larger than this; an entry is never divided. */
const pieceBytes = 64 * 1024

/**
 * One who reads along. It has no queue of its own: a reader who takes nothing is left behind, and goes on from the ring
 * as soon as it takes something again. What has left the ring by then it is told the number of.
 */
export class LiveReader {
  readonly #sink: LiveSink
  readonly #ring: LiveRing
  readonly #wants: (entry: LiveEntry) => boolean
  readonly #maxPendingBytes: number
  #cursor: number
  /** Entries that it should have got and has not. */
  #behind = 0

  constructor(options: {
    sink: LiveSink
    ring: LiveRing
    wants: (entry: LiveEntry) => boolean
    maxPendingBytes: number
    cursor: number
  }) {
    this.#sink = options.sink
    this.#ring = options.ring
    this.#wants = options.wants
    this.#maxPendingBytes = options.maxPendingBytes
    this.#cursor = options.cursor
  }

  get isBehind(): boolean {
    return this.#behind > 0
  }

  take({ frames, count, cursor }: Piece): void {
    if (this.#behind > 0 || this.#isSlow()) {
      this.#behind += count
      return
    }
    this.#sink.write(frames)
    this.#cursor = cursor
  }

  /** Gives what is in the ring behind the place that was read up to before. */
  resume(): void {
    for (const entry of this.#ring.after(this.#cursor)) if (this.#wants(entry)) this.#behind++
    this.catchUp()
  }

  /** Called when the reader has taken what was written. */
  catchUp(): void {
    if (this.#behind === 0 || this.#isSlow()) return
    const waiting = [...this.#ring.after(this.#cursor)].filter(this.#wants)
    const missed = this.#behind - waiting.length
    if (missed > 0) {
      this.say('missed', { count: missed })
      this.#behind = waiting.length
    }
    for (const piece of piecesOf(waiting)) {
      if (this.#isSlow()) return
      this.#sink.write(piece.frames)
      this.#behind -= piece.count
      this.#cursor = piece.cursor
    }
  }

  say(event: string, data: object): void {
    this.#sink.write(Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  }

  end(): void {
    this.#sink.end()
  }

  #isSlow(): boolean {
    return this.#sink.pendingBytes >= this.#maxPendingBytes
  }
}

export function* piecesOf(entries: readonly LiveEntry[]): Generator<Piece> {
  let frames: Buffer[] = []
  let bytes = 0
  for (const [index, { frame, cursor }] of entries.entries()) {
    frames.push(frame)
    bytes += frame.length
    if (bytes < pieceBytes && index < entries.length - 1) continue
    yield { frames: Buffer.concat(frames, bytes), count: frames.length, cursor }
    frames = []
    bytes = 0
  }
}
