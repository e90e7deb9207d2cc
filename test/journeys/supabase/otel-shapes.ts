import { expect } from 'vitest'
import type { Shape } from './shape.ts'

/** Queries that Studio sends to the ClickHouse flavor, for the entries of vector.ts. */
export function otelShapes(startMs: number): Shape[] {
  const micros = (seconds: number, fraction = 0) => (startMs + seconds * 1000) * 1000 + fraction
  const iso = (seconds: number) => new Date(startMs + seconds * 1000).toISOString()
  const hour = (seconds: number) => `${iso(seconds).slice(0, 13)}:00:00`
  const minute = (seconds: number) => `${iso(seconds).slice(0, 16)}:00`
  const status = "toInt32OrZero(log_attributes['response.status_code'])"
  const level = `CASE WHEN ${status} >= 500 THEN 'error' WHEN ${status} >= 400 THEN 'warning' ELSE 'success' END`
  return [
    {
      name: 'O1: the list',
      sql: `-- logs of ['edge_logs']
SELECT id, timestamp, log_attributes['request.method'] AS method, log_attributes['request.search'] AS search, log_attributes['response.status_code'] AS status_code FROM logs WHERE source = 'edge_logs' AND (log_attributes['request.method'] IN ('POST')) ORDER BY timestamp DESC LIMIT 100`,
      rows: [{ id: 'e2', timestamp: micros(0), method: 'POST', search: '', status_code: '400' }],
    },
    {
      name: 'O2: the count',
      sql: "SELECT count() AS count FROM logs WHERE source = 'auth_logs'",
      rows: [{ count: 3 }],
    },
    {
      name: 'O3: the chart',
      sql: `SELECT toStartOfMinute(timestamp) AS timestamp, countIf(NOT ((${status} >= 500) OR (0))) AS ok_count, countIf(${status} >= 500) AS error_count, countIf(0) AS warning_count FROM logs WHERE source = 'edge_logs' GROUP BY timestamp ORDER BY timestamp ASC`,
      rows: [
        { timestamp: minute(0), ok_count: 2, error_count: 0, warning_count: 0 },
        { timestamp: minute(60), ok_count: 1, error_count: 1, warning_count: 0 },
      ],
    },
    {
      name: 'O4: one row',
      sql: "SELECT id, timestamp, event_message, source, severity_text, log_attributes FROM logs WHERE id = 'p2' LIMIT 1",
      rows: [
        {
          id: 'p2',
          timestamp: micros(2, 123456),
          event_message: 'relation "it\'s" does not exist 42',
          source: 'postgres_logs',
          severity_text: 'ERROR',
          log_attributes: {
            project: 'default',
            identifier: 'default',
            host: 'db-default',
            'parsed.error_severity': 'ERROR',
            'parsed.timestamp': `${iso(2).slice(0, 19)}.123456789Z`,
          },
        },
      ],
    },
    {
      name: 'O5: keys',
      sql: "SELECT arrayJoin(mapKeys(log_attributes)) AS key, count() AS n FROM logs WHERE source = 'edge_logs' GROUP BY key ORDER BY n DESC, key LIMIT 3",
      rows: [
        { key: 'appname', n: 4 },
        { key: 'identifier', n: 4 },
        { key: 'project', n: 4 },
      ],
    },
    {
      name: 'O6: unified rows',
      sql: `SELECT id, null AS source_id, timestamp, if(source = 'auth_logs', log_attributes['path'], log_attributes['request.path']) AS pathname, toString(${status}) AS status, ${level} AS level FROM logs WHERE source IN ('edge_logs', 'auth_logs') ORDER BY timestamp DESC, id DESC LIMIT 1`,
      rows: [
        { id: 'e4', source_id: null, timestamp: micros(62), pathname: '', status: '200', level: 'success' },
      ],
    },
    {
      name: 'O7: unified counts',
      sql: `SELECT arrayJoin(['total', 'level']) AS facet, multiIf(facet = 'total', 'all', facet = 'level', ${level}, '') AS value, count() AS count FROM logs WHERE source = 'edge_logs' GROUP BY facet, value HAVING value != ''
UNION ALL
(SELECT 'method' AS facet, log_attributes['request.method'] AS value, count() AS count FROM logs WHERE source = 'edge_logs' GROUP BY facet, value HAVING value != '' ORDER BY count DESC LIMIT 1)`,
      rows: expect.arrayContaining([
        { facet: 'total', value: 'all', count: 4 },
        { facet: 'level', value: 'error', count: 1 },
        { facet: 'method', value: 'GET', count: 3 },
      ]),
    },
    {
      name: 'O8: the unified chart',
      sql: `SELECT toStartOfHour(timestamp) AS time_bucket, countIf((${level}) = 'success') AS success, countIf((${level}) = 'error') AS error, count() AS total_per_bucket FROM logs WHERE source = 'edge_logs' GROUP BY time_bucket ORDER BY time_bucket`,
      rows: [{ time_bucket: hour(0), success: 2, error: 1, total_per_bucket: 4 }],
    },
    {
      name: 'O9: reports',
      sql: `SELECT toUnixTimestamp(toStartOfHour(timestamp)) * 1000000 as timestamp, count(distinct JSONExtractString(event_message, 'auth_event', 'actor_id')) as users, round(quantile(0.95)(toInt64OrZero(log_attributes['duration'])) / 1000000, 2) as p95, sum(toInt64OrZero(log_attributes['duration'])) as total, avg(toFloat64OrZero(log_attributes['duration'])) as avg, coalesce(nullIf(log_attributes['provider'], ''), 'unknown') as provider FROM logs WHERE source = 'auth_logs' AND log_attributes['duration'] != '' GROUP BY timestamp, provider`,
      rows: [
        {
          timestamp: Date.parse(`${hour(0)}Z`) * 1000,
          users: 2,
          p95: 29.1,
          total: 42_000_000,
          avg: 21_000_000,
          provider: 'unknown',
        },
      ],
    },
    {
      name: 'O10: functions',
      sql: "SELECT toUnixTimestamp64Micro(timestamp) as timestamp, toFloat64OrZero(log_attributes['execution_time_ms']) as ms, count(distinct case when toInt32OrZero(log_attributes['response.status_code']) >= 500 then id end) as errors FROM logs WHERE source = 'function_edge_logs' GROUP BY timestamp, ms",
      rows: [{ timestamp: micros(7, 123456), ms: 0, errors: 0 }],
    },
    {
      name: 'O11: filters',
      sql: `SELECT id FROM logs WHERE source = 'edge_logs' AND event_message ILIKE '%post%' AND match(log_attributes['request.path'], '^/auth/v\\\\d') AND ${status} BETWEEN 400 AND 499 AND log_attributes['request.method'] NOT IN ('GET') AND log_attributes['request.path'] NOT LIKE '%rest%' AND startsWith(log_attributes['request.path'], '/auth')`,
      rows: [{ id: 'e2' }],
    },
    {
      name: 'O2: the names of views and sources as aliases',
      sql: "SELECT count() AS logs, any(logs.source) AS path, 1 AS `edge_logs` FROM `logs` WHERE logs.source = 'edge_logs'",
      rows: [{ logs: 4, path: 'edge_logs', edge_logs: 1 }],
    },
    {
      name: 'O2: a subquery with a name, and an alias of the table',
      sql: "WITH counts AS (SELECT count() AS n FROM logs AS l WHERE l.source = 'auth_logs') SELECT n FROM counts",
      rows: [{ n: 3 }],
    },
    {
      name: 'O12: the default text of the Explorer',
      sql: "select timestamp, event_message, log_attributes from logs where source = 'realtime_logs' order by timestamp desc limit 5",
      rows: [
        {
          timestamp: micros(5, 123456),
          event_message: 'Tenant connected',
          log_attributes: {
            project: 'default',
            identifier: 'default',
            external_id: 'realtime-dev',
            level: 'info',
          },
        },
      ],
    },
  ]
}
