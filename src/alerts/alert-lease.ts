import { randomUUID } from 'node:crypto'
import type { AlertParts } from './alert-parts.ts'
import { type AlertTable, writeWithinMs } from './alert-table.ts'

const leaseId = 'lease'
const nobody = 'nobody'
const beatEveryMs = 5_000

/** How long the holder relies on its last beat. With the deadline of a write, it ends before another service takes over. */
const heldForMs = 15_000
const takenAfterMs = heldForMs + writeWithinMs + beatEveryMs

/**
 * Decides which of several services on one ClickHouse server evaluates alerts. Its holder writes a beat every few seconds.
 * Beats are numbered, and the server accepts one of several with the same number. Another service takes over if it sees no
 * new beat for a while; it measures this with its own clock, since clocks of several machines differ.
 */
export class AlertLease {
  readonly #parts: Pick<AlertParts, 'catalog' | 'time'>
  readonly #table: AlertTable
  readonly #me = randomUUID()
  #beat = 0
  #nextBeatMs = 0
  #validUntilMs = 0
  #seen = { beat: -1, atMs: 0 }

  constructor(parts: Pick<AlertParts, 'catalog' | 'time'>, table: AlertTable) {
    this.#parts = parts
    this.#table = table
  }

  /** Whether this service evaluates alerts now. */
  get isHeld(): boolean {
    return !this.#parts.catalog.shared || this.#parts.time.now() < this.#validUntilMs
  }

  /** Renews the lease, or takes it if nobody has it. */
  async renew(): Promise<void> {
    const { catalog, time } = this.#parts
    const now = time.now()
    if (!catalog.shared || now < this.#nextBeatMs) return
    this.#nextBeatMs = now + beatEveryMs
    const { beat, holder } = await this.#lastBeat()
    if (this.#nextBeatMs === Infinity) return
    if (beat !== this.#seen.beat) this.#seen = { beat, atMs: now }
    if (holder !== nobody && holder !== this.#me && now - this.#seen.atMs < takenAfterMs) return
    // A number whose row was lost in a power cut is skipped, because the server may still remember it.
    this.#beat = Math.max(this.#beat, beat) + 1
    const settings = { insert_deduplication_token: `beat ${this.#beat}` }
    await this.#table.insert(this.#beat, [[leaseId, this.#me]], settings)
    if ((await this.#lastBeat()).holder === this.#me) this.#validUntilMs = now + heldForMs
  }

  /** Lets another service take over at once. This one does not take it again. */
  async release(): Promise<void> {
    this.#nextBeatMs = Infinity
    if (this.#parts.catalog.shared && this.isHeld)
      await this.#table.insert(this.#beat + 1, [[leaseId, nobody]])
  }

  async #lastBeat() {
    const [row] = await this.#table.read(`id = '${leaseId}'`)
    return { beat: Number(row?.sequence ?? 0), holder: row?.body ?? nobody }
  }
}
