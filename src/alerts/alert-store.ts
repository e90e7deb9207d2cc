import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Timers } from '../base/clock.ts'
import { versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import type { AlertState } from './alert-state.ts'

interface AlertStoreOptions {
  engine: Engine
  catalog: Catalog
  time: Timers
  log: Log
  /** Stores entries of the source of alerts. */
  storeEvents: (lines: Buffer, token: string, earliestMs: number) => Promise<void>
}

interface StoredRow {
  id: string
  sequence: number | string
  body: string
}

const maxEvents = 10_000
const leaseId = 'lease'
const beatEveryMs = 5_000
const writeWithinMs = 10_000

/** How long the holder relies on its last beat. With the deadline of a write, it ends before another service takes over. */
const heldForMs = 15_000
const takenAfterMs = heldForMs + writeWithinMs + beatEveryMs

/**
 * States and events of alerts, and the lease that decides which of several services on one ClickHouse server evaluates them.
 * The catalog accepts one holder at a time, and the holder writes a beat every few seconds. Another service takes over if it
 * sees no new beat for a while; it measures this with its own clock, since clocks of several machines differ.
 */
export class AlertStore {
  readonly #options: AlertStoreOptions
  readonly #me = randomUUID()
  #states = new Map<string, AlertState | undefined>()
  #events: { line: string; atMs: number }[] = []
  #writing: Promise<boolean> = Promise.resolve(true)
  #sequence = 0
  #holder: { id: unknown; version: number } | undefined
  #beats = 0
  #nextBeatMs = 0
  #validUntilMs = 0
  #seen: { beat: string | undefined; atMs: number } | undefined

  constructor(options: AlertStoreOptions) {
    this.#options = options
    options.catalog.onChange('lease', ([record]) => {
      if (record) this.#holder = { id: (record.body as { holder: unknown }).holder, version: record.version }
    })
  }

  /** Whether this service evaluates alerts now. */
  get isHeld(): boolean {
    return !this.#options.catalog.shared || this.#options.time.now() < this.#validUntilMs
  }

  /** All states, by the id of the alert. */
  async load(): Promise<Map<string, AlertState>> {
    const rows = await this.#read('id != {lease:String}')
    this.#sequence = Math.max(this.#sequence, ...rows.map(({ sequence }) => Number(sequence)))
    const left = rows.filter(({ body }) => body !== '')
    return new Map(left.map(({ id, body }) => [id, JSON.parse(body) as AlertState]))
  }

  /** Stored by the next flush. Undefined: the alert is gone. */
  set(id: string, state: AlertState | undefined): void {
    this.#states.set(id, state)
  }

  /** An entry of the source of alerts, stored by the next flush. */
  record(alert_id: string, event_message: string, fields: Readonly<Record<string, unknown>>): void {
    const atMs = this.#options.time.wall.now()
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
      const rows = [...states].map(([id, state]) => {
        return { id, sequence: ++this.#sequence, body: state === undefined ? '' : JSON.stringify(state) }
      })
      try {
        await this.#insert(rows)
        return true
      } catch (error) {
        this.#options.log.warn({ err: error }, 'states of alerts could not be stored; retrying')
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
    const earliestMs = Math.min(...events.map(({ atMs }) => atMs))
    await this.#options.storeEvents(lines, randomUUID(), earliestMs).catch((error) => {
      this.#options.log.warn({ err: error }, 'events of alerts could not be stored')
    })
  }

  /** Renews the lease, or takes it if nobody has it. */
  async renew(): Promise<void> {
    const { catalog, time, log } = this.#options
    const now = time.now()
    if (!catalog.shared || now < this.#nextBeatMs) return
    this.#nextBeatMs = now + beatEveryMs
    try {
      if (this.#holder?.id === this.#me || (await this.#take(now))) await this.#beat(now)
    } catch (error) {
      log.warn({ err: error }, 'the lease of alerts could not be read or renewed')
    }
  }

  /** Stores the rest, and lets another service take over at once. */
  async stop(): Promise<void> {
    await this.flush()
    if (this.#options.catalog.shared && this.isHeld) await this.#beat(0, 'released').catch(() => {})
  }

  async #take(now: number): Promise<boolean> {
    const [{ body: beat = undefined } = {}] = await this.#read('id = {lease:String}')
    if (this.#seen === undefined || this.#seen.beat !== beat) this.#seen = { beat, atMs: now }
    const isFree = this.#holder === undefined || beat === `${this.#holder.version} released`
    if (!isFree && now - this.#seen.atMs < takenAfterMs) return false
    const version = (this.#holder?.version ?? 0) + 1
    const change = {
      kind: 'lease',
      id: leaseId,
      version,
      deleted: false,
      body: { holder: this.#me },
    } as const
    try {
      await this.#options.catalog.append('wellhead', change)
    } catch (error) {
      if (versionConflict.is(error)) return false
      throw error
    }
    this.#options.log.info('this service evaluates alerts now')
    return true
  }

  async #beat(now: number, released?: string): Promise<void> {
    const version = this.#holder?.version ?? 0
    // Of several holders, the beats of the last one are the newest.
    const sequence = version * 1e9 + ++this.#beats
    await this.#insert([{ id: leaseId, sequence, body: `${version} ${released ?? this.#beats}` }])
    this.#validUntilMs = released ? 0 : now + heldForMs
  }

  #insert(rows: StoredRow[]): Promise<void> {
    const target = { table: '_alerts', columns: ['id', 'sequence', 'body'], format: 'JSONEachRow' } as const
    return this.#options.engine.insert(target, writeJsonRows(rows), { deadlineMs: writeWithinMs })
  }

  #read(condition: string): Promise<StoredRow[]> {
    const { engine, catalog } = this.#options
    const sql = `SELECT id, max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body FROM _alerts WHERE ${condition} GROUP BY id`
    const settings = catalog.topology.replicated ? { select_sequential_consistency: 1 } : {}
    const query = { sql, settings, parameters: { lease: leaseId } }
    return queryRows<StoredRow>(engine, query, { deadlineMs: 30_000 })
  }
}
