import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { tooLarge } from '../../core/base/errors.ts'
import { serviceLine } from '../../core/base/service-line.ts'
import { queryRows, writeJsonRows } from '../../core/engine/json-rows.ts'
import type { SavedAlert } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import type { AlertState, Notification } from './alert-state.ts'

interface EventFields extends Readonly<Record<string, unknown>> {
  /** Of a group, as it is evaluated. */
  key?: Readonly<Record<string, unknown>> | undefined
}

/** An entry of the source of alerts that is not stored yet. */
interface WaitingEvent {
  line: string
  projects: readonly unknown[]
}

const maxEvents = 50_000
const retryEventsEveryMs = 5_000
const writeWithinMs = 10_000
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
  #events: WaitingEvent[] = []
  /** Those that may be stored already; they are sent with their token until they are. */
  #sent: { events: WaitingEvent[]; token: string } | undefined
  #retryEventsMs = -Infinity
  readonly #erased = new Set<unknown>()
  #writing = Promise.resolve(true)
  #next: Promise<boolean> | undefined
  #sequence = 0
  /** When nothing is stored any more. */
  #endMs = Infinity

  constructor(parts: AlertParts) {
    this.#parts = parts
    this.#table = alertTable(parts)
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
  record({ id: alert_id, definition }: SavedAlert, message: string, fields: EventFields): void {
    if (this.#events.length >= maxEvents) return
    if (this.#events.length === maxEvents - 1) {
      this.#parts.log.warn('too many events of alerts wait to be stored; the next ones are lost')
    }
    const atMs = this.#parts.time.wall.now()
    // An erasure of the project finds it by this.
    const { project } = definition.parameters
    const metadata = { alert_id, ...(project !== undefined && { project }), ...fields }
    // Ids are in the order of events that happened at the same time.
    const line = serviceLine({ id: uuidv7(), atMs, message, metadata })
    this.#events.push({ line, projects: [project, fields.key?.project] })
  }

  /** Drops what waits to be stored of an erased project, with the next flush. */
  forget(project: string): void {
    this.#erased.add(project)
  }

  /** Stores events that wait because they could not be stored, also while another service evaluates. */
  retry(): void {
    const isWaiting = this.#sent !== undefined || this.#events.length > 0
    if (isWaiting && this.#parts.time.now() >= this.#retryEventsMs) void this.flush()
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
    this.#dropErased()
    const now = this.#parts.time.now()
    if (now < this.#retryEventsMs && this.#endMs === Infinity) return
    try {
      while (this.#sent || this.#events.length > 0) {
        this.#sent ??= { events: this.#takeEvents(), token: randomUUID() }
        const { events, token } = this.#sent
        await this.#parts.storeEvents(Buffer.from(events.map(({ line }) => line).join('')), token)
        this.#sent = undefined
      }
    } catch (error) {
      this.#retryEventsMs = now + retryEventsEveryMs
      this.#parts.log.warn({ err: error }, 'events of alerts could not be stored; retrying')
    }
  }

  #takeEvents(): WaitingEvent[] {
    let [count, length] = [0, 0]
    for (const { line } of this.#events) {
      if (length >= insertLength) break
      length += line.length
      count++
    }
    return this.#events.splice(0, count)
  }

  #dropErased(): void {
    const isKept = ({ projects }: WaitingEvent) => !projects.some((project) => this.#erased.has(project))
    if (this.#erased.size === 0) return
    this.#events = this.#events.filter(isKept)
    const sent = this.#sent?.events ?? []
    if (!sent.every(isKept)) {
      // Others of the batch may be stored twice, if it was stored without a response.
      this.#events.unshift(...sent.filter(isKept))
      this.#sent = undefined
    }
    this.#erased.clear()
  }

  /** Stores what can be stored in time, then nothing more, and lets another service take over. */
  async stop(): Promise<void> {
    this.#endMs = this.#parts.time.now() + writeWithinMs
    await this.flush()
    this.#endMs = 0
    await this.lease.release()
  }
}

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
class AlertLease {
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

interface StoredState extends Omit<AlertState, 'outbox'> {
  /** The notifications that wait, oldest first. What they contain is in rows of their own, which never change. */
  waiting: { id: string; to: string[] }[]
}

type Content = Pick<Notification, 'type' | 'createdMs' | 'bodies'>

/** The row of a state. It is empty for a deleted alert that has nothing to deliver. */
function stateBody({ outbox, ...state }: AlertState): string {
  if (state.deleted && outbox.length === 0) return ''
  const waiting = outbox.map(({ id, to }) => ({ id, to: [...to.keys()] }))
  return JSON.stringify({ ...state, waiting } satisfies StoredState)
}

function notificationBody({ type, createdMs, bodies }: Notification): string {
  return JSON.stringify({ type, createdMs, bodies } satisfies Content)
}

/** Without the rows of its notifications, the state has an empty outbox. */
function readState(body: string, contents?: ReadonlyMap<string, string>): AlertState {
  // States of early versions have neither. They must not keep the service from starting.
  const { waiting = [], dropped = 0, ...state } = JSON.parse(body) as Partial<StoredState> & AlertState
  if (!contents) return { ...state, dropped, outbox: [] }
  const found = waiting.filter(({ id }) => contents.has(id))
  const outbox = found.map(({ id, to }) => {
    const content = JSON.parse(contents.get(id) as string) as Content
    return { id, ...content, to: new Map(to.map((key) => [key, { count: 0, nextMs: 0 }])) }
  })
  return { ...state, outbox, dropped: dropped + waiting.length - found.length }
}

const readWithinMs = 30_000
const maxPageRows = 5_000

type AlertTable = ReturnType<typeof alertTable>

/** The table of states, of notifications that wait, and of the lease. The newest row of an id counts. */
function alertTable({ engine, catalog }: Pick<AlertParts, 'engine' | 'catalog'>) {
  return {
    /** The rows become one part of the table, so either all of them are stored, or none. */
    insert(sequence: number, rows: readonly (readonly [string, string])[], settings = {}): Promise<void> {
      const target = { table: '_alerts', format: 'JSONEachRow', settings } as const
      const lines = writeJsonRows(rows.map(([id, body]) => ({ id, sequence, body })))
      return engine.insert(target, lines, { deadlineMs: writeWithinMs })
    },

    /** In pages, since all notifications together can be larger than a result. */
    async read(condition: string) {
      const newest = 'max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body'
      const settings = catalog.topology.replicated ? { select_sequential_consistency: 1 } : {}
      const rows: Record<'id' | 'sequence' | 'body', string>[] = []
      for (let limit = maxPageRows; ; ) {
        const sql = `SELECT id, ${newest} FROM _alerts WHERE ${condition} AND id > {after:String} GROUP BY id ORDER BY id LIMIT ${limit}`
        const query = { sql, settings, parameters: { after: rows.at(-1)?.id ?? '' } }
        try {
          const page = await queryRows<(typeof rows)[number]>(engine, query, { deadlineMs: readWithinMs })
          rows.push(...page)
          if (page.length < limit) return rows
        } catch (error) {
          if (!tooLarge.is(error) || limit === 1) throw error
          limit = Math.ceil(limit / 2)
        }
      }
    },
  }
}
