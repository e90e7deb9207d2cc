import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { alertsSource } from '../catalog/built-in-sources.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import type { SavedAlert } from './saved-alerts.ts'

/** What happened to an alert, as an entry of the source. */
export interface AlertEvent {
  atMs: number
  kind: 'state' | 'delivery'
  message: string
  fields: Readonly<Record<string, unknown>>
}

type StoreLines = (lines: Buffer, token: string, earliestMs: number) => Promise<void>

interface AlertEventsOptions {
  engine: Engine
  store: StoreLines
  /** An event that could not be stored is lost. */
  onFailure: (error: unknown) => void
}

/** Maximum number of events that wait to be stored. */
const maxWaiting = 10_000
const maxShown = 200

/** Entries of the source of alerts. Events that come together are one insert. */
export class AlertEvents {
  readonly #options: AlertEventsOptions
  #lines: string[] = []
  #earliestMs = 0
  #storing: Promise<void> | undefined

  constructor(options: AlertEventsOptions) {
    this.#options = options
  }

  add(
    { id, definition }: Pick<SavedAlert, 'id'> & { definition: { name: string } },
    event: AlertEvent,
  ): void {
    if (this.#lines.length >= maxWaiting) return
    this.#earliestMs = this.#lines.length === 0 ? event.atMs : Math.min(this.#earliestMs, event.atMs)
    const metadata = { alert: definition.name, alert_id: id, kind: event.kind, ...event.fields }
    this.#lines.push(
      `${JSON.stringify({
        project: '',
        // In the order of events that happened at the same time.
        id: uuidv7(),
        timestamp: (event.atMs / 1000).toFixed(6),
        event_message: event.message,
        metadata: JSON.stringify(metadata),
      })}\n`,
    )
    this.#storing ??= this.#store()
  }

  async stop(): Promise<void> {
    await this.#storing
  }

  async #store(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = Buffer.from(this.#lines.join(''))
      this.#lines = []
      await this.#options.store(lines, randomUUID(), this.#earliestMs).catch(this.#options.onFailure)
    }
    this.#storing = undefined
  }

  /** Newest first. */
  async of(alertId: string) {
    const rows = await queryRows<{ at: string; event_message: string; metadata: string }>(
      this.#options.engine,
      {
        sql:
          `SELECT formatDateTime(timestamp, '%FT%T.%fZ', 'UTC') AS at, event_message, metadata FROM ${alertsSource} ` +
          `WHERE project = '' AND alert_id = {id:String} ORDER BY timestamp DESC, id DESC LIMIT ${maxShown}`,
        parameters: { id: alertId },
      },
      { deadlineMs: 10_000 },
    )
    return rows.map(({ at, event_message, metadata }) => {
      const {
        alert: _,
        alert_id: __,
        ...fields
      } = JSON.parse(metadata) as Record<string, unknown> & { kind: AlertEvent['kind'] }
      return { at: new Date(at).toISOString(), message: event_message, ...fields }
    })
  }
}
