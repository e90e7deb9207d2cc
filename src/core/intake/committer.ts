import { randomUUID } from 'node:crypto'
import { engineUnavailable, rateLimited } from '../base/errors.ts'
import type { Engine, InsertMark } from '../engine/engine.ts'
import { isDiskTrouble, isUnreadableRow } from '../engine/engine-errors.ts'
import type { PendingInserts, PendingLines } from './admission.ts'
import { Lines } from './lines.ts'

interface CommitterOptions {
  engine: Pick<Engine, 'insert' | 'hasInserts'>
  /** Maximum bytes that wait or are being inserted; further requests get 429. */
  maxPendingBytes: number
  maxInsertBytes: number
  attempts: number
  /** Called with the lines that are on disk now, in the order in which they were stored. */
  onStored?: (source: string, lines: Iterable<Buffer>) => void
  /** Keeps counts of lines that may be stored although the service is killed before it knows. */
  pending?: PendingInserts
  /** Waits between two attempts: a remote server that is down refuses at once. */
  pause: (ms: number) => Promise<void>
}

const firstPauseMs = 50
const longestPauseMs = 1_000

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata'] as const

export interface Batch {
  source: string
  lines: Lines
  counts?: PendingLines
  /** Makes the lines an insert of their own, which the engine stores once however often it is sent. */
  token?: string | undefined
  /** The rest of a request that is already stored in part; never refused. */
  begun?: boolean
  /** Overrides how often the insert is tried. */
  attempts?: number | undefined
}

interface Waiting extends Batch {
  resolve: (refused: Map<number, string>) => void
  reject: (error: unknown) => void
}

interface Queue {
  waiting: Waiting[]
  drained: Promise<void>
}

/** Group commit: lines that arrive while an insert runs become the next insert. */
export class Committer {
  readonly #options: CommitterOptions
  readonly #queues = new Map<string, Queue>()
  #pendingBytes = 0

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Resolves when all lines are on disk; returns, for each batch, the lines that the engine refused and why. */
  async submit(...batches: Batch[]): Promise<Map<number, string>[]> {
    const total = batches.reduce((sum, { lines }) => sum + lines.bytes.length, 0)
    const full = this.#pendingBytes > 0 && this.#pendingBytes + total > this.#options.maxPendingBytes
    if (full && !batches.every(({ begun }) => begun)) {
      throw rateLimited('Too many entries are waiting to be stored. Send this request again later.', 1)
    }
    return Promise.all(batches.map((batch) => this.#enqueue(batch)))
  }

  #enqueue(batch: Batch): Promise<Map<number, string>> {
    if (batch.lines.count === 0) return Promise.resolve(new Map())
    this.#pendingBytes += batch.lines.bytes.length
    const { waiting } = this.#queues.get(batch.source) ?? this.#open(batch.source)
    return new Promise((resolve, reject) => waiting.push({ ...batch, resolve, reject }))
  }

  #open(source: string): Queue {
    const waiting: Waiting[] = []
    const queue = { waiting, drained: this.#drain(source, waiting) }
    this.#queues.set(source, queue)
    return queue
  }

  async settled(): Promise<void> {
    while (this.#queues.size > 0) await Promise.all([...this.#queues.values()].map(({ drained }) => drained))
  }

  async #drain(source: string, waiting: Waiting[]): Promise<void> {
    // Groups what arrives in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const group = this.#nextGroup(waiting)
      await this.#commit(source, group)
      for (const { lines } of group) this.#pendingBytes -= lines.bytes.length
    }
    this.#queues.delete(source)
  }

  /** A batch with a token is an insert of its own. */
  #nextGroup(waiting: Waiting[]): Waiting[] {
    let bytes = 0
    const end = waiting.findIndex(({ token, lines }, at) => {
      bytes += lines.bytes.length
      const isAlone = token !== undefined || waiting[0]?.token !== undefined
      return at > 0 && (isAlone || bytes > this.#options.maxInsertBytes)
    })
    return waiting.splice(0, end < 0 ? waiting.length : end)
  }

