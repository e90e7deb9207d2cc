/** Shares of the engine: together a tenth. Slow queries have their own, so that they do not delay the others. */
const shares = { quick: 0.08, slow: 0.02 } as const
type Lane = keyof typeof shares

/** Queries that take longer are slow. */
const slowMs = 1_000

/** How long a share may be saved up. */
const burstMs = 5_000

/** Maximum number of queries at a time; one of them may be slow. */
const maxRunning = { quick: 2, slow: 1 } as const

const maxKeys = 10_000

/** Limits how much of the engine's time evaluations use. */
export class EngineShare {
  readonly #slots: number
  readonly #lanes: Record<Lane, { leftMs: number; atMs: number; running: number }>
  readonly #slow = new Set<string>()

  constructor(slots: number, nowMs: number) {
    this.#slots = slots
    const lane = (name: Lane) => ({ leftMs: burstMs * shares[name] * slots, atMs: nowMs, running: 0 })
    this.#lanes = { quick: lane('quick'), slow: lane('slow') }
  }

  /** When the next query of this key may start. Infinity: when another one has ended. */
  freeAt(key: string, nowMs: number): number {
    const name = this.#laneOf(key)
    const lane = this.#lanes[name]
    if (lane.running >= maxRunning[name]) return Infinity
    const perMs = shares[name] * this.#slots
    lane.leftMs = Math.min(burstMs * perMs, lane.leftMs + (nowMs - lane.atMs) * perMs)
    lane.atMs = nowMs
    return lane.leftMs > 0 ? nowMs : nowMs - lane.leftMs / perMs + 1
  }

  /** Returns a function that ends the query and takes the time that it used. */
  begin(key: string): (usedMs: number) => void {
    const lane = this.#lanes[this.#laneOf(key)]
    lane.running++
    return (usedMs) => {
      lane.running--
      const isSlow = usedMs > slowMs
      if (!isSlow) this.#slow.delete(key)
      else if (this.#slow.size < maxKeys) this.#slow.add(key)
      this.#lanes[isSlow ? 'slow' : 'quick'].leftMs -= usedMs
    }
  }

  #laneOf(key: string): Lane {
    return this.#slow.has(key) ? 'slow' : 'quick'
  }
}
