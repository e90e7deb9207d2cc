import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { AlertLease } from './alert-lease.ts'
import type { AlertParts } from './alert-parts.ts'
import type { AlertState, Notification } from './alert-state.ts'
import { AlertTable, writeWithinMs } from './alert-table.ts'
import { notificationBody, readState, stateBody } from './stored-state.ts'

const maxEvents = 10_000
/** Of one insert, so that neither writing it nor its deadline depends on how much has changed. */
const insertLength = 2 ** 20

/** No id of an alert has a space, so a row with one is a notification. */
const isState = "id != 'lease' AND position(id, ' ') = 0"
const isNotification = "position(id, ' ') > 0"

/** States of alerts, with the notifications that wait, and events. */
export class AlertStore {
  readonly lease: AlertLease
  readonly #parts: AlertParts
  readonly #table: AlertTable
  #changed = new Map<string, AlertState>()
  /** Another one for each time that this service begins to evaluate. */
  #tenure = {}
  /** The stored notifications of each alert, by id. */
  #stored = new Map<string, ReadonlySet<string>>()
  #events: { line: string; atMs: number }[] = []
  #writing = Promise.resolve(true)
  #next: Promise<boolean> | undefined
  #sequence = 0
  /** When nothing is stored any more. */
  #endMs = Infinity

  constructor(parts: AlertParts) {
    this.#parts = parts
    this.#table = new AlertTable(parts)
    this.lease = new AlertLease(parts, this.#table)
  }

  /** All states by the id of the alert, with empty outboxes. */
  async states(): Promise<Map<string, AlertState>> {
    const rows = await this.#table.read(isState)
    return new Map(rows.filter(({ body }) => body !== '').map(({ id, body }) => [id, readState(body)]))
  }

  /** All states by the id of the alert, for the service that evaluates from now on. */
  async open(): Promise<Map<string, AlertState>> {
    const states = await this.#table.read(isState)
    const notifications = await this.#table.read(isNotification)
    const sequences = [...states, ...notifications].map(({ sequence }) => Number(sequence))
    this.#sequence = sequences.reduce((one, other) => Math.max(one, other), this.#sequence)
    const contents = new Map<string, Map<string, string>>()
    for (const { id: row, body } of notifications) {
      const [alert = '', id = ''] = row.split(' ')
      if (body !== '') contents.set(alert, (contents.get(alert) ?? new Map()).set(id, body))
    }
    this.#stored = new Map([...contents].map(([alert, bodies]) => [alert, new Set(bodies.keys())]))
    const left = states.filter(({ body }) => body !== '')
    return new Map(left.map(({ id, body }) => [id, readState(body, contents.get(id) ?? new Map())]))
  }

  /** Forgets changes that are not stored, so that they never overwrite those of the service that evaluates now. */
  close(): void {
    this.#tenure = {}
    this.#changed = new Map()
  }

  /** Stored by the next flush. */
  set(id: string, state: AlertState): void {
    this.#changed.set(id, state)
  }

  /** Whether a notification is stored. */
  has(id: string, notification: Notification): boolean {
    return this.#stored.get(id)?.has(notification.id) ?? false
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

  /** Stores what has changed. Returns whether the states are on disk. While one flush runs, at most one more waits. */
  flush(): Promise<boolean> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      this.#writing = this.#write()
      return this.#writing
    })
    return this.#next
  }

  async #write(): Promise<boolean> {
    const changed = this.#changed
    const tenure = this.#tenure
    this.#changed = new Map()
    const isCurrent = () => tenure === this.#tenure && this.lease.isHeld
    try {
      while (changed.size > 0 && isCurrent() && this.#parts.time.now() < this.#endMs) {
        await this.#writeSome(changed)
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'states of alerts could not be stored; retrying')
    }
    // The next flush tries the rest again.
    if (tenure === this.#tenure) this.#changed = new Map([...changed, ...this.#changed])
    await this.#storeEvents()
    return changed.size === 0
  }

  /** Takes the first states, and stores each with its notifications, so that a crash does not separate them. */
  async #writeSome(changed: Map<string, AlertState>): Promise<void> {
    const rows: [string, string][] = []
    const stored = new Map<string, Set<string>>()
    let length = 0
    const add = (id: string, body: string) => {
      rows.push([id, body])
      length += body.length
    }
    for (const [id, state] of changed) {
      const now = new Set(state.outbox.map((notification) => notification.id))
      for (const each of state.outbox)
        if (!this.has(id, each)) add(`${id} ${each.id}`, notificationBody(each))
      for (const former of this.#stored.get(id) ?? []) if (!now.has(former)) add(`${id} ${former}`, '')
      add(id, stateBody(state))
      stored.set(id, now)
      if (length >= insertLength) break
    }
    await this.#table.insert(++this.#sequence, rows)
    for (const [id, now] of stored) {
      changed.delete(id)
      if (now.size > 0) this.#stored.set(id, now)
      else this.#stored.delete(id)
    }
  }

  async #storeEvents(): Promise<void> {
    const events = this.#events.splice(0)
    if (events.length === 0) return
    const lines = Buffer.from(events.map(({ line }) => line).join(''))
    await this.#parts
      .storeEvents(lines, randomUUID(), Math.min(...events.map(({ atMs }) => atMs)))
      .catch((error) => this.#parts.log.warn({ err: error }, 'events of alerts could not be stored'))
  }

  /** Stores what can be stored in time, then nothing more, and lets another service take over. */
  async stop(): Promise<void> {
    this.#endMs = this.#parts.time.now() + writeWithinMs
    await this.flush()
    this.#endMs = 0
    await this.lease.release()
  }
}