  async #commit(source: string, group: Waiting[]): Promise<void> {
    const lines = Lines.join(group.map((waiting) => waiting.lines))
    const refused = new Map<number, string>()
    const counts = group.flatMap((waiting) => waiting.counts ?? [])
    const { token, attempts = this.#options.attempts } = group[0] as Waiting
    let mark: InsertMark | undefined
    const onSend = (sent: InsertMark) => {
      if (mark === undefined && counts.length > 0) {
        // A start counts the insert only if all of it is there: what is missing comes again with a retry.
        this.#options.pending?.begin({ ...sent, days: lines.days() }, counts)
      }
      mark ??= sent
    }
    try {
      const part = { source, lines, from: 0, to: lines.count, token: token ?? randomUUID(), attempts, onSend }
      await this.#store(part, refused)
      if (token !== undefined && mark && refused.size === 0) await this.#findRepeated(mark, counts)
    } catch (error) {
      this.#options.pending?.end(counts)
      for (const waiting of group) waiting.reject(error)
      return
    }
    this.#options.onStored?.(source, refused.size === 0 ? lines : without(lines, refused))
    let first = 0
    for (const waiting of group) {
      const own = new Map<number, string>()
      for (const [at, reason] of refused) {
        if (at >= first && at < first + waiting.lines.count) own.set(at - first, reason)
      }
      first += waiting.lines.count
      waiting.resolve(own)
    }
  }

  /** The engine takes an insert with a token that it knows for a repeated one, and stores nothing. */
  async #findRepeated(mark: InsertMark, counts: readonly PendingLines[]): Promise<void> {
    const isStored = (await this.#options.engine.hasInserts?.(mark).catch(() => true)) ?? true
    if (!isStored) for (const each of counts) each.isRepeated = true
  }

  /** Finds lines that the engine cannot read by halving the insert, so that the others are stored. */
  async #store(part: Part, refused: Map<number, string>): Promise<void> {
    const { from, to, token } = part
    try {
      await this.#insert(part)
    } catch (error) {
      if (!isUnreadableRow(error)) throw error
      if (to - from === 1) {
        refused.set(from, 'the engine cannot store the entry')
        return
      }
      const half = (from + to) >> 1
      await this.#store({ ...part, to: half, token: `${token}/0` }, refused)
      await this.#store({ ...part, from: half, token: `${token}/1` }, refused)
    }
  }

  async #insert({ source, lines, from, to, token, attempts, onSend }: Part): Promise<void> {
    const { engine, pause } = this.#options
    const settings = {
      // Merges build them.
      materialize_skip_indexes_on_insert: 0,
      insert_deduplication_token: token,
      // Metadata is stored as text, whatever the server's profile says.
      input_format_json_read_objects_as_strings: 1,
      // Each day is a partition, and entries may be of any day.
      max_partitions_per_insert_block: 0,
    }
    const target = { table: source, columns, format: 'JSONEachRow' as const, settings }
    for (let attempt = 1; ; attempt++) {
      try {
        await engine.insert(target, lines.between(from, to), { deadlineMs: 60_000, onSend })
        return
      } catch (error) {
        // The lines may have been stored or not; the token makes sure that they are stored once.
        const isAway = engineUnavailable.is(error) && !isDiskTrouble(error)
        if (!isAway || attempt >= attempts) throw error
        await pause(Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs))
      }
    }
  }
}

interface Part {
  source: string
  lines: Lines
  from: number
  to: number
  token: string
  attempts: number
  onSend: (mark: InsertMark) => void
}

function* without(lines: Lines, refused: ReadonlyMap<number, string>): Generator<Buffer> {
  for (let at = 0; at < lines.count; at++) if (!refused.has(at)) yield lines.at(at)
}
