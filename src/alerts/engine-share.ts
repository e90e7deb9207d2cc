/** Queries that take longer are slow. */
const slowMs = 1_000

/** How long a share may be saved up. */
const burstMs = 5_000

/** Limits evaluations to a tenth of the engine's time, by the machine's own clock. */
export class EngineShare {
  /** Slow queries have their own share, so that they do not delay the others. */
  readonly #lanes = {
    quick: { share: 0.09, maxRunning: 4, leftMs: Infinity, atMs: 0, running: 0 },
    slow: { share: 0.01, maxRunning: 1, leftMs: Infinity, atMs: 0, running: 0 },
  }
  readonly #slow = new Set<string>()
  readonly #slots: number

  /** Takes the number of queries that the engine runs at a time. */
  constructor(slots: number) {
    this.#slots = slots
  }

  /** Undefined if the query of this key has to wait. Otherwise a function that ends it and takes the time that it used. */
  begin(key: string): ((usedMs: number) => void) | undefined {
    const lane = this.#lanes[this.#slow.has(key) ? 'slow' : 'quick']
    const nowMs = performance.now()
    const perMs = lane.share * this.#slots
    lane.leftMs = Math.min(burstMs * perMs, lane.leftMs + (nowMs - lane.atMs) * perMs)
    lane.atMs = nowMs
    if (lane.leftMs <= 0 || lane.running >= lane.maxRunning) return undefined
    lane.running++
    return (usedMs) => {
      lane.running--
      const isSlow = usedMs > slowMs
      this.#slow[isSlow ? 'add' : 'delete'](key)
      this.#lanes[isSlow ? 'slow' : 'quick'].leftMs -= usedMs
    }
  }
}
