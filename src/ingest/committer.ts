import { randomUUID } from 'node:crypto'
import { rateLimited } from '../base/errors.ts'

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
  onStored?: (source: string, lines: readonly Buffer[]) => void
  /** Waits between two tries: an engine that is somebody's server refuses at once. */
  pause: (ms: number) => Promise<void>
}

const firstPauseMs = 50
const longestPauseMs = 1_000

export interface Batch {
  source: string
  lines: Buffer[]
  /** With one, the lines are an insert of their own, which the engine stores once however often it comes. */
  token?: string | undefined
  /** Belongs to a request that is stored already in part, and so is never refused. */
  begun?: boolean
}

interface Waiting {
  lines: Buffer[]
  bytes: number
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
    const bytes = batches.map(({ lines }) => lines.reduce((sum, line) => sum + line.length, 0))
    const total = bytes.reduce((sum, size) => sum + size, 0)
    // All of a request or nothing of it; and whatever was begun is finished.
    const full = this.#pendingBytes > 0 && this.#pendingBytes + total > this.#options.maxPendingBytes
    if (full && !batches.every(({ begun }) => begun)) {
      throw rateLimited('More logs are on their way than can be stored at the moment.', 1)
    }
    return Promise.all(batches.map((batch, index) => this.#enqueue(batch, bytes[index] as number)))
  }

  #enqueue({ source, lines, token }: Batch, bytes: number): Promise<Map<number, string>> {
    if (lines.length === 0) return Promise.resolve(new Map())
    this.#pendingBytes += bytes
    const queue = this.#queues.get(source) ?? { waiting: [], running: false }
    this.#queues.set(source, queue)
    return new Promise((resolve, reject) => {
      queue.waiting.push({ lines, bytes, token, resolve, reject })
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
      for (const { bytes } of group) this.#pendingBytes -= bytes
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
      if (group.length > 0 && (alone || bytes + next.bytes > this.#options.maxInsertBytes)) break
      group.push(next)
      queue.waiting.shift()
      bytes += next.bytes
      if (alone) break
    }
    return group
  }

  async #commit(source: string, group: Waiting[]): Promise<void> {
    const lines = group.flatMap((waiting) => waiting.lines)
    const refused = new Map<number, string>()
    try {
      await this.#store(source, lines, 0, group[0]?.token ?? randomUUID(), refused)
    } catch (error) {
      for (const waiting of group) waiting.reject(error)
      return
    }
    this.#options.onStored?.(source, refused.size === 0 ? lines : lines.filter((_, at) => !refused.has(at)))
    let first = 0
    for (const waiting of group) {
      const own = new Map<number, string>()
      for (let i = 0; i < waiting.lines.length; i++) {
        const reason = refused.get(first + i)
        if (reason !== undefined) own.set(i, reason)
      }
      first += waiting.lines.length
      waiting.resolve(own)
    }
  }

  /** One line that the engine cannot read must not refuse its neighbours: they are stored without it. */
  async #store(
    source: string,
    lines: Buffer[],
    offset: number,
    token: string,
    refused: Map<number, string>,
  ): Promise<void> {
    try {
      await this.#insert(source, lines, token)
    } catch (error) {
      if (!this.#options.isUnreadable(error)) throw error
      if (lines.length === 1) {
        refused.set(offset, 'the engine cannot store it')
        return
      }
      const half = lines.length >> 1
      await this.#store(source, lines.slice(0, half), offset, `${token}/0`, refused)
      await this.#store(source, lines.slice(half), offset + half, `${token}/1`, refused)
    }
  }

  async #insert(source: string, lines: Buffer[], token: string): Promise<void> {
    const body = Buffer.concat(lines)
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
