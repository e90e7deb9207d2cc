import type { Clock } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'
import { migrate } from './migrations.ts'
import { database, type Topology } from './tables.ts'

export interface CatalogRecord {
  kind: 'source' | 'endpoint' | 'token'
  id: string
  version: number
  changed_at: string
  changed_by: string
  deleted: boolean
  body: unknown
}

const limits = { deadlineMs: 60_000 }

/** What the service is told to be, as rows that are only ever added: each change is a new version. */
export class CatalogLog {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly topology: Topology

  constructor(engine: Engine, clock: Clock, topology: Topology) {
    this.#engine = engine
    this.#clock = clock
    this.topology = topology
  }

  async prepare(): Promise<void> {
    await migrate(this.#engine, this.topology)
  }

  async run(statements: string[]): Promise<void> {
    for (const sql of statements) await this.#engine.command({ sql }, limits)
  }

  /** The newest version of everything, what was deleted left out. */
  async load(): Promise<CatalogRecord[]> {
    const { body } = await this.#engine.query(
      {
        sql:
          'SELECT kind, id, version, toString(changed_at) AS changed_at, changed_by, deleted, body ' +
          `FROM ${database}._catalog ORDER BY version DESC LIMIT 1 BY kind, id`,
        format: 'JSONEachRow',
      },
      limits,
    )
    const records = body.toString().split('\n').filter(Boolean)
    return records
      .map((line) => JSON.parse(line) as Omit<CatalogRecord, 'body'> & { body: string })
      .filter((record) => !record.deleted)
      .map((record) => ({ ...record, body: JSON.parse(record.body) as unknown }))
  }

  async append(...records: Omit<CatalogRecord, 'changed_at'>[]): Promise<void> {
    const rows = records.map((record) => ({
      ...record,
      changed_at: (this.#clock.now() / 1000).toFixed(6),
      body: JSON.stringify(record.body),
    }))
    await this.#engine.insert(
      { table: `${database}._catalog`, format: 'JSONEachRow' },
      Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
      limits,
    )
  }
}
