import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import { sqlText } from '../sql/names.ts'
import { logSources } from './log-views.ts'

/** A Postgres database with the tables of Logflare. */
export interface LogflareDatabase {
  /** Host and port. */
  address: string
  database: string
  user: string
  password: string
  schema: string
}

export const postgresGrant = 'READ ON POSTGRES'

const deadlineMs = 3_600_000
const pageEntries = 1_000
const copied = 'wellhead.imported'

/** Reads the entries that Logflare stored, through a temporary engine, which can read Postgres. */
export class LogflareTables {
  readonly #engine: Engine
  readonly #from: LogflareDatabase

  constructor(engine: Engine, from: LogflareDatabase) {
    this.#engine = engine
    this.#from = from
  }

  /** Sources of Supabase that have a table, each with the name that Wellhead uses. */
  async sources(): Promise<{ source: string; table: string }[]> {
    const names = Object.entries(logSources).map(([source, name]) => [name, source] as const)
    const sources = await this.#rows<{ name: string; token: string }>(
      `SELECT name, toString(token) AS token FROM ${this.#table('sources')}`,
    )
    const tables = await this.#rows<{ table_name: string }>(
      `SELECT table_name FROM ${this.#table('tables', 'information_schema')} WHERE table_schema = ${sqlText(this.#from.schema)}`,
    )
    const existing = new Set(tables.map(({ table_name: table }) => table))
    return names.flatMap(([name, source]) => {
      const token = sources.find((each) => each.name === name)?.token
      const table = `log_events_${token?.replaceAll('-', '_')}`
      return existing.has(table) ? [{ source, table }] : []
    })
  }

  /** Copies a table into the temporary engine, so that Postgres reads it once. */
  async copy(table: string): Promise<void> {
    await this.#run(`DROP TABLE IF EXISTS ${copied}`)
    await this.#run(
      `CREATE TABLE ${copied} (id String, timestamp DateTime64(6, 'UTC'), body String) ENGINE = MergeTree ORDER BY (timestamp, id)`,
    )
    await this.#run(
      `INSERT INTO ${copied} SELECT toString(id), ifNull(timestamp, toDateTime64(0, 6, 'UTC')), ifNull(toString(body), '{}') FROM ${this.#table(table)}`,
    )
  }

  /** The copied entries in the order of time, as lines of JSON. */
  async *pages(): AsyncGenerator<Buffer> {
    let where = ''
    for (;;) {
      const sql = `SELECT ${entrySql} FROM ${copied} ${where} ORDER BY timestamp, id LIMIT ${pageEntries}`
      const { body } = await this.#engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs })
      if (body.length === 0) return
      yield body
      const last = JSON.parse(body.toString('utf8', body.lastIndexOf('\n', -2) + 1))
      where = `WHERE (toUnixTimestamp64Micro(timestamp), id) > (${last.timestamp}, ${sqlText(last.id)})`
    }
  }

  #table(name: string, schema = this.#from.schema): string {
    const { address, database, user, password } = this.#from
    return `postgresql(${[address, database, name, user, password, schema].map(sqlText).join(', ')})`
  }

  #rows<Row>(sql: string): Promise<Row[]> {
    return queryRows<Row>(this.#engine, { sql }, { deadlineMs })
  }

  async #run(sql: string): Promise<void> {
    await this.#engine.command({ sql }, { deadlineMs })
  }
}

/** The body that Logflare stored, with the id and the time of its row. */
const entrySql =
  `concat('{"id":', toJSONString(id), ',"timestamp":', toString(toUnixTimestamp64Micro(timestamp)), ` +
  `arrayStringConcat(arrayMap(m -> concat(',', toJSONString(m.1), ':', m.2), ` +
  `arrayFilter(m -> m.1 NOT IN ('id', 'timestamp'), JSONExtractKeysAndValuesRaw(body)))), '}')`
