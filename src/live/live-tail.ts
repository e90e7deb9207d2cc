import type { Timers } from '../base/clock.ts'
import { EventIds, LiveChannel, type LiveFilter, type LiveSubscription } from './live-channel.ts'
import { LiveTurns } from './live-group.ts'
import type { LiveSink } from './live-reader.ts'

export interface LiveTailOptions {
  time: Timers
  maxRingBytes: number
  /** A reader with this many unsent bytes gets nothing more until they are sent. */
  maxPendingBytes: number
}

const maxShare = 1 / 8

/** Sends entries to readers as they are stored. Sources without readers cost nothing. */
export class LiveTail {
  readonly #options: LiveTailOptions
  readonly #channels = new Map<string, LiveChannel>()
  readonly #ids = new EventIds()
  readonly #turns: LiveTurns

  constructor(options: LiveTailOptions) {
    this.#options = options
    this.#turns = new LiveTurns(options.time)
  }

  isRead(source: string): boolean {
    return this.#channels.has(source)
  }

  /** Takes lines as the engine stored them. They are not iterated for a source without readers. */
  publish(source: string, lines: Iterable<Buffer>): void {
    this.#channels.get(source)?.publish(lines)
  }

  subscribe(source: string, filter: LiveFilter, sink: LiveSink, lastEventId?: string): LiveSubscription {
    const channel = this.#channels.get(source) ?? this.#open(source)
    return channel.subscribe(filter, sink, lastEventId)
  }

  close(source: string): void {
    const channel = this.#channels.get(source)
    if (channel === undefined) return
    channel.end()
    this.#remove(source, channel)
  }

  #open(source: string): LiveChannel {
    const { time, maxRingBytes, maxPendingBytes } = this.#options
    const channel: LiveChannel = new LiveChannel({
      time,
      ids: this.#ids,
      turns: this.#turns,
      maxRingBytes: () => Math.min(maxShare, 1 / this.#channels.size) * maxRingBytes,
      maxPendingBytes,
      onUnused: () => this.#remove(source, channel),
    })
    this.#channels.set(source, channel)
    return channel
  }

  #remove(source: string, channel: LiveChannel): void {
    channel.stop()
    // A new source may have taken the name.
    if (this.#channels.get(source) === channel) this.#channels.delete(source)
  }
}
