import { LRUCache } from 'lru-cache'
import type { JsonPaths } from '../../core/base/json/json-paths.ts'
import { type OwnColumn, StoredEntry } from '../../core/search/stored-entry.ts'

const beforeProject = '{"project":"'
const beforeId = '","id":"'
const beforeTimestamp = '","timestamp":"'
const beforeMessage = '","event_message":"'
const beforeMetadata = '","metadata":'

const overheadBytes = 256

/** A stored entry as an event. The members of a stored line have a fixed order, so the line is cut instead of parsed. */
export class LiveEntry {
  readonly cursor: number
  readonly frame: Buffer
  readonly projectInJson: string
  /** Of its timestamp. */
  readonly micros: number
  readonly #idAt: number
  readonly #idEnd: number
  readonly #messageAt: number
  readonly #messageEnd: number

  constructor(line: Buffer, cursor: number, id: string) {
    // Latin-1 copies bytes without decoding them. A JSON string never contains the separators, since its quotes are escaped.
    const text = line.toString('latin1')
    const projectEnd = text.indexOf(beforeId, beforeProject.length)
    const idEnd = text.indexOf(beforeTimestamp, projectEnd)
    const timestampEnd = text.indexOf(beforeMessage, idEnd)
    const messageEnd = text.indexOf(beforeMetadata, timestampEnd)
    const entryId = text.slice(projectEnd + beforeId.length, idEnd)
    const micros = microsOf(text.slice(idEnd + beforeTimestamp.length, timestampEnd))
    const project = text.slice(beforeProject.length, projectEnd)
    const message = text.slice(timestampEnd + beforeMessage.length, messageEnd)
    // The line ends with a brace and a newline.
    const metadata = text.slice(messageEnd + beforeMetadata.length, -2)
    const beforeEntryId = `event: entry\nid: ${id}\ndata: {"id":"`
    const head = `${beforeEntryId}${entryId}","timestamp":${micros},"project":"${project}","event_message":"`
    this.cursor = cursor
    this.micros = micros
    this.frame = Buffer.from(`${head}${message}","metadata":${metadata}}\n\n`, 'latin1')
    // A new string, since a slice would keep the whole line in memory.
    this.projectInJson = line.toString('latin1', beforeProject.length, projectEnd)
    this.#idAt = beforeEntryId.length
    this.#idEnd = beforeEntryId.length + entryId.length
    this.#messageAt = head.length
    this.#messageEnd = head.length + message.length
  }

  stored(paths: JsonPaths): StoredEntry {
    const metadata = this.frame.subarray(this.#messageEnd + beforeMetadata.length, this.frame.length - 3)
    return new StoredEntry((column) => this.#read(column), metadata, paths)
  }

  #read(column: OwnColumn): string {
    if (column === 'id') return this.#text(this.#idAt, this.#idEnd)
    if (column === 'event_message') return this.#text(this.#messageAt, this.#messageEnd)
    return JSON.parse(`"${Buffer.from(this.projectInJson, 'latin1').toString()}"`) as string
  }

  #text(start: number, end: number): string {
    return JSON.parse(`"${this.frame.toString('utf8', start, end)}"`) as string
  }
}

/** Timestamps are seconds with six decimals, except for the second before 1970, which is a date. */
function microsOf(timestamp: string): number {
  if (timestamp.startsWith('1969-12-31 ')) return Number(timestamp.slice(-6)) - 1_000_000
  return Number(timestamp.replace('.', ''))
}

/** The form in which projects of entries are compared. */
export function projectInJson(project: string): string {
  return Buffer.from(JSON.stringify(project).slice(1, -1)).toString('latin1')
}

export interface LiveSink {
  readonly pendingBytes: number
  write(frames: Buffer): void
  end(): void
}

/** The newest entries of a source, at most so many bytes. Readers catch up from it. */
export class LiveRing {
  /** A reader that has read up to this cursor, or further, has missed nothing. */
  since: number
  /** By cursor. Looking at an entry does not make it newer. */
  readonly #entries = new LRUCache<number, LiveEntry>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ frame }) => frame.length + overheadBytes,
  })

  constructor(since: number) {
    this.since = since
  }

  push(entry: LiveEntry, maxBytes: number): void {
    this.#entries.set(entry.cursor, entry)
    while (this.#entries.calculatedSize > maxBytes) {
      const oldest = this.#entries.pop() as LiveEntry
      this.since = oldest.cursor
    }
  }

  after(cursor: number): LiveEntry[] {
    const newer: LiveEntry[] = []
    for (const entry of this.#entries.values()) {
      if (entry.cursor <= cursor) break
      newer.push(entry)
    }
    return newer.reverse()
  }

  /** Undefined if it is no longer kept. */
  find(cursor: number): LiveEntry | undefined {
    return this.#entries.peek(cursor)
  }

  /** Forgets all entries up to this cursor, with some that were never kept. */
  clear(since: number): void {
    this.since = since
    this.#entries.clear()
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
