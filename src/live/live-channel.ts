import type { Timers } from '../base/clock.ts'
import { lowerCase } from '../base/text/lower-case.ts'
import type { StoredEntry } from '../catalog/stored-entry.ts'
import type { EventIds } from './event-ids.ts'
import { LiveEntry, projectInJson } from './live-entry.ts'
import { batchesOf, LiveReader, LiveRing, type LiveSink } from './live-reader.ts'

/** An undefined field matches every entry. */
export interface LiveFilter {
  project?: string | undefined
  /** Part of the message, ignoring case. */
  text?: string | undefined
  query?: EntryQuery | undefined
}

/** A condition on entries. Queries with the same key match the same entries. */
export interface EntryQuery {
  key: string
  matches: (entry: StoredEntry) => boolean
}

export interface LiveSubscription {
  /** The id of the position up to which it has read; undefined while it is behind. */
  place(): string | undefined
  /** Called when the connection has drained. */
  drained(): void
  close(): void
}

interface LiveChannelOptions {
  time: Timers
  ids: EventIds
  maxRingBytes: () => number
  maxPendingBytes: number
  /** Called a while after the last reader has left. */
  onUnused: () => void
}

/** Readers with the same filter get the same bytes. */
interface Group {
  matches: (entry: LiveEntry) => boolean
  readers: Set<LiveReader>
  entries: LiveEntry[]
}

/** Entries that arrive within this time are sent together, since each write to each reader has a cost. */
const gatherMs = 40
/** Delivered in one turn of the event loop, so that a large batch does not delay requests. */
const turn = { maxLines: 2_000, maxBytes: 2 * 2 ** 20 }
/** If more bytes wait, they are all delivered at once. */
const maxWaitingBytes = 256 * 2 ** 20
/** A channel stays open after its last reader has left, so that a broken connection can resume. */
const keepMs = 60_000

/** One source and its readers. */
export class LiveChannel {
  readonly #options: LiveChannelOptions
  readonly #ring: LiveRing
  /** By project, then by text and query. The project is undefined for readers of all projects. */
  readonly #groups = new Map<string | undefined, Map<string, Group>>()
  #cursor: number
  /** Stored and not yet delivered. */
  #lines: Buffer[] = []
  #bytes = 0
  #flushedAtMs = Number.NEGATIVE_INFINITY
  #cancelFlush: (() => void) | undefined
  #cancelEnd = () => {}

  constructor(options: LiveChannelOptions) {
    this.#options = options
    this.#cursor = cursorAt(options.time.now())
    this.#ring = new LiveRing(this.#cursor)
  }

