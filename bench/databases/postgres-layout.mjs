/**
 * Logflare's layout of logs in PostgreSQL: a table per source, the whole entry in one jsonb, a BRIN index on the
 * timestamp. And the three saved queries for this layout.
 */
import { iso, seriesOf, tierDays, windowOf } from './saved-queries.mjs'

const sources = ['edge_logs', 'function_edge_logs']

export async function createPostgresTables(postgres) {
  for (const source of sources) {
    await postgres.query(`DROP TABLE IF EXISTS ${source}`)
    await postgres.query(
      `CREATE TABLE ${source} (id text PRIMARY KEY, body jsonb, event_message text, timestamp timestamptz)`,
    )
    await postgres.query(`CREATE INDEX ON ${source} USING brin (timestamp)`)
  }
}

/** Reads all pages once and updates the planner's statistics. */
export async function settlePostgres(postgres) {
  for (const source of sources) await postgres.query(`VACUUM ANALYZE ${source}`)
}

export function openPostgresLoad(postgres) {
  const copies = Object.fromEntries(sources.map((source) => [source, postgres.copyInto(source)]))
  return {
    write: (source, entries) =>
      copies[source].write(
        entries.map((entry) => [entry.id, JSON.stringify(entry), entry.event_message, entry.timestamp]),
      ),
    end: () => Promise.all(Object.values(copies).map((copy) => copy.end())),
  }
}

/** Bounds are literals, so that the planner can use the index on the timestamp. */
const queries = {
  'logs.all': ({ project, project_tier: tier }, now) => `
    SELECT id, timestamp, event_message, body -> 'metadata' AS metadata
    FROM edge_logs
    WHERE body ->> 'project' = '${project}' AND timestamp > '${iso(now - tierDays[tier] * 86_400)}'
    ORDER BY timestamp DESC, id DESC
    LIMIT 100`,

  'functions.invocation-stats': ({ project, interval }, now) => {
    const { length, bucket, unit } = seriesOf[interval]
    const first = Math.floor((now - length) / bucket) * bucket
    return `
      SELECT
        series.bucket AS timestamp,
        min_execution_time, max_execution_time, avg_execution_time, p95_execution_time, p99_execution_time,
        coalesce(statistics.count, 0) AS count,
        coalesce(statistics.error_count, 0) AS error_count
      FROM generate_series(
        timestamptz '${iso(first)}', timestamptz '${iso(first + length)}', interval '${bucket} seconds'
      ) AS series (bucket)
      LEFT JOIN (
        SELECT
          date_trunc('${unit}', timestamp) AS bucket,
          min(execution_time) AS min_execution_time,
          max(execution_time) AS max_execution_time,
          avg(execution_time) AS avg_execution_time,
          percentile_disc(0.95) WITHIN GROUP (ORDER BY execution_time) AS p95_execution_time,
          percentile_disc(0.99) WITHIN GROUP (ORDER BY execution_time) AS p99_execution_time,
          count(*) AS count,
          count(*) FILTER (WHERE status_code >= 400) AS error_count
        FROM (
          SELECT
            timestamp,
            (body #>> '{metadata,execution_time_ms}')::float8 AS execution_time,
            (body #>> '{metadata,response,status_code}')::int AS status_code
          FROM function_edge_logs
          WHERE
            body #>> '{metadata,project_ref}' = '${project}'
            AND timestamp >= '${iso(first)}' AND timestamp < '${iso(first + length + bucket)}'
        ) AS invocations
        GROUP BY 1
      ) AS statistics ON statistics.bucket = series.bucket
      ORDER BY 1`
  },

  'usage.api-counts': ({ project, interval }, now) => {
    const { length, unit } = windowOf[interval]
    const area = (name) =>
      `count(*) FILTER (WHERE body #>> '{metadata,request,path}' ~ '/${name}') AS total_${name}_requests`
    return `
      SELECT
        date_trunc('${unit}', timestamp) AS timestamp,
        ${['rest', 'storage', 'auth', 'realtime'].map(area).join(', ')}
      FROM edge_logs
      WHERE timestamp >= '${iso(now - length)}' AND body #>> '{metadata,request,url}' ~ '${project}'
      GROUP BY 1
      ORDER BY 1`
  },
}

export function postgresQuery({ endpoint, parameters }, nowMs) {
  return queries[endpoint](parameters, nowMs / 1000)
}

const times = {
  micros: '(extract(epoch FROM timestamp) * 1000000)::bigint AS timestamp',
  text: `to_char(timestamp, 'YYYY-MM-DD"T"HH24:MI:SS') AS timestamp`,
}

/** The compared columns of a query's rows, with times formatted like the endpoint's. */
export async function postgresRows(postgres, call, nowMs, { columns, time: form }) {
  const selected = columns.map((column) => (column === 'timestamp' ? times[form] : column)).join(', ')
  const rows = `SELECT ${selected} FROM (${postgresQuery(call, nowMs)}) AS q`
  return JSON.parse(await postgres.query(`SELECT coalesce(json_agg(r), '[]') FROM (${rows}) AS r`))
}
