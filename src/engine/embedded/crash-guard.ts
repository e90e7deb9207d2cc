import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import type { Blame } from '../engine.ts'

interface CrashGuardOptions {
  clock: Clock
  /** Number of crashes within the window after which a statement is refused. */
  crashes: number
  windowMs: number
  refusalMs: number
  blamed: typeof blamedBounds
  maxEntries: number
}

export const statementBounds = { crashes: 3, windowMs: 60_000, refusalMs: 600_000 }

export const blamedBounds = {
  windowMs: 24 * 3_600_000,
  /** How long the first refusal lasts. Each further crash within the window makes it `growth` times as long. */
  refusalMs: 300_000,
  growth: 4,
  maxRefusalMs: 6 * 3_600_000,
}

interface Suspect {
  /** Equal for equal SQL with equal values. */
  statement: string
  blame: readonly Blame[]
}

export interface Refusal {
  /** A statement, or the key of a blamed origin. */
  key: string
  forMs: number
}

interface CrashRecord {
  /** The weight is 1 for the statement that crashed the engine, and less for one that was running then. */
  crashes: { at: number; weight: number }[]
  refusedUntil: number
}

/** Even a statement that ran alone may not be the cause: the system may have killed the engine. */
const maxSharedWeight = 0.5

/** Refusals reach their maximum long before. */
const maxCrashesKept = 100

/**
 * Remembers which statements were running when the engine crashed, and their origins. A statement that was running at
 * each of several crashes is refused for a while. So are all statements of a blamed origin, because changing a constant
 * is enough to change the text.
 */
export class CrashGuard {
  readonly #options: CrashGuardOptions
  readonly #statements: LRUCache<string, CrashRecord>
  readonly #blamed: LRUCache<string, CrashRecord>

  constructor(options: CrashGuardOptions) {
    this.#options = options
    this.#statements = new LRUCache({ max: options.maxEntries })
    this.#blamed = new LRUCache({ max: options.maxEntries })
  }

  /** Whether no statement is suspected, so that none needs a key. */
  get isQuiet(): boolean {
    return this.#statements.size === 0
  }

  refusedForMs(statement: string): number {
    return this.#leftMs(this.#statements.peek(statement))
  }

  blamedForMs(blame: readonly Blame[]): number {
    if (this.#blamed.size === 0) return 0
    return Math.max(0, ...blame.map(({ key }) => this.#leftMs(this.#blamed.peek(key))))
  }

  /** Records a crash with a known cause. Returns what is refused from now on. */
  recordCrash({ statement, blame }: Suspect): Refusal[] {
    return [...this.#countStatements([statement]), ...this.#countBlame(blame, 1)]
  }

  /** Records a crash that any of these may have caused: each key gets its share of the blame. */
  suspect(suspects: readonly Suspect[]): Refusal[] {
    const blamed = new Map<string, { each: Blame; count: number }>()
    for (const each of suspects.flatMap(({ blame }) => blame)) {
      blamed.set(each.key, { each, count: (blamed.get(each.key)?.count ?? 0) + 1 })
    }
    return [
      ...this.#countStatements(suspects.map(({ statement }) => statement)),
      ...[...blamed.values()].flatMap(({ each, count }) =>
        this.#countBlame([each], Math.min(maxSharedWeight, count / suspects.length)),
      ),
    ]
  }

  /** Clears a statement that finished, but not its origins: they may have sent the cause, too. */
  clear(statement: string): void {
    this.#statements.delete(statement)
  }

  #countStatements(statements: readonly string[]): Refusal[] {
    const { crashes, windowMs, refusalMs } = this.#options
    return [...new Set(statements)].flatMap((key) => {
      const sum = this.#count(this.#statements, key, 1, windowMs)
      return sum < crashes ? [] : [this.#refuse(this.#statements, key, refusalMs)]
    })
  }

  #countBlame(blame: readonly Blame[], weight: number): Refusal[] {
    const { windowMs, refusalMs, growth, maxRefusalMs } = this.#options.blamed
    return blame.flatMap(({ key, crashes }) => {
      const excess = this.#count(this.#blamed, key, weight, windowMs) - crashes
      if (excess < 0) return []
      const forMs = Math.min(maxRefusalMs, refusalMs * growth ** Math.floor(excess))
      return [this.#refuse(this.#blamed, key, forMs)]
    })
  }

  #count(records: LRUCache<string, CrashRecord>, key: string, weight: number, windowMs: number): number {
    const now = this.#options.clock.now()
    const record = records.get(key) ?? { crashes: [], refusedUntil: 0 }
    record.crashes = [...record.crashes.filter(({ at }) => at > now - windowMs), { at: now, weight }].slice(
      -maxCrashesKept,
    )
    records.set(key, record)
    return record.crashes.reduce((sum, crash) => sum + crash.weight, 0)
  }

  #refuse(records: LRUCache<string, CrashRecord>, key: string, forMs: number): Refusal {
    const record = records.get(key)
    if (record) record.refusedUntil = this.#options.clock.now() + forMs
    return { key, forMs }
  }

  #leftMs(record: CrashRecord | undefined): number {
    return record ? Math.max(0, record.refusedUntil - this.#options.clock.now()) : 0
  }
}