  publish(lines: Iterable<Buffer>): void {
    for (const line of lines) {
      this.#lines.push(line)
      this.#bytes += line.length
    }
    if (this.#bytes > maxWaitingBytes) this.#flush()
    else if (this.#bytes > 0) this.#flushLater(gatherMs)
  }

  subscribe(filter: LiveFilter, sink: LiveSink, lastEventId?: string): LiveSubscription {
    const { time, ids, maxPendingBytes } = this.#options
    this.#cancelEnd()
    const now = this.#mark()
    const last = lastEventId ? this.#resumableCursor(lastEventId) : now
    const project = filter.project === undefined ? undefined : projectInJson(filter.project)
    const { query } = filter
    const text = lowerCase(filter.text ?? '')
    const key = JSON.stringify([text, query?.key])
    const isWanted = (entry: LiveEntry) =>
      (text === '' || entry.searched.includes(text)) && (query?.matches(entry.stored()) ?? true)
    const matches = (entry: LiveEntry) =>
      (project === undefined || project === entry.projectInJson) && isWanted(entry)
    const cursor = last ?? Number.NEGATIVE_INFINITY
    const reader = new LiveReader({ sink, ring: this.#ring, matches, maxPendingBytes, cursor })
    if (last === undefined) {
      reader.say('reset', {
        reason: 'Entries may be missing here: the id to resume from is unknown or too old.',
      })
    }
    if (lastEventId) reader.resume()
    const group = this.#groupOf(project, key, isWanted)
    group.readers.add(reader)
    return {
      // Moves on even if no entry matches, so that the reader does not fall out of the ring.
      place: () => (reader.isBehind ? undefined : ids.idOf(this.#mark())),
      drained: () => reader.catchUp(),
      close: () => {
        if (!group.readers.delete(reader)) return
        if (group.readers.size === 0) this.#removeGroup(project, key)
        if (this.#groups.size === 0) this.#cancelEnd = time.after(keepMs, () => this.#options.onUnused())
      },
    }
  }

  /** Ends the streams of all readers. */
  end(): void {
    for (const groups of this.#groups.values()) {
      for (const { readers } of groups.values()) for (const reader of readers) reader.end()
    }
  }

  stop(): void {
    this.#cancelFlush?.()
    this.#cancelEnd()
  }

  /** A cursor after all entries that were stored before, and before all later ones. */
  #mark(): number {
    this.#flush()
    this.#cursor = Math.max(this.#cursor, cursorAt(this.#options.time.now()))
    return this.#cursor
  }

  /** Undefined if entries after it may have left the ring. */
  #resumableCursor(id: string): number | undefined {
    const cursor = this.#options.ids.cursorOf(id)
    return cursor !== undefined && cursor >= this.#ring.since && cursor <= this.#cursor ? cursor : undefined
  }

  #groupOf(project: string | undefined, key: string, matches: Group['matches']): Group {
    const groups = this.#groups.get(project) ?? new Map<string, Group>()
    const group = groups.get(key) ?? { matches, readers: new Set(), entries: [] }
    this.#groups.set(project, groups.set(key, group))
    return group
  }

  #removeGroup(project: string | undefined, key: string): void {
    const groups = this.#groups.get(project)
    groups?.delete(key)
    if (groups?.size === 0) this.#groups.delete(project)
  }

  #flushLater(pauseMs: number): void {
    const { time } = this.#options
    const dueMs = this.#flushedAtMs + pauseMs - time.now()
    this.#cancelFlush ??= time.after(Math.max(0, dueMs), () => {
      this.#cancelFlush = undefined
      this.#flush(linesOfTurn(this.#lines))
      if (this.#lines.length > 0) this.#flushLater(0)
    })
  }

  #flush(count = this.#lines.length): void {
    const lines = this.#lines.splice(0, count)
    this.#bytes -= lines.reduce((sum, line) => sum + line.length, 0)
    this.#flushedAtMs = this.#options.time.now()
    if (lines.length > 0) this.#deliver(lines, this.#flushedAtMs)
  }

  #deliver(lines: readonly Buffer[], nowMs: number): void {
    const { ids, maxRingBytes } = this.#options
    const ringBytes = maxRingBytes()
    const touched = new Set<Group>()
    for (const line of lines) {
      this.#cursor = Math.max(this.#cursor + 1, cursorAt(nowMs))
      const entry = new LiveEntry(line, this.#cursor, ids.idOf(this.#cursor))
      this.#ring.push(entry, ringBytes)
      for (const groups of [this.#groups.get(undefined), this.#groups.get(entry.projectInJson)]) {
        for (const group of groups?.values() ?? []) {
          if (!group.matches(entry)) continue
          group.entries.push(entry)
          touched.add(group)
        }
      }
    }
    for (const group of touched) {
      for (const batch of batchesOf(group.entries)) for (const reader of group.readers) reader.take(batch)
      group.entries = []
    }
  }
}

/** Microseconds, as an integer so that it survives the conversion to an id and back. */
function cursorAt(nowMs: number): number {
  return Math.floor(nowMs * 1000)
}

function linesOfTurn(lines: readonly Buffer[]): number {
  let [count, bytes] = [0, 0]
  while (count < Math.min(lines.length, turn.maxLines) && bytes < turn.maxBytes) {
    bytes += (lines[count++] as Buffer).length
  }
  return count
}
