import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Timers } from '../../core/base/clock.ts'
import { JsonPaths } from '../../core/base/json/json-paths.ts'
import type { StoredEntry } from '../../core/search/stored-entry.ts'
import { type EntryQuery, LiveGroup, LiveTurns } from './live-group.ts'
import { LiveEntry, LiveReader, LiveRing, type LiveSink, projectInJson } from './live-reader.ts'

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

  /** Forgets the entries of a source that readers could still get. Readers are told that some may be missing. */
  forget(source: string): void {
    this.#channels.get(source)?.loseAll()
  }

  close(source: string): void {
    const channel = this.#channels.get(source)
    if (channel === undefined) return
    channel.end()
    this.#remove(source, channel)
  }

  #open(source: string): LiveChannel {
    const channel: LiveChannel = new LiveChannel({
      ...this.#options,
      ids: this.#ids,
      turns: this.#turns,
      maxRingBytes: () => Math.min(maxShare, 1 / this.#channels.size) * this.#options.maxRingBytes,
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

/** What a reader wants. An undefined field matches every entry. */
interface LiveFilter {
  caller: string
  project?: string | undefined
  /** Entries with older timestamps are not sent. Undefined: no limit. */
  retentionDays?: number | undefined
  query?: EntryQuery | undefined
}

interface LiveSubscription {
  /** The id of the position up to which it has read; undefined while it is behind. */
  place(): string | undefined
  drained(): void
  close(): void
}

interface LiveChannelOptions extends Omit<LiveTailOptions, 'maxRingBytes'> {
  ids: EventIds
  turns: LiveTurns
  maxRingBytes: () => number
  onUnused: () => void
}

/** Entries that arrive within this time are sent together, since each write to each reader has a cost. */
const gatherMs = 40
/** Read in one turn of the event loop, so that a large batch does not delay requests. */
const turn = { maxLines: 2_000, maxBytes: 512 * 2 ** 10 }
/** If more bytes wait, all of them are dropped, and readers are told. */
const maxWaitingBytes = 256 * 2 ** 20
const dayMs = 86_400_000
/** A channel stays open after its last reader has left, so that a broken connection can resume. */
const keepMs = 60_000
/** Entries that several groups read in turn. */
const maxStored = 4

interface Seat {
  key: string
  group: LiveGroup
}

const unknownId = 'Entries may be missing here: the id to resume from is unknown or too old.'

class LiveChannel {
  readonly #options: LiveChannelOptions
  readonly #ring: LiveRing
  /** By project, then by token and query. The project is undefined for readers of all projects. */
  readonly #groups = new Map<string | undefined, Map<string, LiveGroup>>()
  readonly #paths = new JsonPaths()
  readonly #stored = new LRUCache<LiveEntry, StoredEntry>({ max: maxStored })
  #cursor: number
  /** Stored and not yet in the ring. */
  #lines: { line: Buffer; cursor: number }[] = []
  #bytes = 0
  #seats = 0
  #flushedAtMs = Number.NEGATIVE_INFINITY
  #cancelFlush: (() => void) | undefined
  #cancelEnd = () => {}

  constructor(options: LiveChannelOptions) {
    this.#options = options
    this.#cursor = cursorAt(options.time.now())
    this.#ring = new LiveRing(this.#cursor)
  }

  publish(lines: Iterable<Buffer>): void {
    const now = cursorAt(this.#options.time.now())
    for (const line of lines) {
      this.#cursor = Math.max(this.#cursor + 1, now)
      this.#lines.push({ line, cursor: this.#cursor })
      this.#bytes += line.length
    }
    if (this.#bytes > maxWaitingBytes) this.loseAll()
    else if (this.#bytes > 0) this.#flushLater(gatherMs)
  }

  subscribe(filter: LiveFilter, sink: LiveSink, lastEventId?: string): LiveSubscription {
    const { time, ids, maxPendingBytes } = this.#options
    this.#cancelEnd()
    const now = this.#mark()
    const last = lastEventId ? this.#resumableCursor(lastEventId) : now
    const project = filter.project === undefined ? undefined : projectInJson(filter.project)
    const reader = new LiveReader({ sink, ring: this.#ring, maxPendingBytes })
    if (last === undefined) reader.reset(unknownId)
    const seat = this.#seatFor(filter, project, last ?? Number.NEGATIVE_INFINITY)
    seat.group.readers.add(reader)
    if (seat.group.hasWork) this.#options.turns.add(seat.group)
    else seat.group.flush()
    return {
      // Moves on even if no entry matches, so that the reader does not fall out of the ring.
      place: () => (reader.isBehind || !seat.group.isIdle ? undefined : ids.idOf(this.#reached())),
      drained: () => reader.catchUp(),
      close: () => {
        if (!seat.group.readers.delete(reader)) return
        if (seat.group.readers.size === 0) this.#remove(project, seat)
        if (this.#groups.size === 0) this.#cancelEnd = time.after(keepMs, () => this.#options.onUnused())
      },
    }
  }

  end(): void {
    for (const group of this.#allGroups()) for (const reader of group.readers) reader.end()
  }

  stop(): void {
    this.#cancelFlush?.()
    this.#cancelEnd()
  }

  *#allGroups(): Generator<LiveGroup> {
    for (const groups of this.#groups.values()) yield* groups.values()
  }

  #mark(): number {
    this.#cursor = Math.max(this.#cursor, cursorAt(this.#options.time.now()))
    return this.#cursor
  }

  /** The cursor up to which all entries are in the ring. */
  #reached(): number {
    const [next] = this.#lines
    return next === undefined ? this.#mark() : next.cursor - 1
  }

  /** Undefined if entries after it may have left the ring. */
  #resumableCursor(id: string): number | undefined {
    const cursor = this.#options.ids.cursorOf(id)
    return cursor !== undefined && cursor >= this.#ring.since && cursor <= this.#cursor ? cursor : undefined
  }

  /** The group of its filter, or one of its own until it has read as far as that group. */
  #seatFor({ caller, query, retentionDays }: LiveFilter, project: string | undefined, since: number): Seat {
    const groups = this.#groups.get(project) ?? new Map<string, LiveGroup>()
    this.#groups.set(project, groups)
    const key = JSON.stringify([caller, query?.key, retentionDays])
    const shared = groups.get(key)
    const isNewest = this.#lines.length === 0 && this.#ring.after(since).length === 0
    if (shared?.isIdle && isNewest) return { key, group: shared }
    const group = new LiveGroup({
      caller,
      query,
      since,
      ...(retentionDays !== undefined && {
        isKept: ({ micros }) => micros >= (this.#options.time.wall.now() - retentionDays * dayMs) * 1000,
      }),
      ring: this.#ring,
      read: (entry) => this.#read(entry),
      onIdle: () => this.#join(groups, seat, key),
    })
    const seat: Seat = { key: shared === undefined ? key : `${key} ${++this.#seats}`, group }
    groups.set(seat.key, group)
    for (const path of query?.paths ?? []) this.#paths.add(path)
    for (const entry of this.#ring.after(since)) {
      if (project === undefined || project === entry.projectInJson) group.offer(entry)
    }
    return seat
  }

  #join(groups: Map<string, LiveGroup>, seat: Seat, key: string): void {
    const shared = groups.get(key)
    if (seat.key === key || shared?.isIdle === false || this.#lines.length > 0) return
    groups.delete(seat.key)
    seat.key = key
    if (shared === undefined) {
      groups.set(key, seat.group)
      return
    }
    for (const reader of seat.group.readers) shared.readers.add(reader)
    this.#removePaths(seat.group)
    seat.group = shared
  }

  #remove(project: string | undefined, { group, key }: Seat): void {
    const groups = this.#groups.get(project)
    if (groups?.delete(key)) this.#removePaths(group)
    group.stop()
    if (groups?.size === 0) this.#groups.delete(project)
  }

  #removePaths({ query }: LiveGroup): void {
    for (const path of query?.paths ?? []) this.#paths.remove(path)
  }

  #flushLater(pauseMs: number): void {
    const { time } = this.#options
    const dueMs = this.#flushedAtMs + pauseMs - time.now()
    this.#cancelFlush ??= time.after(Math.max(0, dueMs), () => {
      this.#cancelFlush = undefined
      this.#flush()
      if (this.#lines.length > 0) this.#flushLater(0)
    })
  }

  #flush(): void {
    const { ids, turns, maxRingBytes, time } = this.#options
    const ringBytes = maxRingBytes()
    const offered = new Set<LiveGroup>()
    this.#flushedAtMs = time.now()
    for (const { line, cursor } of this.#lines.splice(0, linesOfTurn(this.#lines))) {
      this.#bytes -= line.length
      const entry = new LiveEntry(line, cursor, ids.idOf(cursor))
      this.#ring.push(entry, ringBytes)
      for (const groups of [this.#groups.get(undefined), this.#groups.get(entry.projectInJson)]) {
        for (const group of groups?.values() ?? []) {
          group.offer(entry)
          offered.add(group)
        }
      }
    }
    for (const group of offered) {
      if (group.hasWork) turns.add(group)
      else group.flush()
    }
  }

  loseAll(): void {
    this.#lines = []
    this.#bytes = 0
    this.#ring.clear(this.#cursor)
    for (const group of this.#allGroups()) group.loseAll()
  }

  /** Groups read an entry in turn, so a few entries are enough. */
  #read(entry: LiveEntry): StoredEntry {
    const known = this.#stored.get(entry)
    if (known?.version === this.#paths.version) return known
    const stored = entry.stored(this.#paths)
    this.#stored.set(entry, stored)
    return stored
  }
}

/** Microseconds, as an integer so that it survives the conversion to an id and back. */
function cursorAt(nowMs: number): number {
  return Math.floor(nowMs * 1000)
}

function linesOfTurn(lines: readonly { line: Buffer }[]): number {
  let [count, bytes] = [0, 0]
  while (count < Math.min(lines.length, turn.maxLines) && bytes < turn.maxBytes) {
    bytes += lines[count++]?.line.length ?? 0
  }
  return count
}

/** Encrypts the cursors of entries, which would tell a tenant how many entries others send; ids of other processes are foreign. */
export class EventIds {
  readonly #block = Buffer.alloc(16)
  readonly #cipher: ReturnType<typeof createCipheriv>
  readonly #decipher: ReturnType<typeof createDecipheriv>

  constructor() {
    const key = randomBytes(16)
    // ECB is safe here: each id is one block, and no two are equal.
    this.#cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    this.#decipher = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false)
  }

  idOf(cursor: number): string {
    this.#block.writeDoubleBE(cursor, 8)
    return this.#cipher.update(this.#block).toString('hex')
  }

  /** Undefined for an id that was not made here. */
  cursorOf(id: string): number | undefined {
    if (!/^[\da-f]{32}$/.test(id)) return undefined
    const block = this.#decipher.update(Buffer.from(id, 'hex'))
    const cursor = block.readDoubleBE(8)
    return block.readBigUInt64BE(0) === 0n && Number.isSafeInteger(cursor) ? cursor : undefined
  }
}
