/**
 * A reasonable layout of logs in DuckDB: a table per source, common fields as columns, the rest as JSON, in order of
 * arrival. And the three saved queries for this layout.
 */
import { iso, seriesOf, tierDays, windowOf } from './saved-queries.mjs'

const sources = ['edge_logs', 'function_edge_logs']
const types = {
  project: 'VARCHAR',
  id: 'VARCHAR',
  timestamp: 'TIMESTAMP',
  event_message: 'VARCHAR',
  metadata: 'JSON',
}

export async function createDuckdbTables(duckdb) {
  const columns = Object.entries(types).map(([column, type]) => `${column} ${type}`)
  for (const source of sources) await duckdb.run(`CREATE OR REPLACE TABLE ${source} (${columns.join(', ')})`)
}

export function writeDuckdb(duckdb, source, lines) {
  return duckdb.insertLines(source, lines, types)
}

/** Writes the inserted entries to the compressed file. */
export function settleDuckdb(duckdb) {
  return duckdb.run('CHECKPOINT')
}

const time = (seconds) => `TIMESTAMP '${iso(seconds).slice(0, 23)}'`

const queries = {
  'logs.all': ({ project, project_tier: tier }, now) => `
    SELECT id, timestamp, event_message, metadata
    FROM edge_logs
    WHERE project = '${project}' AND timestamp > ${time(now - tierDays[tier] * 86_400)}
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
      FROM generate_series(${time(first)}, ${time(first + length)}, INTERVAL ${bucket} SECOND) AS series (bucket)
      LEFT JOIN (
        SELECT
          date_trunc('${unit}', timestamp) AS bucket,
          min(execution_time) AS min_execution_time,
          max(execution_time) AS max_execution_time,
          avg(execution_time) AS avg_execution_time,
          quantile_disc(execution_time, 0.95) AS p95_execution_time,
          quantile_disc(execution_time, 0.99) AS p99_execution_time,
          count(*) AS count,
          count(*) FILTER (WHERE status_code >= 400) AS error_count
        FROM (
          SELECT
            timestamp,
            (metadata ->> '$.execution_time_ms')::DOUBLE AS execution_time,
            (metadata ->> '$.response.status_code')::INTEGER AS status_code
          FROM function_edge_logs
          WHERE
            project = '${project}'
            AND timestamp >= ${time(first)} AND timestamp < ${time(first + length + bucket)}
        ) AS invocations
        GROUP BY 1
      ) AS statistics ON statistics.bucket = series.bucket
      ORDER BY 1`
  },

  'usage.api-counts': ({ project, interval }, now) => {
    const { length, unit } = windowOf[interval]
    const area = (name) =>
      `count(*) FILTER (WHERE regexp_matches(path, '/${name}')) AS total_${name}_requests`
    return `
      SELECT
        date_trunc('${unit}', timestamp) AS timestamp,
        ${['rest', 'storage', 'auth', 'realtime'].map(area).join(', ')}
      FROM (
        SELECT timestamp, metadata ->> '$.request.path' AS path
        FROM edge_logs
        WHERE timestamp >= ${time(now - length)} AND regexp_matches(metadata ->> '$.request.url', '${project}')
      ) AS requests
      GROUP BY 1
      ORDER BY 1`
  },
}

export function duckdbQuery({ endpoint, parameters }, nowMs) {
  return queries[endpoint](parameters, nowMs / 1000)
}

const times = {
  micros: 'epoch_us(timestamp) AS timestamp',
  text: "strftime(timestamp, '%Y-%m-%dT%H:%M:%S') AS timestamp",
}

/** The rows of a query as objects, with times formatted like the endpoint's. */
export async function duckdbRows(duckdb, call, nowMs, { time: form }) {
  const rows = `SELECT * REPLACE (${times[form]}) FROM (${duckdbQuery(call, nowMs)})`
  return JSON.parse(await duckdb.read(`SELECT coalesce(to_json(list(r)), '[]') FROM (${rows}) AS r`))
}
