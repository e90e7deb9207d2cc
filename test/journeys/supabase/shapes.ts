import { functionShapes } from './function-shapes.ts'
import { reportShapes } from './report-shapes.ts'
import { edge, parsed, type Shape, timesOf } from './shape.ts'

const authError =
  "IFNULL(metadata.level, '') IN ('error','fatal') OR IFNULL(SAFE_CAST(metadata.status AS INT64), 0) >= 500"
const authWarning =
  "IFNULL(metadata.level, '') = 'warning' OR IFNULL(SAFE_CAST(metadata.status AS INT64), 0) BETWEEN 400 AND 499"

function chart(table: string, joins: string, error: string, warning: string, after: string): string {
  return `
SELECT
-- log-event-chart
  timestamp_trunc(t.timestamp, minute) as timestamp,
  count(CASE WHEN NOT (${error} OR ${warning}) THEN 1 END) as ok_count,
  count(CASE WHEN ${error} THEN 1 END) as error_count,
  count(CASE WHEN ${warning} THEN 1 END) as warning_count,
FROM
  ${table} t
  ${joins}
  where t.timestamp > '${after}'
GROUP BY
timestamp
ORDER BY
  timestamp ASC
`
}

export function shapes(startMs: number): Shape[] {
  const { micros, iso, text } = timesOf(startMs)
  const [e1, e2, e3] = [
    ['GET', '/rest/v1/orders?select=*', 200],
    ['POST', '/auth/v1/token?grant_type=password', 400],
    ['GET', '/storage/v1/object/a.png', 500],
  ].map(
    ([method, path, status]) =>
      `172.18.0.12 - - [13/Jul/2026:09:00:00 +0000] "${method} ${path} HTTP/1.1" ${status} 2 "-" "node"`,
  )
  const bars = (seconds: number, ok: number, error: number, warning: number) => ({
    timestamp: micros(seconds),
    ok_count: ok,
    error_count: error,
    warning_count: warning,
  })
  const status = 'response.status_code'
  return [
    {
      name: 'L1, F3: the list of the API gateway',
      sql: `-- local dev edge_logs query
select id, edge_logs.timestamp, event_message, request.method, request.path, request.search, response.status_code
from edge_logs ${edge} where (request.path like '/rest/%' or request.path like '/auth/%') order by timestamp desc limit 100;`,
      rows: [
        {
          id: 'e2',
          timestamp: micros(0),
          event_message: e2,
          method: 'POST',
          path: '/auth/v1/token?grant_type=password',
          search: null,
          status_code: 400,
        },
        {
          id: 'e1',
          timestamp: micros(0),
          event_message: e1,
          method: 'GET',
          path: '/rest/v1/orders?select=*',
          search: null,
          status_code: 200,
        },
      ],
    },
    {
      name: 'L1, F1, F2, F4: search, status and method',
      sql: `select id from edge_logs ${edge} where (regexp_contains(event_message, 'GET .*\\\\.png')) and (response.status_code between 500 and 599) and (request.method = 'GET')`,
      rows: [{ id: 'e3' }],
    },
    {
      name: 'L2, F5: the list of Postgres',
      sql: `select postgres_logs.timestamp, id, event_message, parsed.error_severity, parsed.detail, parsed.hint from postgres_logs ${parsed} where (parsed.error_severity not in ('LOG', 'WARNING')) order by timestamp desc limit 100`,
      rows: [
        {
          timestamp: micros(2, 123456),
          id: 'p2',
          event_message: 'relation "it\'s" does not exist 42',
          error_severity: 'ERROR',
          detail: null,
          hint: null,
        },
      ],
    },
    {
      name: 'F1: a doubled quote and a doubled backslash in a search',
      sql: `select id from postgres_logs ${parsed} where regexp_contains(event_message, 'it''s. .* \\\\d+$') and parsed.error_severity = 'ERROR'`,
      rows: [{ id: 'p2' }],
    },
    {
      name: 'L3, F6: the list of Auth, entries without an error',
      sql: `select id, auth_logs.timestamp, metadata.level, metadata.status, metadata.path, metadata.msg as msg, metadata.error from auth_logs cross join unnest(metadata) as metadata where NOT (${authError}) AND NOT (${authWarning}) order by timestamp desc limit 100`,
      rows: [
        {
          id: 'a1',
          timestamp: micros(1, 123456),
          level: 'info',
          status: 200,
          path: '/token',
          msg: 'request completed',
          error: null,
        },
      ],
    },
    {
      name: 'L3, F6: errors and warnings of Auth',
      sql: `select id, (${authWarning}) as warning from auth_logs cross join unnest(metadata) as metadata where ${authError} or ${authWarning} order by timestamp`,
      rows: [
        { id: 'a2', warning: true },
        { id: 'a3', warning: false },
      ],
    },
    {
      name: 'F7, F8: status and endpoint of Auth',
      sql: 'select id from auth_logs cross join unnest(metadata) as metadata where cast(metadata.status as int64) between 400 and 499 and REGEXP_CONTAINS(metadata.path, "/signup|/invite|/verify")',
      rows: [{ id: 'a2' }],
    },
    {
      name: 'L4: the list of edge functions',
      sql: 'select id, function_edge_logs.timestamp, event_message from function_edge_logs order by timestamp desc limit 100',
      rows: [{ id: 'f1', timestamp: micros(7, 123456), event_message: 'serving the request with /hello' }],
    },
    {
      name: 'L5: Storage, Realtime and PostgREST',
      sql: 'select id, postgrest_logs.timestamp, event_message from postgrest_logs  order by timestamp desc limit 100',
      rows: [
        { id: 'r2', timestamp: micros(5), event_message: 'a line that does not match' },
        { id: 'r1', timestamp: micros(4), event_message: 'Listening on port 3000' },
      ],
    },
    {
      name: 'L6: Cron',
      sql: `select id, postgres_logs.timestamp, event_message, parsed.error_severity, parsed.query from postgres_logs ${parsed} where ( parsed.application_name = 'pg_cron' or event_message::text LIKE '%cron job%' ) AND parsed.error_severity = 'WARNING' order by timestamp desc limit 100`,
      rows: [
        {
          id: 'p3',
          timestamp: micros(3, 123456),
          event_message: 'cron job 7 starting',
          error_severity: 'WARNING',
          query: null,
        },
      ],
    },
    {
      name: 'L7, F9: backticks around each part',
      sql: "select id, function_logs.timestamp, event_message, metadata.event_type, metadata.function_id, metadata.execution_id, metadata.level from function_logs cross join unnest(metadata) as metadata where `metadata`.`function_id` = 'x' and `identifier` = 'default' order by timestamp desc limit 100",
      rows: [],
    },
    {
      name: 'L8: a table that only the hosted platform fills',
      sql: "select id, supavisor_logs.timestamp, event_message from supavisor_logs cross join unnest(metadata) as m where m.project like 'x%' order by timestamp desc limit 100",
      rows: [],
    },
    {
      name: 'C1: the count of new entries',
      sql: `SELECT count(*) as count FROM edge_logs ${edge} where request.method = 'GET'`,
      rows: [{ count: 3 }],
    },
    {
      name: 'C1: entries without request and response are counted',
      sql: `SELECT count(*) as count FROM function_edge_logs ${edge}`,
      rows: [{ count: 1 }],
    },
    {
      name: 'H1: the chart of the API gateway',
      sql: chart('edge_logs', edge, `${status} >= 500`, `${status} >= 400 AND ${status} < 500`, iso(-1)),
      rows: [bars(0, 1, 0, 1), bars(60, 1, 1, 0)],
    },
    {
      name: 'H1: the chart starts after the time in the query',
      sql: chart('edge_logs', edge, `${status} >= 500`, `${status} >= 400 AND ${status} < 500`, iso(0)),
      rows: [bars(60, 1, 1, 0)],
    },
    {
      name: 'H1: the chart of functions, whose entries have no status',
      sql: chart(
        'function_edge_logs',
        edge,
        `${status} >= 500`,
        `${status} >= 400 AND ${status} < 500`,
        iso(-1),
      ),
      rows: [bars(0, 1, 0, 0)],
    },
    {
      name: 'H1: the chart of Postgres',
      sql: chart(
        'postgres_logs',
        parsed,
        "parsed.error_severity IN ('ERROR', 'FATAL', 'PANIC')",
        "parsed.error_severity IN ('WARNING')",
        iso(-1),
      ),
      rows: [bars(0, 1, 1, 1)],
    },
    {
      name: 'H1: the chart of Auth',
      sql: chart('auth_logs', 'cross join unnest(metadata) as metadata', authError, authWarning, iso(-1)),
      rows: [bars(0, 1, 1, 1)],
    },
    {
      name: 'H1: the chart of Storage, where nothing is an error',
      sql: chart('storage_logs', '', 'false', 'false', iso(-1)),
      rows: [bars(0, 1, 0, 0)],
    },
    {
      name: 'H1: the chart of a JSON message',
      sql: chart(
        'multigres_logs',
        '',
        `JSON_VALUE(event_message, '$.level') IN ('error')`,
        `JSON_VALUE(event_message, '$.level') IN ('warn')`,
        iso(-1),
      ),
      rows: [],
    },
    {
      name: 'R1: one row with nested metadata',
      sql: "select id, timestamp, event_message, metadata from edge_logs where id = 'e3' limit 1",
      rows: [
        {
          id: 'e3',
          timestamp: micros(61),
          event_message: e3,
          metadata: [
            {
              request: [
                {
                  method: 'GET',
                  path: '/storage/v1/object/a.png',
                  protocol: 'HTTP/1.1',
                  headers: [{ referer: '-', user_agent: 'node', cf_connecting_ip: '172.18.0.12' }],
                },
              ],
              response: [{ status_code: 500 }],
              appname: 'supabase-kong',
            },
          ],
        },
      ],
    },
    {
      name: 'R1: a request without headers gets some, because the panel needs them',
      sql: "select metadata from edge_logs where id = 'e4' limit 1",
      rows: [
        {
          metadata: [
            {
              request: [{ headers: [{}], host: '172.18.0.1', method: 'GET' }],
              response: [{ status_code: 200 }],
              appname: 'supabase-kong',
              severity: 'error',
            },
          ],
        },
      ],
    },
    {
      name: 'the default text of the Explorer',
      sql: 'select\n  timestamp, event_message, metadata\nfrom realtime_logs limit 5',
      rows: [
        {
          timestamp: micros(5, 123456),
          event_message: 'Tenant connected',
          metadata: [{ project: 'default', external_id: 'realtime-dev', level: 'info' }],
        },
      ],
    },
    {
      name: 'template: left join unnest on true, a header, an alias called count',
      sql: `select h.user_agent, cf.country, count(*) as count from edge_logs left join unnest(metadata) as m on true left join unnest(m.request) as r on true left join unnest(r.headers) as h on true left join unnest(r.cf) as cf on true where h.cf_connecting_ip is not null group by h.user_agent, cf.country order by count desc`,
      rows: [{ user_agent: 'node', country: null, count: 3 }],
    },
    {
      name: 'template: timestamps as datetime',
      sql: `select cast(timestamp as datetime) as timestamp, cast(t.timestamp as datetime) as again, event_message from edge_logs as t where id = 'e3'`,
      rows: [{ timestamp: text(61), again: text(61), event_message: e3 }],
    },
    {
      name: 'template: slow paths, grouped by aliases',
      sql: `select r.path as path, r.search as params, count(timestamp) as c from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as res group by path, params order by c desc, path limit 25`,
      rows: [
        { path: null, params: null, c: 1 },
        { path: '/auth/v1/token?grant_type=password', params: null, c: 1 },
        { path: '/rest/v1/orders?select=*', params: null, c: 1 },
        { path: '/storage/v1/object/a.png', params: null, c: 1 },
      ],
    },
    {
      name: 'template: a bare field, starts_with, a comparison as a column, positions in GROUP BY',
      sql: `select (responseHeaders.cf_cache_status = 'HIT') as cached, starts_with(r.path, '/storage/v1/object') as stored, r.method, count(id) as count
from edge_logs f cross join unnest(f.metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as res cross join unnest(res.headers) as responseHeaders
where path like '%/v1/%' and r.method = 'GET'
group by 1, 2, 3 order by count desc, stored`,
      rows: [
        { cached: null, stored: false, method: 'GET', count: 1 },
        { cached: null, stored: true, method: 'GET', count: 1 },
      ],
    },
    {
      name: 'template: an empty alternative, double quotes, a line that is commented out',
      sql: `select id from auth_logs cross join unnest(metadata) as metadata
where
  regexp_contains(event_message,"level.{3}(info|warning||error|fatal)")
  -- and regexp_contains(event_message,"status")
limit 100`,
      rows: [{ id: 'a1' }, { id: 'a2' }, { id: 'a3' }],
    },
    {
      name: 'link of an Auth user: SAFE_OFFSET',
      sql: `select id, metadata from edge_logs where ( metadata[SAFE_OFFSET(0)].request[SAFE_OFFSET(0)].headers[SAFE_OFFSET(0)].user_agent = 'none' ) limit 100`,
      rows: [],
    },
    {
      name: 'SAFE_OFFSET reads nested fields',
      sql: `select metadata[SAFE_OFFSET(0)].request[OFFSET(0)].headers[ORDINAL(1)].user_agent as agent, m.context[offset(0)].host from storage_logs cross join unnest(metadata) as m`,
      rows: [{ agent: null, host: 'storage' }],
    },
    {
      name: 'unnest of an array of one object',
      sql: `select c.host, c.pid from storage_logs cross join unnest(metadata) as m cross join unnest(m.context) as c`,
      rows: [{ host: 'storage', pid: 1 }],
    },
    ...reportShapes(startMs),
    ...functionShapes(startMs),
  ]
}

