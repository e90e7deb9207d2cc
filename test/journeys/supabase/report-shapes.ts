import { edge, parsed, type Shape, timesOf } from './shape.ts'

/** Reports and unified logs. */
export function reportShapes(startMs: number): Shape[] {
  const { micros, iso, hour } = timesOf(startMs)
  return [
    {
      name: 'P1: the number of requests by hour as datetime',
      sql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, count(t.id) as count FROM edge_logs t cross join unnest(metadata) as m cross join unnest(m.response) as response cross join unnest(m.request) as request cross join unnest(request.headers) as headers WHERE response.status_code >= 400 and \`identifier\` = 'default' GROUP BY timestamp ORDER BY timestamp ASC`,
      rows: [{ timestamp: hour, count: 2 }],
    },
    {
      name: 'P2: top routes, grouped by expressions',
      sql: `select request.path as path, request.method as method, request.search as search, response.status_code as status_code, count(t.id) as count, avg(response.origin_time) as avg from edge_logs t ${edge} where response.status_code < 500 and request.path is not null group by request.path, request.method, request.search, response.status_code order by count desc, path limit 3`,
      rows: [
        {
          path: '/auth/v1/token?grant_type=password',
          method: 'POST',
          search: null,
          status_code: 400,
          count: 1,
          avg: null,
        },
        {
          path: '/rest/v1/orders?select=*',
          method: 'GET',
          search: null,
          status_code: 200,
          count: 1,
          avg: null,
        },
      ],
    },
    {
      name: 'P3: network traffic',
      sql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, coalesce(safe_divide(sum(cast(coalesce(headers.content_length, "0") as int64)), 1000000), 0) as ingress_mb, coalesce(safe_divide(sum(cast(coalesce(resp_headers.content_length, "2000000") as int64)), 1000000), 0) as egress_mb, FROM edge_logs t ${edge} cross join unnest(request.headers) as headers cross join unnest(response.headers) as resp_headers GROUP BY timestamp ORDER BY timestamp ASC`,
      rows: [{ timestamp: hour, ingress_mb: 0, egress_mb: 8 }],
    },
    {
      name: 'P4: countries',
      sql: `select cf.country as country, count(t.id) as count from edge_logs t ${edge} cross join unnest(request.cf) as cf where cf.country is not null group by cf.country`,
      rows: [],
    },
    {
      name: 'P5: cache hits',
      sql: `SELECT timestamp_trunc(timestamp, day) as timestamp, countif( h.cf_cache_status in ('HIT', 'STALE') ) as hit_count, countif( h.cf_cache_status in ('MISS') or starts_with(r.path, '/storage') ) as miss_count, from edge_logs f cross join unnest(f.metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as res cross join unnest(res.headers) as h where starts_with(r.path, '/storage/v1/object') and r.method = 'GET' group by timestamp order by timestamp desc`,
      rows: [
        { timestamp: Date.parse(`${iso(61).slice(0, 10)}T00:00:00Z`) * 1000, hit_count: 0, miss_count: 1 },
      ],
    },
    {
      name: 'P6: filters of reports',
      sql: `select id from edge_logs t ${edge} where REGEXP_CONTAINS(\`request\`.\`path\`, '/auth') and \`response\`.\`status_code\` != 404 and \`response\`.\`status_code\` >= 400`,
      rows: [{ id: 'e2' }],
    },
    {
      name: 'A1: users of Auth',
      sql: `select timestamp_trunc(timestamp, minute) as timestamp, count(distinct json_value(f.event_message, "$.auth_event.actor_id")) as count, COALESCE(JSON_VALUE(event_message, "$.provider"), 'unknown') as provider, CASE WHEN JSON_VALUE(event_message, "$.level") = "info" THEN CONCAT('is ', JSON_VALUE(event_message, "$.level")) ELSE 'other' END as kind from auth_logs f where json_value(f.event_message, "$.auth_event.action") in ('login', 'token_refreshed') group by timestamp, provider, kind`,
      rows: [{ timestamp: micros(0), count: 1, provider: 'unknown', kind: 'is info' }],
    },
    {
      name: 'A2, A3: latency and percentiles',
      sql: `select round(avg(cast(json_value(event_message, "$.duration") as int64)) / 1000000, 2) as avg, round(min(cast(json_value(event_message, "$.duration") as int64)) / 1000000, 2) as min, round(approx_quantiles(cast(json_value(event_message, "$.duration") as int64), 100)[offset(95)] / 1000000, 2) as p95 from auth_logs`,
      rows: [{ avg: 21, min: 12, p95: 30 }],
    },
    {
      name: 'A4: errors of Auth by a bare path',
      sql: `select timestamp_trunc(timestamp, minute) as timestamp, count(*) as count, h.x_sb_error_code as error_code, response.status_code from edge_logs ${edge} cross join unnest(response.headers) as h where path like '%auth/v1%' and response.status_code >= 400 and response.status_code <= 599 group by timestamp, status_code, error_code order by timestamp desc`,
      rows: [{ timestamp: micros(0), count: 1, error_code: null, status_code: 400 }],
    },
    {
      name: 'G1, G2: functions',
      sql: `select timestamp_trunc(timestamp, minute) as timestamp, function_id, count(distinct id) as count, avg(m.execution_time_ms) as avg, count(distinct case when response.status_code >= 500 then id end) as errors FROM function_edge_logs CROSS JOIN UNNEST(metadata) as m CROSS JOIN UNNEST(m.request) as request CROSS JOIN UNNEST(m.response) as response group by timestamp, function_id order by timestamp desc`,
      rows: [{ timestamp: micros(0), function_id: null, count: 1, avg: null, errors: 0 }],
    },
    {
      name: 'K1: the last use of API keys',
      sql: 'select unix_millis(max(timestamp)) as timestamp, apikey.`hash` from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(request.sb) as sb cross join unnest(sb.apikey) as sbapikey cross join unnest(sbapikey.apikey) as apikey GROUP BY apikey.`hash`',
      rows: [{ timestamp: micros(62) / 1000, hash: null }],
    },
    {
      name: 'U1: unified logs',
      sql: `WITH unified_logs AS (
  select id, el.timestamp as timestamp, el.event_message as event_message, 'edge' as log_type, CAST(response.status_code AS STRING) as status, null as user, CASE WHEN response.status_code >= 500 THEN 'error' ELSE 'success' END as level from edge_logs as el ${edge}
  union all
  select id, pgl.timestamp, pgl.event_message, 'postgres', null, 'x', CASE WHEN parsed.error_severity = 'ERROR' THEN 'error' ELSE 'success' END from postgres_logs as pgl ${parsed}
)
SELECT id, timestamp, log_type, status, user, level FROM unified_logs WHERE LOWER(\`event_message\`) LIKE LOWER('%E%') and level in ('error') ORDER BY timestamp DESC, id DESC LIMIT 50`,
      rows: [
        { id: 'e3', timestamp: micros(61), log_type: 'edge', status: '500', user: null, level: 'error' },
        {
          id: 'p2',
          timestamp: micros(2, 123456),
          log_type: 'postgres',
          status: null,
          user: 'x',
          level: 'error',
        },
      ],
    },
    {
      name: 'U1: counts of unified logs',
      sql: `with a as (select id, request.method as method from edge_logs ${edge}), b as (select method, COUNTIF(method = 'GET') as gets, ANY_VALUE(id) as one from a group by method)
select 'total' as dimension, 'all' as value, count(*) as count from a
UNION ALL select 'method', method, count(*) from a group by method
UNION ALL select 'gets', b.method, gets from a left join (select method, gets from b where gets > 0) as b on a.method = b.method where a.id = 'e2' or a.id = 'e1'
ORDER BY dimension, count, value`,
      rows: [
        { dimension: 'gets', value: null, count: null },
        { dimension: 'gets', value: 'GET', count: 3 },
        { dimension: 'method', value: 'POST', count: 1 },
        { dimension: 'method', value: 'GET', count: 3 },
        { dimension: 'total', value: 'all', count: 4 },
      ],
    },
    {
      name: 'U1: a join in brackets',
      sql: 'select fel.id, flm.level from function_edge_logs as fel left join (function_logs fl cross join unnest(fl.metadata) as flm) on fel.id = flm.execution_id',
      rows: [{ id: 'f1', level: null }],
    },
    {
      name: 'U2: the service flow of a request',
      sql: `select id, el as raw_log_data, apikey_payload IS NOT NULL as has_key, COALESCE(apikey_payload.algorithm, 'none') as algorithm from realtime_logs as el cross join unnest(metadata) as m left join unnest(m.request) as request left join unnest(request.sb) as sb left join unnest(COALESCE(sb.apikey, [])) as apikey left join unnest(apikey.payload) as apikey_payload where id = 't1' limit 1`,
      rows: [
        {
          id: 't1',
          raw_log_data: [
            {
              id: 't1',
              timestamp: micros(5, 123456),
              event_message: 'Tenant connected',
              metadata: [{ project: 'default', external_id: 'realtime-dev', level: 'info' }],
            },
          ],
          has_key: false,
          algorithm: 'none',
        },
      ],
    },
    {
      name: 'U2: columns can have the names of tables, views and sources, and those of the translation',
      sql: "select null as logs, count(*) as edge_logs, 'a' as function_logs, 'b' as O2, 'c' as O1, 'd' as R, 'e' as r, 'f' as T1, 'g' as View_edge_logs, 'h' as Q1 from edge_logs",
      rows: [
        {
          ...{ logs: null, edge_logs: 4, function_logs: 'a', O2: 'b', O1: 'c', R: 'd', r: 'e', T1: 'f' },
          ...{ View_edge_logs: 'g', Q1: 'h' },
        },
      ],
    },
    {
      name: 'U2: structs in an array',
      sql: 'select ARRAY_AGG(STRUCT(id as id, length(event_message) as size)) as logs from realtime_logs',
      rows: [{ logs: [{ id: 't1', size: 16 }] }],
    },
    {
      name: 'Q1: query insights',
      sql: `select SUM(cast(metadata.calls as int64)) as calls, MIN(NULLIF(metadata.t, 0)) as min, APPROX_QUANTILES(metadata.t, 100)[OFFSET(50)] as p50 from supamonitor_logs cross join unnest(metadata) as metadata where timestamp >= CAST('2026-07-13T09:00:00Z' AS TIMESTAMP)`,
      rows: [{ calls: null, min: null, p50: null }],
    },
  ]
}
