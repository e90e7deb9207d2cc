import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import type { AlertParts } from './alert-parts.ts'
import type { AlertState, Notification } from './alert-state.ts'

const maxEvents = 10_000
const leaseId = 'lease'
const nobody = 'nobody'
const beatEveryMs = 5_000
const writeWithinMs = 10_000

/** How long the holder relies on its last beat. With the deadline of a write, it ends before another service takes over. */
const heldForMs = 15_000
const takenAfterMs = heldForMs + writeWithinMs + beatEveryMs

/**
 * States and events of alerts, and the lease that decides which of several services on one ClickHouse server evaluates them.
 * Its holder writes a beat every few seconds. Beats are numbered, and the server accepts one of several with the same number.
 * Another service takes over if it sees no new beat for a while; it measures this with its own clock, since clocks of several
 * machines differ.
 */
export class AlertStore {
  readonly #parts: AlertParts
  readonly #me = randomUUID()
  #states = new Map<string, AlertState>()
  readonly #stored = new WeakSet<Notification>()
  #events: { line: string; atMs: number }[] = []
  #writing: Promise<boolean> = Promise.resolve(true)
  #sequence = 0
  #beat = 0
  #nextBeatMs = 0
  #validUntilMs = 0
  #seen = { beat: -1, atMs: 0 }

  constructor(parts: AlertParts) {
    this.#parts = parts
  }

  /** Whether this service evaluates alerts now. */
  get isHeld(): boolean {
    return !this.#parts.catalog.shared || this.#parts.time.now() < this.#validUntilMs
  }

  /** All states, by the id of the alert. */
  async load(): Promise<Map<string, AlertState>> {
    const rows = await this.#read('id != {lease:String}')
    this.#sequence = Math.max(this.#sequence, ...rows.map(({ sequence }) => Number(sequence)))
    const left = rows.filter(({ body }) => body !== '')
    return new Map(left.map(({ id, body }) => [id, JSON.parse(body) as AlertState]))
  }

  /** Stored by the next flush. */
  set(id: string, state: AlertState): void {
    this.#states.set(id, state)
  }

  /** Whether a notification is stored. */
  has(notification: Notification): boolean {
    return this.#stored.has(notification)
  }

  /** An entry of the source of alerts, stored by the next flush. */
  record(alert_id: string, event_message: string, fields: Readonly<Record<string, unknown>>): void {
    const atMs = this.#parts.time.wall.now()
    const timestamp = (atMs / 1000).toFixed(6)
    const metadata = JSON.stringify({ alert_id, ...fields })
    // Ids are in the order of events that happened at the same time.
    const entry = { project: '', id: uuidv7(), timestamp, event_message, metadata }
    if (this.#events.length < maxEvents) this.#events.push({ line: `${JSON.stringify(entry)}\n`, atMs })
  }

  /** Stores what has changed. Returns whether the states are on disk; if not, the next flush tries again. */
  flush(): Promise<boolean> {
    this.#writing = this.#writing.then(async () => {
      await this.#storeEvents()
      const states = this.#states
      if (states.size === 0 || !this.isHeld) return states.size === 0
      this.#states = new Map()
      const notifications = [...states.values()].flatMap(({ outbox }) => outbox)
      const bodyOf = (state: AlertState) =>
        state.deleted && state.outbox.length === 0 ? '' : JSON.stringify(state)
      try {
        await this.#insert([...states].map(([id, state]) => [id, ++this.#sequence, bodyOf(state)]))
        for (const notification of notifications) this.#stored.add(notification)
        return true
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'states of alerts could not be stored; retrying')
        this.#states = new Map([...states, ...this.#states])
        return false
      }
    })
    return this.#writing
  }

  async #storeEvents(): Promise<void> {
    const events = this.#events.splice(0)
    if (events.length === 0) return
    const lines = Buffer.from(events.map(({ line }) => line).join(''))
    await this.#parts
      .storeEvents(lines, randomUUID(), Math.min(...events.map(({ atMs }) => atMs)))
      .catch((error) => this.#parts.log.warn({ err: error }, 'events of alerts could not be stored'))
  }

  /** Renews the lease, or takes it if nobody has it. */
  async renew(): Promise<void> {
    const { catalog, time } = this.#parts
    const now = time.now()
    if (!catalog.shared || now < this.#nextBeatMs) return
    this.#nextBeatMs = now + beatEveryMs
    const { beat, holder } = await this.#lastBeat()
    if (beat !== this.#seen.beat) this.#seen = { beat, atMs: now }
    if (holder !== nobody && holder !== this.#me && now - this.#seen.atMs < takenAfterMs) return
    // A number whose row was lost in a power cut is skipped, because the server may still remember it.
    this.#beat = Math.max(this.#beat, beat) + 1
    await this.#insert([[leaseId, this.#beat, this.#me]], {
      insert_deduplication_token: `beat ${this.#beat}`,
    })
    if ((await this.#lastBeat()).holder === this.#me) this.#validUntilMs = now + heldForMs
  }

  /** Stores the rest, and lets another service take over at once. */
  async stop(): Promise<void> {
    await this.flush()
    if (this.#parts.catalog.shared && this.isHeld) await this.#insert([[leaseId, this.#beat + 1, nobody]])
  }

  async #lastBeat() {
    const [row] = await this.#read('id = {lease:String}')
    return { beat: Number(row?.sequence ?? 0), holder: row?.body ?? nobody }
  }

  #insert(rows: (readonly [string, number, string])[], settings = {}): Promise<void> {
    const target = { table: '_alerts', format: 'JSONEachRow', settings } as const
    const lines = writeJsonRows(rows.map(([id, sequence, body]) => ({ id, sequence, body })))
    return this.#parts.engine.insert(target, lines, { deadlineMs: writeWithinMs })
  }

  #read(condition: string) {
    const { engine, catalog } = this.#parts
    const newest = 'max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body'
    const sql = `SELECT id, ${newest} FROM _alerts WHERE ${condition} GROUP BY id`
    const settings = catalog.topology.replicated ? { select_sequential_consistency: 1 } : {}
    const query = { sql, settings, parameters: { lease: leaseId } }
    return queryRows<Record<'id' | 'sequence' | 'body', string>>(engine, query, { deadlineMs: 30_000 })
  }
}