/** SQL that is refused, with a part of the sentence that says why. */
export const refused: [sql: string, message: RegExp][] = [
  ['select id from edge_log', /"edge_log" does not exist. Did you mean edge_logs\?/],
  [
    'select status_code from edge_logs',
    /Unrecognized name "status_code".*CROSS JOIN UNNEST\(metadata\) AS m.*line 1, column 8/,
  ],
  ['select idd from edge_logs', /Unrecognized name "idd". Did you mean id\?/],
  ['select e.path from edge_logs e', /has no column "path".*Columns: id, timestamp, event_message, metadata/],
  ['select row_number() from edge_logs', /ROW_NUMBER needs OVER/],
  ['select lower(id) over (order by id) from edge_logs', /OVER is not supported in LOWER/],
  ['select id from edge_logs window w as (order by id)', /WINDOW is not supported/],
  ['select sum(1) over (order by id rows between x and y) from edge_logs', /expected "\)" but found "x"/],
  ['select approx_quantiles(id, 100) from edge_logs', /APPROX_QUANTILES is not supported. Choose an element/],
  [
    'select regex_contains(id, "a") from edge_logs',
    /REGEX_CONTAINS is not supported. Did you mean REGEXP_CONTAINS\?/,
  ],
  ['select m.* from edge_logs cross join unnest(metadata) as m', /"m\.\*" cannot be expanded/],
  ['select id from edge_logs where timestamp > @start', /Parameters such as @name are not supported/],
  ["select id from edge_logs where timestamp > 'yesterday'", /"yesterday" is not a timestamp/],
  [
    'select count(*) as n from edge_logs where count(*) > 1',
    /WHERE cannot use aggregate functions. Use HAVING/,
  ],
  ['select id from edge_logs a join postgres_logs b on a.id = b.id', /The name "id" is ambiguous/],
  ['select 1; select 2', /Only one query is supported/],
  ['delete from edge_logs', /must start with SELECT or WITH/],
  ['select 1 from edge_logs join postgres_logs using (x)', /Unrecognized name "x"/],
  [
    'select 1 from (select id as x from edge_logs) join postgres_logs using (x)',
    /postgres_logs has no column "x"/,
  ],
  [
    'select (select count(*) from auth_logs a where a.id = e.id) as n from edge_logs e',
    /Unrecognized name "e"/,
  ],
  [
    "select id from edge_logs where regexp_contains(event_message, '(')",
    /cannot compile|regular expression/i,
  ],
  // Without a group around them, the engine would ignore the bracket and the backslash.
  ["select id from edge_logs where regexp_contains(event_message, 'GET)')", /cannot compile/i],
  // No entry is matched against these.
  ["select id from pgbouncer_logs where regexp_contains(event_message, '(')", /cannot compile/i],
  ["select regexp_extract(event_message, '[') as x from supavisor_logs", /cannot compile/i],
  ["select id from edge_logs where regexp_contains(event_message, 'GET\\\\')", /cannot compile/i],
  ['select id, count(*) from edge_logs', /id.*GROUP BY/],
  ["select 'a", /A string is not closed/],
  ['select id from edge_logs where', /expected a value but found the end of the query/],
  ['select cast(id as bytes) from edge_logs', /The type BYTES is not supported/],
  [
    "select id from edge_logs for system_time as of timestamp '2026-01-01'",
    /FOR SYSTEM_TIME AS OF is not supported. Use a condition on timestamp/,
  ],
  [`select '''it's''' as a`, /Strings in triple quotes are not supported.*column 8/],
  ['select r"""a"b""" as a', /Strings in triple quotes are not supported/],
  ["select r'''a''' as a", /Strings in triple quotes are not supported/],
  ['select max(id order by id) from edge_logs', /ORDER BY is not supported in MAX/],
  ['select count(id limit 5) from edge_logs', /LIMIT is not supported in COUNT/],
  [
    'select array_agg(id order by id, timestamp desc) from edge_logs',
    /needs the same direction for all keys/,
  ],
  ['select id from edge_logs where id in unnest(metadata)', /IN UNNEST needs a list/],
  ['select id from system.tables', /"system.tables" does not exist/],
]
