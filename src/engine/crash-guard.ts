import type { Clock } from '../base/clock.ts'

export interface CrashGuardOptions {
  clock: Clock
  /** So many ends of the engine within the window make a query refused. */
  crashes: number
  windowMs: number
  refusalMs: number
  /** How many queries are remembered at most. */
  maxEntries: number
}

interface Record {
  crashes: number[]
  refusedUntil: number
}

/**
 * Remembers which queries were running when the engine ended. A query that is there each time, and never
 * finishes in between, is refused for a while instead of ending the engine for everybody.
 */
export class CrashGuard {
  readonly #options: CrashGuardOptions
  readonly #records = new Map<string, Record>()

  constructor(options: CrashGuardOptions) {
    this.#options = options
  }

  /** Milliseconds for which the query is still refused; 0 when it may run. */
  refusedForMs(query: string): number {
    const record = this.#records.get(query)
    return record ? Math.max(0, record.refusedUntil - this.#options.clock.now()) : 0
  }

  /** Returns the queries that are refused from now on. */
  blame(queries: Iterable<string>): string[] {
    const now = this.#options.clock.now()
    const refused: string[] = []
    for (const query of new Set(queries)) {
      const record = this.#records.get(query) ?? { crashes: [], refusedUntil: 0 }
      record.crashes = [...record.crashes.filter((at) => at > now - this.#options.windowMs), now]
      if (record.crashes.length >= this.#options.crashes) {
        record.refusedUntil = now + this.#options.refusalMs
        refused.push(query)
      }
      this.#records.delete(query)
      this.#records.set(query, record)
    }
    while (this.#records.size > this.#options.maxEntries) {
      this.#records.delete(this.#records.keys().next().value as string)
    }
    return refused
  }

  /** Who finishes was not the cause. */
  clear(query: string): void {
    if (this.#records.size > 0) this.#records.delete(query)
  }
}
