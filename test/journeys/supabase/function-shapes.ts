import { expect } from 'vitest'
import { type Shape, timesOf } from './shape.ts'

/** SQL that people and MCP clients write, and the functions in it. */
export function functionShapes(startMs: number): Shape[] {
  const { micros, iso } = timesOf(startMs)
  const headers = '{"referer":"-","user_agent":"node","cf_connecting_ip":"172.18.0.12"}'
  const request = `{"method":"GET","path":"/rest/v1/orders?select=*","protocol":"HTTP/1.1","headers":[${headers}]}`
  const whole = `{"request":[${request}],"response":[{"status_code":200}],"appname":"supabase-kong"}`
  return [
    {
      name: 'functions of text and numbers',
      sql: `select upper('ü') as upper, substr('hello', 2, 3) as sub, left('hello', 2) as l, split('a,b')[offset(1)] as s, split('a|b', '|')[safe_offset(5)] as missing,
replace('aba', 'a', 'x') as replaced, strpos('hello', 'l') as pos, contains_substr('Hello', 'ELL') as found, regexp_extract('v12', r'\\d+') as digits, regexp_replace('a1b2', r"\\d", '') as letters,
trim('  x ') || 'y' as joined, length('it''s "ü"') as size, '''x"' as long, cast(9223372036854775807 as string) as largest, 9007199254740993 = 9007199254740992 as same, round(2.567, 1) as rounded, mod(7, 4) as m, div(7, 2) as d, safe_divide(1, 0) as undivided, -abs(-3) as n, 7 / 2 as half, 0x10 as hex,
greatest(1, 2) as top, nullif(1, 1) as none, if(1 > 2, 'a', 'b') as chosen, case 2 when 1 then 'one' when 2 then 'two' end as two, 5 between 1 and 9 as inside, 3 not in (1, 2) as apart, null is not true as untrue,
array_length([1, 2]) as items, to_json_string(struct(1 as a, 'b' as b)) as text, json_value('{"a":[{"b":7}]}', '$.a[0].b') as deep, safe_cast('x' as int64) as bad, cast('5' as float64) + 1 as six`,
      rows: [
        {
          ...{ upper: 'Ü', sub: 'ell', l: 'he', s: 'b', missing: null, replaced: 'xbx', pos: 3, found: true },
          ...{
            digits: '12',
            letters: 'ab',
            joined: 'xy',
            size: 8,
            long: '\'x"',
            largest: '9223372036854775807',
            same: false,
            rounded: 2.6,
            m: 3,
            d: 3,
          },
          ...{ undivided: null, n: -3, half: 3.5, hex: 16, top: 2, none: null, chosen: 'b', two: 'two' },
          ...{ inside: true, apart: true, untrue: true, items: 2, text: '{"a":1,"b":"b"}', deep: '7' },
          ...{ bad: null, six: 6 },
        },
      ],
    },
    {
      name: 'functions of time',
      sql: `select timestamp_diff(timestamp '2026-03-01 12:00:00', '2026-03-01T10:30:00Z', minute) as minutes, date_diff('2026-03-01', '2026-01-01', month) as months,
timestamp_trunc(timestamp '2026-03-04T12:34:56.789Z', week) as week, date_trunc('2026-03-04', quarter) as quarter, extract(dayofweek from timestamp '2026-03-01') as sunday, extract(date from timestamp '2026-03-01T23:00:00Z') as day,
timestamp '2026-03-01' + interval 2 hours as later, cast(datetime_sub(datetime '2026-03-01', interval 1 day) as datetime) as before, timestamp_millis(1000) as second, unix_seconds(timestamp '1970-01-02') as unix,
format_timestamp('%Y-%m-%d %H:%M:%E3S %%', timestamp '2026-03-01T01:02:03Z', 'UTC') as shown,
cast(timestamp '1970-01-02' as int64) as micros, cast(datetime '1970-01-01T00:00:01' as int64) as of_datetime, date_sub(date '2026-03-01', interval 1 day) as eve, date_add('2026-03-01', interval 1 month) as next, parse_timestamp('%Y-%m-%d %H:%M:%E*S', '2026-03-01 10:11:12.5') as parsed, parse_timestamp('%Y', 'x') as unread, parse_date('%F', '2026-03-01') as on_day,
date_trunc('hour', timestamp '2026-03-01 10:11:12') as hour, timestamp '2026-03-01' - interval '30 days' + interval '1 hour' as earlier, now() > timestamp '2026-01-01' as now, 1 is distinct from null as d1, null is not distinct from null as d2, 'a' is not distinct from 'b' as d3`,
      rows: [
        {
          ...{ minutes: 90, months: 2, week: Date.UTC(2026, 2, 1) * 1000, quarter: '2026-01-01', sunday: 1 },
          ...{ day: '2026-03-01', later: Date.UTC(2026, 2, 1, 2) * 1000, before: '2026-02-28T00:00:00' },
          ...{ second: 1_000_000, unix: 86_400, shown: '2026-03-01 01:02:03.000000 %' },
          ...{ micros: 86_400_000_000, of_datetime: 1_000_000, eve: '2026-02-28', next: '2026-04-01' },
          ...{ parsed: Date.UTC(2026, 2, 1, 10, 11, 12, 500) * 1000, unread: null, on_day: '2026-03-01' },
          ...{ hour: Date.UTC(2026, 2, 1, 10) * 1000, earlier: Date.UTC(2026, 0, 30, 1) * 1000, now: true },
          ...{ d1: true, d2: true, d3: false },
        },
      ],
    },
    {
      name: 'aggregate functions',
      sql: `select count(distinct m.level) as levels, sum(distinct cast(m.status as int64)) as statuses, string_agg(distinct m.level, '+') as names, logical_or(m.status = 500) as failed, approx_count_distinct(id) as ids, max(m.status) as worst, stddev(1) as same, array_agg(distinct m.level) as list from auth_logs, unnest(metadata) m where m.level = 'info'`,
      rows: [
        {
          ...{ levels: 1, statuses: 622, names: 'info', failed: false, ids: 2, worst: 422 },
          ...{ same: 0, list: ['info'] },
        },
      ],
    },
    {
      name: 'aggregate functions without rows',
      sql: `select max(timestamp) as a, max(cast(timestamp as datetime)) as b, min(id) as c, sum(1) as d, avg(1) as e, any_value(id) as f, string_agg(id) as g, array_agg(id) as h, logical_and(true) as i, stddev(1) as j, max(m.x) as k, approx_quantiles(1, 100)[offset(50)] as l, count(*) as m, countif(true) as n, approx_count_distinct(id) as o from auth_logs, unnest(metadata) m where id = 'none'`,
      rows: [
        {
          ...Object.fromEntries([...'abcdefghijkl'].map((name) => [name, null])),
          ...{ m: 0, n: 0, o: 0 },
        },
      ],
    },
    {
      name: 'ORDER BY and LIMIT in aggregate functions',
      sql: `select string_agg(id, '+' order by timestamp desc limit 2) as last, array_agg(id order by m.level, id) as list, array_agg(m.status order by timestamp) as statuses, array_agg(distinct m.level order by m.level desc) as levels, array_agg(id limit 1) as some from auth_logs, unnest(metadata) m where id != 'a3' or m.level = 'error'`,
      rows: [
        {
          ...{ last: 'a3+a2', list: ['a3', 'a1', 'a2'], statuses: [200, '422', null] },
          ...{ levels: ['info', 'error'], some: [expect.stringMatching(/^a\d$/)] },
        },
      ],
    },
    {
      name: 'window functions',
      sql: `select id, row_number() over (partition by m.level order by timestamp desc) as number, rank() over (order by m.level) as level, lag(id) over (order by timestamp) as before, lead(m.status, 1, '0') over (order by timestamp) as after, count(*) over () as all_rows, sum(m.duration) over (order by timestamp rows between unbounded preceding and current row) as total, max(m.status) over (partition by m.level) as worst, first_value(m.status) over (order by timestamp desc) as newest from auth_logs, unnest(metadata) m order by id`,
      rows: [
        {
          ...{ id: 'a1', number: 2, level: 2, before: null, after: '422', all_rows: 3, total: 12_000_000 },
          ...{ worst: 422, newest: null },
        },
        {
          ...{ id: 'a2', number: 1, level: 2, before: 'a1', after: null, all_rows: 3, total: 42_000_000 },
          ...{ worst: 422, newest: null },
        },
        {
          ...{ id: 'a3', number: 1, level: 1, before: 'a2', after: '0', all_rows: 3, total: 42_000_000 },
          ...{ worst: null, newest: null },
        },
      ],
    },
    {
      name: 'QUALIFY',
      sql: 'select id from auth_logs, unnest(metadata) m qualify row_number() over (partition by m.level order by timestamp desc) = 1 order by id',
      rows: [{ id: 'a2' }, { id: 'a3' }],
    },
    {
      name: 'EXISTS with columns of the query around it',
      sql: `select e.id from edge_logs e cross join unnest(e.metadata) as m cross join unnest(m.request) as r where exists (select 1, 2 from postgres_logs p cross join unnest(p.metadata) as pm where p.timestamp < e.timestamp and pm.parsed.error_severity = 'ERROR' and r.path is not null) and not exists (select 1 from edge_logs where id = 'none') order by id`,
      rows: [{ id: 'e3' }],
    },
    {
      name: 'USING, RIGHT JOIN and FULL JOIN',
      sql: `with a as (select id, 'a' as x from auth_logs where id != 'a3' union all select 'e1', 'b'), b as (select id, 'c' as y from edge_logs where id < 'e3') select 'full' as kind, id, x, y from a full join b using (id) union all select 'right', id, x, y from a right outer join b using (id) union all select 'inner', * from a join b using (id) order by kind, id`,
      rows: [
        { kind: 'full', id: 'a1', x: 'a', y: null },
        { kind: 'full', id: 'a2', x: 'a', y: null },
        { kind: 'full', id: 'e1', x: 'b', y: 'c' },
        { kind: 'full', id: 'e2', x: null, y: 'c' },
        { kind: 'inner', id: 'e1', x: 'b', y: 'c' },
        { kind: 'right', id: 'e1', x: 'b', y: 'c' },
        { kind: 'right', id: 'e2', x: null, y: 'c' },
      ],
    },
    {
      name: 'a join in brackets has names of its own',
      sql: `select p.id, m.parsed.error_severity as severity, request.path from postgres_logs p cross join unnest(metadata) as m left join (edge_logs as e cross join unnest(metadata) as em cross join unnest(em.request) as request) on timestamp_trunc(e.timestamp, minute) = timestamp_trunc(p.timestamp, minute) and request.method = 'POST' and m.parsed.error_severity = 'LOG' order by p.id`,
      rows: [
        { id: 'p1', severity: 'LOG', path: '/auth/v1/token?grant_type=password' },
        { id: 'p2', severity: 'ERROR', path: null },
        { id: 'p3', severity: 'WARNING', path: null },
      ],
    },
    {
      name: 'a bare name among many objects',
      sql: `select referer, count(*) as count, case when referer like '-%' and cast(referer as int64) is null and referer != 'x' then concat(referer, lower(referer)) else upper(referer) end as twice, max(referer) as most from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(m.response) as response ${['headers', 'cf', 'sb', 'jwt', 'a', 'b', 'c', 'd'].map((name) => `left join unnest(request.${name}) as ${name}`).join(' ')} where referer is not null and referer in ('-', 'y') and starts_with(referer, '-') group by referer, twice having referer > ' ' order by referer, twice`,
      rows: [{ referer: '-', count: 3, twice: '--', most: '-' }],
    },
    {
      name: 'TO_JSON_STRING of metadata, of its fields and of what was unnested',
      sql: `select to_json_string(metadata) as a, to_json_string(m) as b, to_json_string(m.request) as c, to_json_string(h) as d, to_json_string(m.response[0].status_code) as e, to_json_string(m.x) as f, json_value(to_json_string(metadata), '$[0].request[0].headers[0].user_agent') as g from edge_logs, unnest(metadata) m, unnest(m.request) as r, unnest(r.headers) as h where id = 'e1'`,
      rows: [
        {
          ...{ a: `[${whole}]`, b: whole, c: `[${request}]`, d: headers, e: '200', f: 'null', g: 'node' },
        },
      ],
    },
    {
      name: 'a search in quotes, as Studio sends it',
      sql: `select regexp_contains("the table 'orders'", '''orders''') as a, regexp_contains('the table orders', '''orders''') as b, '''' as c, '''a' || 'b''' as d`,
      rows: [{ a: true, b: false, c: "'", d: "'ab'" }],
    },
    {
      name: 'MCP: distinct and ilike',
      sql: "select distinct m.level from auth_logs cross join unnest(metadata) as m where event_message ilike '%LEVEL%' order by level limit 10",
      rows: [{ level: 'error' }, { level: 'info' }],
    },
    {
      name: 'MCP: free-form SQL',
      sql: `select m.level, count(*) c, max(m.duration) as longest, string_agg(metadata.path) as paths, format_timestamp('%H:%M', min(timestamp)) as first from auth_logs, unnest(metadata) as m where timestamp > timestamp_sub(current_timestamp(), interval 30 day) group by all having count(*) > 1 order by 2 desc`,
      rows: [
        { level: 'info', c: 2, longest: 30_000_000, paths: '/token,/signup', first: iso(1).slice(11, 16) },
      ],
    },
    {
      name: 'MCP: select * and a subquery',
      sql: `select * except(metadata, event_message), extract(minute from timestamp) as minute from (select * from edge_logs) where id in (select id from edge_logs where event_message like '%500%') limit 10`,
      rows: [{ id: 'e3', timestamp: micros(61), minute: Number(iso(61).slice(14, 16)) }],
    },
  ]
}
