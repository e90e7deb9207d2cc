import type { Timers } from '../../core/base/clock.ts'
import type { EntryMatch, StoredEntry } from '../../core/search/stored-entry.ts'
import { batchesOf, type LiveEntry, type LiveReader, type LiveRing } from './live-reader.ts'

/** A condition on entries. Queries with the same key match the same entries. */
export interface EntryQuery extends EntryMatch {
  key: string
}

interface LiveGroupOptions {
  caller: string
  query: EntryQuery | undefined
  ring: LiveRing
  since: number
  /** Whether the readers may see an entry. Undefined: all. */
  isKept?: (entry: LiveEntry) => boolean
  read: (entry: LiveEntry) => StoredEntry
  onIdle: () => void
}

/** For larger entries, each test is a step of its own. */
const largeBytes = 16 * 1024

/** Readers of one token with the same filter: each entry is matched once for all of them, and they get the same bytes. */
export class LiveGroup {
  readonly readers = new Set<LiveReader>()
  readonly #options: LiveGroupOptions
  /** Cursors of entries that are not matched yet. The ring has the entries, so they take no more memory. */
  #waiting: number[] = []
  #next = 0
  /** The results for the first waiting entry. */
  #results: boolean[] = []
  #matched: LiveEntry[] = []
  #hasLost = false

  constructor(options: LiveGroupOptions) {
    this.#options = options
  }

  get caller(): string {
    return this.#options.caller
  }

  get query(): EntryQuery | undefined {
    return this.#options.query
  }

  get hasWork(): boolean {
    return this.#next < this.#waiting.length
  }

  get isIdle(): boolean {
    return !this.hasWork && this.#matched.length === 0 && !this.#hasLost
  }

  /** Without a query there is nothing to match. */
  offer(entry: LiveEntry): void {
    const { query, ring, since, isKept } = this.#options
    if (entry.cursor <= since || isKept?.(entry) === false) return
    while (this.hasWork && (this.#waiting[this.#next] as number) <= ring.since) this.#lose()
    if (query === undefined) this.#matched.push(entry)
    else this.#waiting.push(entry.cursor)
  }

  step(): void {
    const { query, ring } = this.#options
    const entry = ring.find(this.#waiting[this.#next] as number)
    const isMatch = entry && query && this.#matches(entry, query)
    if (entry === undefined) this.#lose()
    else if (isMatch !== undefined) {
      if (isMatch) this.#matched.push(entry)
      this.#advance()
    }
  }

  flush(): void {
    if (this.#hasLost) for (const reader of this.readers) reader.reset(tooMuch)
    this.#hasLost = false
    for (const batch of batchesOf(this.#matched)) for (const reader of this.readers) reader.take(batch)
    this.#matched = []
    if (!this.hasWork) this.#options.onIdle()
  }

  loseAll(): void {
    this.stop()
    this.#hasLost = true
    this.flush()
  }

  stop(): void {
    this.#waiting = []
    this.#next = 0
    this.#results = []
  }

  /** Undefined if more steps are needed. */
  #matches(entry: LiveEntry, { tests, decide }: EntryQuery): boolean | undefined {
    const stored = this.#options.read(entry)
    if (entry.frame.length < largeBytes) return decide((test) => tests[test]?.(stored) ?? false)
    const next = tests[this.#results.length]
    if (next !== undefined) this.#results.push(next(stored))
    const isDone = this.#results.length === tests.length
    return isDone ? decide((test) => this.#results[test] ?? false) : undefined
  }

  /** Whether the entry matches is unknown, so readers cannot be told how many they missed. */
  #lose(): void {
    this.#hasLost = true
    this.#matched = []
    this.#advance()
  }

  #advance(): void {
    this.#results = []
    if (++this.#next * 2 < this.#waiting.length) return
    this.#waiting = this.#waiting.slice(this.#next)
    this.#next = 0
  }
}

const tooMuch =
  'Entries are missing here: they arrived faster than the conditions of this stream can be checked.'

interface Lane {
  spentMs: number
  groups: Set<LiveGroup>
}

/** How long live streams may use the event loop at a time; a single step can take longer. Others then have it for as long. */
const sliceMs = 5
/** Limits how much is written at once. */
const maxSteps = 2_000

/** Gives each token the same share of the time that live streams take, in slices of the event loop. */
export class LiveTurns {
  readonly #time: Timers
  readonly #lanes = new Map<string, Lane>()
  #isWaiting = false

  constructor(time: Timers) {
    this.#time = time
  }

  add(group: LiveGroup): void {
    const lane = this.#lanes.get(group.caller) ?? {
      spentMs: this.#leastSpent()?.[1].spentMs ?? 0,
      groups: new Set(),
    }
    this.#lanes.set(group.caller, lane)
    lane.groups.add(group)
    this.#wait(0)
  }

  #wait(ms: number): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#time.after(ms, () => {
      this.#isWaiting = false
      this.#run()
    })
  }

  #run(): void {
    const startMs = this.#time.now()
    const touched = new Set<LiveGroup>()
    let nowMs = startMs
    for (let steps = 0; steps < maxSteps && nowMs - startMs < sliceMs; steps++) {
      const [caller, lane] = this.#leastSpent() ?? []
      if (caller === undefined || lane === undefined) break
      const [group] = lane.groups as Set<LiveGroup>
      if (group?.hasWork) {
        group.step()
        touched.add(group)
      }
      const before = nowMs
      nowMs = this.#time.now()
      lane.spentMs += nowMs - before
      this.#moveBack(caller, lane, group as LiveGroup)
    }
    for (const group of touched) group.flush()
    if (this.#lanes.size > 0) this.#wait(nowMs - startMs)
  }

  /** Streams of one token take turns, so that all of them read an entry before the next one. */
  #moveBack(caller: string, lane: Lane, group: LiveGroup): void {
    lane.groups.delete(group)
    if (group.hasWork) lane.groups.add(group)
    this.#lanes.delete(caller)
    if (lane.groups.size > 0) this.#lanes.set(caller, lane)
  }

  #leastSpent(): [string, Lane] | undefined {
    let least: [string, Lane] | undefined
    for (const one of this.#lanes) if (least === undefined || one[1].spentMs < least[1].spentMs) least = one
    return least
  }
}
