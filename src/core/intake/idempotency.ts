import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { idempotencyMismatch } from '../base/errors.ts'
import { idempotencyDays } from '../catalog/own-tables.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'

const keptMs = idempotencyDays * 86_400_000
const limits = { deadlineMs: 60_000 }

/** Bytes of recent responses in memory. Others are read from the engine. */
const maxRecentBytes = 8 * 2 ** 20

/** A result, and whether it is that of an earlier request with the same key. */
export interface OnceResult<T> {
  result: T
  repeated: boolean
}

interface Stored {
  atMs: number
  /** Of the body. */
  digest: string
  response: string
  /** Of all entries; empty if they are of several. */
  project: string
}

/** What erasures mean for keys. */
export interface ErasedKeys {
  /** The last erasure of all that a project had: since then, its requests are new ones to the engine, too. */
  lastOf(project: string): string | undefined
  /** Condition for rows of keys that are being removed. */
  hiddenKeys(): string | undefined
}

/** Results by idempotency key, for a day. Each is in the engine before it is returned, so it survives a crash. */
export class IdempotencyKeys {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #erased: ErasedKeys
  readonly #recent = new LRUCache<string, Stored>({
    maxSize: maxRecentBytes,
    sizeCalculation: ({ response }) => response.length + 256,
  })
  readonly #running = new Map<string, { digest: string; run: Promise<OnceResult<unknown>> }>()

  constructor(
    engine: Engine,
    clock: Clock,
    erased: ErasedKeys = { lastOf: () => undefined, hiddenKeys: () => undefined },
  ) {
    this.#engine = engine
    this.#clock = clock
    this.#erased = erased
  }

  /**
   * Runs the work once for each key, and refuses the key with another body. The work gets a token under which the engine
   * stores an insert once.
   */
  async once<T>(
    scope: readonly string[],
    key: string,
    digest: string,
    work: (token: string) => Promise<T>,
    project = '',
  ): Promise<OnceResult<T>> {
    const token = sha256(scope, key)
    const running = this.#running.get(token)
    if (running) {
      refuseOther(running.digest, digest)
      return { result: (await running.run).result as T, repeated: true }
    }
    const run = this.#run(token, digest, work, project).finally(() => this.#running.delete(token))
    this.#running.set(token, { digest, run })
    return run
  }

  /** Forgets what is known of a project in memory. Rows are removed from the engine by whoever erases them. */
  forget(project: string): void {
    for (const [token, stored] of this.#recent) if (stored.project === project) this.#recent.delete(token)
  }

  async #run<T>(
    token: string,
    digest: string,
    work: (token: string) => Promise<T>,
    project: string,
  ): Promise<OnceResult<T>> {
    const earlier = await this.#find(token)
    if (earlier) {
      refuseOther(earlier.digest, digest)
      return { result: JSON.parse(earlier.response) as T, repeated: true }
    }
    const result = await work(sha256(token, digest, this.#erased.lastOf(project)))
    const stored = { atMs: this.#clock.now(), digest, response: JSON.stringify(result), project }
    const { atMs, ...rest } = stored
    const row = { ...rest, key: token, at: (atMs / 1000).toFixed(3) }
    await this.#engine.insert({ table: '_idempotency', format: 'JSONEachRow' }, writeJsonRows([row]), limits)
    this.#recent.set(token, stored)
    return { result, repeated: false }
  }

  async #find(key: string): Promise<Stored | undefined> {
    const since = this.#clock.now() - keptMs
    const recent = this.#recent.get(key)
    if (recent && recent.atMs > since) return recent
    const hidden = this.#erased.hiddenKeys()
    const statement = {
      sql:
        'SELECT toUnixTimestamp64Milli(at) AS atMs, digest, response, project FROM _idempotency ' +
        'WHERE key = {key:String} AND at > fromUnixTimestamp64Milli({since:Int64}) ' +
        `${hidden === undefined ? '' : `AND NOT (${hidden}) `}LIMIT 1`,
      parameters: { key, since },
      settings: { output_format_json_quote_64bit_integers: 0 },
    }
    const [stored] = await queryRows<Stored>(this.#engine, statement, limits)
    if (stored) this.#recent.set(key, stored)
    return stored
  }
}

function refuseOther(stored: string, digest: string): void {
  if (stored !== digest) throw idempotencyMismatch()
}

function sha256(...parts: unknown[]): string {
  const known = parts.filter((part) => part !== undefined)
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}
