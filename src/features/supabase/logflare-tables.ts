import type { Engine } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { sqlText } from '../../core/sql/names.ts'
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
export function logflareTables(engine: Engine, from: LogflareDatabase) {
  const { address, database, user, password, schema } = from
  const tableOf = (name: string, inSchema = schema) =>
    `postgresql(${[address, database, name, user, password, inSchema].map(sqlText).join(', ')})`
  const rowsOf = <Row>(sql: string) => queryRows<Row>(engine, { sql }, { deadlineMs })
  return {
    /** Sources of Supabase that have a table, each with the name that Wellhead uses. */
    async sources(): Promise<{ source: string; table: string }[]> {
      const sources = await rowsOf<{ name: string; token: string }>(
        `SELECT name, toString(token) AS token FROM ${tableOf('sources')}`,
      )
      const tables = await rowsOf<{ table_name: string }>(
        `SELECT table_name FROM ${tableOf('tables', 'information_schema')} WHERE table_schema = ${sqlText(schema)}`,
      )
      const existing = new Set(tables.map(({ table_name: table }) => table))
      return Object.entries(logSources).flatMap(([source, name]) => {
        const token = sources.find((each) => each.name === name)?.token
        const table = `log_events_${token?.replaceAll('-', '_')}`
        return existing.has(table) ? [{ source, table }] : []
      })
    },

    /** Copies a table into the temporary engine, so that Postgres reads it once. */
    async copy(table: string): Promise<void> {
      const statements = [
        `DROP TABLE IF EXISTS ${copied}`,
        `CREATE TABLE ${copied} (id String, timestamp DateTime64(6, 'UTC'), body String) ENGINE = MergeTree ORDER BY (timestamp, id)`,
        `INSERT INTO ${copied} SELECT toString(id), ifNull(timestamp, toDateTime64(0, 6, 'UTC')), ifNull(toString(body), '{}') FROM ${tableOf(table)}`,
      ]
      for (const sql of statements) await engine.command({ sql }, { deadlineMs })
    },

    /** The copied entries in the order of time, as lines of JSON. */
    async *pages(): AsyncGenerator<Buffer> {
      let where = ''
      for (;;) {
        const sql = `SELECT ${entrySql} FROM ${copied} ${where} ORDER BY timestamp, id LIMIT ${pageEntries}`
        const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs })
        if (body.length === 0) return
        yield body
        const last = JSON.parse(body.toString('utf8', body.lastIndexOf('\n', -2) + 1))
        where = `WHERE (toUnixTimestamp64Micro(timestamp), id) > (${last.timestamp}, ${sqlText(last.id)})`
      }
    },
  }
}

/** The body that Logflare stored, with the id and the time of its row. */
const entrySql =
  `concat('{"id":', toJSONString(id), ',"timestamp":', toString(toUnixTimestamp64Micro(timestamp)), ` +
  `arrayStringConcat(arrayMap(m -> concat(',', toJSONString(m.1), ':', m.2), ` +
  `arrayFilter(m -> m.1 NOT IN ('id', 'timestamp'), JSONExtractKeysAndValuesRaw(body)))), '}')`
