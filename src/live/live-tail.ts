import type { Timers } from '../base/clock.ts'
import { LiveChannel, type LiveFilter } from './live-channel.ts'
import { LivePlaces } from './live-places.ts'
import type { LiveSink } from './live-reader.ts'

export interface LiveTailOptions {
  time: Timers
  /** Over the newest entries of all sources that somebody reads. */
  maxRingBytes: number
  /** A reader with so much on its way gets no more for now. */
  maxPendingBytes: number
}

export interface LiveSubscription {
  /** The place that it has read up to, as an id of an event; undefined while it is behind. */
  place(): string | undefined
  /** The reader has taken what was written. */
  drained(): void
  close(): void
}

interface Open {
  channel: LiveChannel
  /** Stored, and not yet given to readers. */
  lines: Buffer[]
  bytes: number
  cancelFlush: (() => void) | undefined
  flushedAtMs: number
  cancelEnd: (() => void) | undefined
}

/** What comes within this time is written at once: each reader costs a write, however much is in it. */
const gatherMs = 40
/** Delivered in one turn of the event loop: a large batch must not keep other requests waiting. */
const turn = { maxLines: 2_000, maxBytes: 2 * 2 ** 20 }
/** Bytes that may wait to be delivered; beyond them everything is delivered at once. */
const maxWaitingBytes = 256 * 2 ** 20
/** A source that nobody reads any more is followed so long, for readers whose connection broke. */
const keepMs = 60_000
/** One source gets at most this share of the memory. */
const maxShare = 1 / 8

/** Entries as they are stored, for those who read along. It costs nothing for sources that nobody reads. */
export class LiveTail {
  readonly #options: LiveTailOptions
  readonly #open = new Map<string, Open>()
  readonly #places = new LivePlaces()

  constructor(options: LiveTailOptions) {
    this.#options = options
  }

  isRead(source: string): boolean {
    return this.#open.has(source)
  }

  /** Lines as the engine stored them; they are looked at only where somebody reads the source. */
  publish(source: string, lines: Iterable<Buffer>): void {
    const open = this.#open.get(source)
    if (open === undefined) return
    for (const line of lines) {
      open.lines.push(line)
      open.bytes += line.length
    }
    if (open.bytes > maxWaitingBytes) this.#flush(open, open.lines.length)
    else if (open.bytes > 0) this.#flushLater(open, gatherMs)
  }

  /** From now on, or from the place on that a reader had read up to. */
  subscribe(source: string, filter: LiveFilter, sink: LiveSink, lastEventId?: string): LiveSubscription {
    const open = this.#opened(source)
    const { channel } = open
    open.cancelEnd?.()
    // What is stored already comes before what this reader asked for.
    this.#flush(open, open.lines.length)
    const now = channel.mark(this.#options.time.now())
    const last = lastEventId ? this.#placeOf(lastEventId, channel) : now
    const { maxPendingBytes } = this.#options
    const { reader, leave } = channel.add(filter, sink, maxPendingBytes, last ?? Number.NEGATIVE_INFINITY)
    if (last === undefined) {
      reader.say('reset', { reason: 'Entries may be missing here: the place to go on from is not known.' })
    }
    if (lastEventId) reader.resume()
    let left = false
    return {
      place: () => {
        if (reader.isBehind) return undefined
        // So that a reader who wants little does not fall out of the ring for it.
        this.#flush(open, open.lines.length)
        return this.#places.idOf(channel.mark(this.#options.time.now()))
      },
      drained: () => reader.catchUp(),
      close: () => {
        if (left) return
        left = true
        leave()
        if (!channel.hasReaders)
          open.cancelEnd = this.#options.time.after(keepMs, () => this.#end(source, open))
      },
    }
  }

  /** The source is gone. */
  close(source: string): void {
    const open = this.#open.get(source)
    if (open === undefined) return
    open.channel.end()
    this.#end(source, open)
  }

  #opened(source: string): Open {
    const known = this.#open.get(source)
    if (known) return known
    const open: Open = {
      channel: new LiveChannel(this.#options.time.now()),
      lines: [],
      bytes: 0,
      cancelFlush: undefined,
      flushedAtMs: Number.NEGATIVE_INFINITY,
      cancelEnd: undefined,
    }
    this.#open.set(source, open)
    return open
  }

  #end(source: string, open: Open): void {
    open.cancelFlush?.()
    open.cancelEnd?.()
    // By now the name may be that of another source.
    if (this.#open.get(source) === open) this.#open.delete(source)
  }

  #flushLater(open: Open, pauseMs: number): void {
    const dueMs = open.flushedAtMs + pauseMs - this.#options.time.now()
    open.cancelFlush ??= this.#options.time.after(Math.max(0, dueMs), () => {
      open.cancelFlush = undefined
      this.#flush(open, linesOfTurn(open.lines))
      if (open.lines.length > 0) this.#flushLater(open, 0)
    })
  }

  #flush(open: Open, count: number): void {
    const lines = count < open.lines.length ? open.lines.splice(0, count) : open.lines
    if (lines === open.lines) open.lines = []
    open.bytes -= lines.reduce((sum, line) => sum + line.length, 0)
    open.flushedAtMs = this.#options.time.now()
    if (lines.length === 0) return
    const share = Math.min(maxShare, 1 / this.#open.size) * this.#options.maxRingBytes
    open.channel.deliver(lines, open.flushedAtMs, (cursor) => this.#places.idOf(cursor), share)
  }

  /** Undefined where nobody can tell what came since. */
  #placeOf(id: string, { cursor, ring }: LiveChannel): number | undefined {
    const place = this.#places.placeOf(id)
    return place !== undefined && place >= ring.since && place <= cursor ? place : undefined
  }
}

function linesOfTurn(lines: readonly Buffer[]): number {
  let [count, bytes] = [0, 0]
  while (count < Math.min(lines.length, turn.maxLines) && bytes < turn.maxBytes) {
    bytes += (lines[count++] as Buffer).length
  }
  return count
}
