import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { InsertMark } from '../../core/engine/engine.ts'
import type { Counts, DayCount } from './day-counts.ts'

/** A total that the engine may lack. */
export type JournaledCount = Pick<
  DayCount,
  'day' | 'project' | 'writer' | 'entries' | 'bytes' | 'requests' | 'hits' | 'engineMs' | 'lastMs'
>

/** Counts of lines that are being stored. */
export interface PendingCounts {
  readonly counted: readonly { count: DayCount; counts: Counts }[]
  /** Number in the journal, while it has them. */
  place?: number
  /** Whether the engine has the lines of an earlier request with the same key. */
  isRepeated?: boolean
}

/** An insert that was sent, with what it adds to usage if the engine stored it. */
interface JournaledInsert {
  place: number
  mark: InsertMark
  counts: JournaledCount[]
}

/** A line. Totals, and the places of the inserts that they have. */
interface JournaledTotals {
  totals: JournaledCount[]
  ended: number[]
}

/** Not in backups: the engine has their totals a second later. */
const names = ['usage-0.jsonl', 'usage-1.jsonl'] as const

/**
 * Totals since they were last stored in the engine, and inserts that are under way, for a start after `kill -9`. They are written before a
 * request is acknowledged, but not synced: that would take longer than the request, and a power cut is not what they are for.
 */
export class UsageJournal {
  readonly #dataDir: string
  readonly #files: [number | undefined, number | undefined] = [undefined, undefined]
  readonly #isEmpty = [false, false]
  #current: 0 | 1 = 0
  #places = 0
  /** Lines of inserts that have not ended. */
  readonly #running = new Map<number, string>()

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** Several batches can share an insert. */
  begin(mark: InsertMark, batches: readonly PendingCounts[], nowMs: number): void {
    const lines = batches.map((batch) => {
      const place = ++this.#places
      batch.place = place
      const none = { requests: 0, hits: 0, engineMs: 0 }
      const counts = batch.counted.map(({ count: { day, project, writer }, counts }) => {
        // A writer of its own, so that it counts once however often it is stored.
        return { day, project, writer: `${writer}+${place}`, ...counts, ...none, lastMs: nowMs }
      })
      const insert: JournaledInsert = { place, mark, counts }
      const line = `${JSON.stringify(insert)}\n`
      this.#running.set(place, line)
      return line
    })
    this.#write(lines.join(''))
  }

  /** Totals, and that these batches are no longer under way. */
  append(counts: readonly DayCount[], batches: readonly PendingCounts[] = []): void {
    const ended = batches.flatMap(({ place }) => place ?? [])
    if (counts.length === 0 && ended.length === 0) return
    const totals = counts.map(
      ({ day, project, writer, entries, bytes, requests, hits, engineMs, lastMs }) => {
        return { day, project, writer, entries, bytes, requests, hits, engineMs, lastMs }
      },
    )
    // One line, which a crash leaves complete or not at all.
    const line: JournaledTotals = { totals, ended }
    this.#write(`${JSON.stringify(line)}\n`)
    for (const place of ended) this.#running.delete(place)
  }

  /** Totals from now on are in the other file. Call what it returns when the engine has the earlier ones. */
  turn(): () => void {
    const other = this.#current === 0 ? 1 : 0
    // A file that could not be emptied has inserts whose end is in the current one.
    if (this.#isEmpty[other]) this.#current = other
    const earlier = this.#current === 0 ? 1 : 0
    return () => {
      if (this.#running.size > 0) this.#write([...this.#running.values()].join(''))
      this.#empty(earlier)
    }
  }

  /** A crash may have left half a line, of a request that was not acknowledged. */
  read(): { totals: JournaledCount[]; inserts: JournaledInsert[] } {
    const lines = names.flatMap((_, at) =>
      readFileSync(this.#file(at as 0 | 1), 'utf8')
        .split('\n')
        .filter(Boolean),
    )
    const newest = new Map<string, JournaledCount>()
    const inserts = new Map<number, JournaledInsert>()
    const allEnded = new Set<number>()
    for (const line of lines) {
      let read: JournaledTotals | JournaledInsert
      try {
        read = JSON.parse(line) as JournaledTotals | JournaledInsert
      } catch {
        continue
      }
      if ('place' in read) {
        inserts.set(read.place, read)
        continue
      }
      for (const place of read.ended) allEnded.add(place)
      for (const total of read.totals) {
        const key = `${total.day} ${total.writer}`
        // A total never decreases.
        if ((newest.get(key)?.entries ?? -1) <= total.entries) newest.set(key, total)
      }
    }
    return {
      totals: [...newest.values()],
      inserts: [...inserts.values()].filter(({ place }) => !allEnded.has(place)),
    }
  }

  clear(): void {
    for (const [at] of names.entries()) this.#empty(at as 0 | 1)
  }

  close(): void {
    for (const [at, file] of this.#files.entries()) {
      if (file !== undefined) closeSync(file)
      this.#files[at] = undefined
    }
  }

  #write(lines: string): void {
    const text = Buffer.from(lines)
    this.#isEmpty[this.#current] = false
    for (let at = 0; at < text.length; ) at += writeSync(this.#file(this.#current), text, at)
  }

  #empty(at: 0 | 1): void {
    ftruncateSync(this.#file(at))
    this.#isEmpty[at] = true
  }

  #file(at: 0 | 1): number {
    this.#files[at] ??= openSync(join(this.#dataDir, names[at]), 'a+', 0o600)
    return this.#files[at]
  }
}
