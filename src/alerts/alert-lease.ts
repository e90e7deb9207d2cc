import { randomUUID } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import { versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type AlertStore, writeWithinMs } from './alert-store.ts'

interface AlertLeaseOptions {
  catalog: Catalog
  store: () => AlertStore
  time: Timers
  log: Log
}

const leaseId = 'alerts'
const beatEveryMs = 5_000

/** How long the holder relies on its last beat. With the deadline of a write, it ends before another service takes over. */
const heldForMs = 15_000
const takenAfterMs = heldForMs + writeWithinMs + beatEveryMs

/**
 * Decides which of several services on one ClickHouse server evaluates alerts. The catalog accepts one holder at a time, and
 * the holder writes a beat every few seconds. Another service takes over if it sees no new beat for a while; it measures this
 * with its own clock, since clocks of several machines differ.
 */
export class AlertLease {
  readonly #options: AlertLeaseOptions
  readonly #me = randomUUID()
  #holder: { id: string; version: number } | undefined
  #beats = 0
  #validUntilMs = Number.NEGATIVE_INFINITY
  #seen: { beat: string | undefined; atMs: number } | undefined
  #cancelTimer: (() => void) | undefined
  #running: Promise<void> = Promise.resolve()
  #onChange: () => void = () => {}

  constructor(options: AlertLeaseOptions) {
    this.#options = options
    options.catalog.onChange('lease', ([record]) => {
      if (!record) return
      this.#holder = { id: String((record.body as { holder?: unknown }).holder), version: record.version }
    })
  }

  /** Whether this service evaluates alerts now. */
  get isHeld(): boolean {
    return !this.#options.catalog.shared || this.#options.time.now() < this.#validUntilMs
  }

  /** Called whenever this service may have gained or lost the lease. */
  async start(onChange: () => void): Promise<void> {
    this.#onChange = onChange
    await this.#tick()
  }

  /** Lets another service take over at once. */
  async stop(): Promise<void> {
    this.#cancelTimer?.()
    await this.#running
    if (!this.#options.catalog.shared || !this.isHeld) return
    this.#validUntilMs = Number.NEGATIVE_INFINITY
    await this.#beat(true).catch((error) =>
      this.#options.log.warn({ err: error }, 'the lease of alerts could not be released'),
    )
  }

  async #tick(): Promise<void> {
    const { catalog, time, log } = this.#options
    if (catalog.shared) {
      this.#running = this.#renewOrTake().catch((error) =>
        log.warn({ err: error }, 'the lease of alerts could not be read or renewed'),
      )
      await this.#running
      this.#cancelTimer = time.after(beatEveryMs, () => void this.#tick())
    }
    this.#onChange()
  }

  async #renewOrTake(): Promise<void> {
    const { catalog, time, log } = this.#options
    if (this.#holder?.id === this.#me) return this.#beat()
    const beat = await this.#options.store().readBeat()
    const now = time.now()
    if (this.#seen === undefined || this.#seen.beat !== beat) this.#seen = { beat, atMs: now }
    const isFree = this.#holder === undefined || beat === `${this.#holder.version} released`
    if (!isFree && now - this.#seen.atMs < takenAfterMs) return
    const version = (this.#holder?.version ?? 0) + 1
    try {
      await catalog.append('wellhead', {
        kind: 'lease',
        id: leaseId,
        version,
        deleted: false,
        body: { holder: this.#me },
      })
    } catch (error) {
      if (versionConflict.is(error)) return
      throw error
    }
    log.info('this service evaluates alerts now')
    await this.#beat()
  }

  async #beat(released = false): Promise<void> {
    const { time, store } = this.#options
    const startedMs = time.now()
    const { version } = this.#holder as { version: number }
    this.#beats++
    // Of several holders, the beats of the last one are the newest.
    await store().writeBeat(version * 1e9 + this.#beats, `${version} ${released ? 'released' : this.#beats}`)
    if (!released) this.#validUntilMs = startedMs + heldForMs
  }
}
