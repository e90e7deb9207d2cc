/** Shares of the engine: together a tenth. Slow queries have their own, so that they do not delay the others. */
const shares = { quick: 0.09, slow: 0.01 }
type Lane = keyof typeof shares

/** Queries that take longer are slow. */
const slowMs = 1_000

/** How long a share may be saved up. */
const burstMs = 5_000

const maxKeys = 10_000

/** Limits how much of the engine's time evaluations use. */
export class EngineShare {
  readonly #slots: number
  readonly #leftMs = { quick: Infinity, slow: Infinity }
  #atMs = 0
  readonly #slow = new Set<string>()

  /** Takes the number of queries that the engine runs at a time. */
  constructor(slots: number) {
    this.#slots = slots
  }

  /** Whether the next query of this key may start. */
  isFree(key: string, nowMs: number): boolean {
    for (const lane of ['quick', 'slow'] as const) {
      const perMs = shares[lane] * this.#slots
      this.#leftMs[lane] = Math.min(burstMs * perMs, this.#leftMs[lane] + (nowMs - this.#atMs) * perMs)
    }
    this.#atMs = nowMs
    return this.#leftMs[this.laneOf(key)] > 0
  }

  use(key: string, usedMs: number): void {
    if (usedMs <= slowMs) this.#slow.delete(key)
    else if (this.#slow.size < maxKeys) this.#slow.add(key)
    this.#leftMs[this.laneOf(key)] -= usedMs
  }

  laneOf(key: string): Lane {
    return this.#slow.has(key) ? 'slow' : 'quick'
  }
}
