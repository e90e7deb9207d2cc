import { randomUUID } from 'node:crypto'
import { rateLimited } from '../base/errors.ts'
import { Lines } from './lines.ts'

export interface CommitterOptions {
  /** Stores lines so that they are on disk when it resolves; the same token is stored once. */
  insert: (source: string, lines: Buffer, token: string) => Promise<void>
  /** Whether an insert was refused for what is in its lines, so that some of them may be fine. */
  isUnreadable: (error: unknown) => boolean
  /** Whether an insert failed because nobody was there to take it, and somebody soon may be. */
  isAway: (error: unknown) => boolean
  /** Bytes that may wait or be on their way at once; beyond them senders are told to wait. */
  maxPendingBytes: number
  /** An insert takes so much at once. */
  maxInsertBytes: number
  /** How often an insert is tried while the engine is away. */
  attempts: number
  /** Hears what is on disk now, in the order in which it got there. */
  onStored?: (source: string, lines: Iterable<Buffer>) => void
  /** Waits between two tries: an engine that is somebody's server refuses at once. */
  pause: (ms: number) => Promise<void>
}

const firstPauseMs = 50
const longestPauseMs = 1_000

export interface Batch {
  source: string
  lines: Lines
  /** With one, the lines are an insert of their own, which the engine stores once however often it comes. */
  token?: string | undefined
  /** Belongs to a request that is stored already in part, and so is never refused. */
  begun?: boolean
}

interface Waiting {
  lines: Lines
  token: string | undefined
  resolve: (refused: Map<number, string>) => void
  reject: (error: unknown) => void
}

interface Queue {
  waiting: Waiting[]
  running: boolean
}

/**
 * Group commit: what arrives while an insert runs becomes the next one. Each sender hears of its own lines
 * when they are on disk.
 */
export class Committer {
  readonly #options: CommitterOptions
  readonly #queues = new Map<string, Queue>()
  #pendingBytes = 0
  #idle: (() => void)[] = []

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Resolves when all lines are on disk, with those of each batch that the engine refused and why. */
  async submit(...batches: Batch[]): Promise<Map<number, string>[]> {
    const total = batches.reduce((sum, { lines }) => sum + lines.bytes.length, 0)
    // All of a request or nothing of it; and whatever was begun is finished.
    const full = this.#pendingBytes > 0 && this.#pendingBytes + total > this.#options.maxPendingBytes
    if (full && !batches.every(({ begun }) => begun)) {
      throw rateLimited('More logs are on their way than can be stored at the moment.', 1)
    }
    return Promise.all(batches.map((batch) => this.#enqueue(batch)))
  }

  #enqueue({ source, lines, token }: Batch): Promise<Map<number, string>> {
    if (lines.count === 0) return Promise.resolve(new Map())
    this.#pendingBytes += lines.bytes.length
    const queue = this.#queues.get(source) ?? { waiting: [], running: false }
    this.#queues.set(source, queue)
    return new Promise((resolve, reject) => {
      queue.waiting.push({ lines, token, resolve, reject })
      if (!queue.running) void this.#drain(source, queue)
    })
  }

  /** Resolves when nothing is waiting or on its way. */
  settled(): Promise<void> {
    if (this.#pendingBytes === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  async #drain(source: string, queue: Queue): Promise<void> {
    queue.running = true
    // What arrives in the same turn of the event loop belongs together.
    await new Promise((resolve) => setImmediate(resolve))
    while (queue.waiting.length > 0) {
      const group = this.#take(queue)
      await this.#commit(source, group)
      for (const { lines } of group) this.#pendingBytes -= lines.bytes.length
    }
    queue.running = false
    this.#queues.delete(source)
    if (this.#pendingBytes === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  #take(queue: Queue): Waiting[] {
    const group: Waiting[] = []
    let bytes = 0
    while (queue.waiting.length > 0) {
      const next = queue.waiting[0] as Waiting
      const alone = next.token !== undefined
      if (group.length > 0 && (alone || bytes + next.lines.bytes.length > this.#options.maxInsertBytes)) break
      group.push(next)
      queue.waiting.shift()
      bytes += next.lines.bytes.length
      if (alone) break
    }
    return group
  }

  async #commit(source: string, group: Waiting[]): Promise<void> {
    const lines = Lines.join(group.map((waiting) => waiting.lines))
    const refused = new Map<number, string>()
    try {
      const token = group[0]?.token ?? randomUUID()
      await this.#store({ source, lines, from: 0, to: lines.count, token }, refused)
    } catch (error) {
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

  /** One line that the engine cannot read must not refuse its neighbours: they are stored without it. */
  async #store(part: Part, refused: Map<number, string>): Promise<void> {
    const { from, to, token } = part
    try {
      await this.#insert(part)
    } catch (error) {
      if (!this.#options.isUnreadable(error)) throw error
      if (to - from === 1) {
        refused.set(from, 'the engine cannot store it')
        return
      }
      const half = (from + to) >> 1
      await this.#store({ ...part, to: half, token: `${token}/0` }, refused)
      await this.#store({ ...part, from: half, token: `${token}/1` }, refused)
    }
  }

  async #insert({ source, lines, from, to, token }: Part): Promise<void> {
    const body = lines.between(from, to)
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#options.insert(source, body, token)
      } catch (error) {
        // The engine went away in between: whether it had stored the lines or not, the token makes it once.
        if (!this.#options.isAway(error) || attempt >= this.#options.attempts) throw error
        await this.#options.pause(Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs))
      }
    }
  }
}

/** Lines that follow each other, on their way to the engine. */
interface Part {
  source: string
  lines: Lines
  from: number
  to: number
  token: string
}

function* without(lines: Lines, refused: ReadonlyMap<number, string>): Generator<Buffer> {
  for (let at = 0; at < lines.count; at++) if (!refused.has(at)) yield lines.at(at)
}
