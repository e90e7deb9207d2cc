/** Shares of the engine: together a tenth. Slow queries have their own, so that they do not delay the others. */
const lanes = { quick: { share: 0.09, maxRunning: 4 }, slow: { share: 0.01, maxRunning: 1 } }

/** Queries that take longer are slow. */
const slowMs = 1_000

/** How long a share may be saved up. */
const burstMs = 5_000

const retryAfterMs = 100

/** Limits how much of the engine's time evaluations use, by the machine's own clock. */
export class EngineShare {
  readonly #slots: number
  readonly #left = {
    quick: { ms: Infinity, atMs: 0, running: 0 },
    slow: { ms: Infinity, atMs: 0, running: 0 },
  }
  readonly #slow = new Set<string>()

  readonly #onFree: () => void
  #timer: NodeJS.Timeout | undefined

  /** Takes the number of queries that the engine runs at a time. */
  constructor(slots: number, onFree: () => void) {
    this.#slots = slots
    this.#onFree = onFree
  }

  /** Undefined if the query of this key has to wait. Otherwise a function that ends it and takes the time that it used. */
  begin(key: string): ((usedMs: number) => void) | undefined {
    const name = this.#slow.has(key) ? 'slow' : 'quick'
    const lane = this.#left[name]
    const nowMs = performance.now()
    const perMs = lanes[name].share * this.#slots
    lane.ms = Math.min(burstMs * perMs, lane.ms + (nowMs - lane.atMs) * perMs)
    lane.atMs = nowMs
    if (lane.running >= lanes[name].maxRunning) return undefined
    if (lane.ms <= 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#onFree()
      }, retryAfterMs).unref()
      return undefined
    }
    lane.running++
    return (usedMs) => {
      lane.running--
      if (usedMs > slowMs) this.#slow.add(key)
      else this.#slow.delete(key)
      this.#left[usedMs > slowMs ? 'slow' : 'quick'].ms -= usedMs
    }
  }
}
