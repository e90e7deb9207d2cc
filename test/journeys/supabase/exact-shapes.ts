import { type Shape, timesOf } from './shape.ts'

/** SQL whose result is easily wrong without an error. */
export function exactShapes(startMs: number): Shape[] {
  const { iso } = timesOf(startMs)
  const day = (number: number, hour = 0) => Date.UTC(2026, 2, number, hour) * 1000
  const numbers = [9, 10, 100, 2.5].map((number) => `select parse_json('${number}') as n`).join(' union all ')
  const boots = [null, 3, 1, 20]
    .map((boot, index) => `select 'm${index}' as name, ${boot && `parse_json('${boot}')`} as boot`)
    .join(' union all ')
  const context = '{"host":"storage","pid":1}'
  const storage = `{"project":"default","tenantId":"stub","level":"info","timestamp":"${iso(6).slice(0, 19)}.123456789Z","context":[${context}]}`
  const realtime = '{"project":"default","external_id":"realtime-dev","level":"info"}'
  return [
    ...(['left', 'full'] as const).map((type) => ({
      name: `${type} join on true keeps rows if the other table is empty`,
      sql: `select a.id, b.id as other, m.level from auth_logs a ${type} join (supavisor_logs b cross join unnest(b.metadata) m) on true order by 1`,
      rows: ['a1', 'a2', 'a3'].map((id) => ({ id, other: null, level: null })),
    })),
    {
      name: 'right join on true, and joins on true with rows',
      sql: `select 'right' as kind, count(*) as n from supavisor_logs a right join auth_logs b on true union all select 'full', count(*) from supavisor_logs a full join auth_logs b on true union all select 'left', count(b.id) from edge_logs a left join auth_logs b on true union all select 'inner', count(*) from edge_logs a join auth_logs b on true union all select 'cross', count(*) from edge_logs a cross join auth_logs b on true order by kind`,
      rows: [
        { kind: 'cross', n: 12 },
        { kind: 'full', n: 3 },
        { kind: 'inner', n: 12 },
        { kind: 'left', n: 12 },
        { kind: 'right', n: 3 },
      ],
    },
    {
      name: 'nulls of timestamps come first, and last if they descend',
      sql: `with x as (select 'b' as name, timestamp '2026-03-01' as t union all select 'a', null) select name, 'asc' as kind from (select name, timestamp_trunc(t, hour) as h from x order by h limit 1) union all select name, 'desc' from (select name from x order by t desc limit 1) order by kind`,
      rows: [
        { name: 'a', kind: 'asc' },
        { name: 'b', kind: 'desc' },
      ],
    },
    {
      name: 'bare names of nested objects',
      sql: `select id, method, u1.user_agent, apikey from edge_logs cross join unnest(metadata) as metadata cross join unnest(request) as u0 cross join unnest(headers) as u1 left join unnest(sb) as u2 left join unnest(jwt) as u3 left join unnest(response) as u4 where status_code >= 400 and regexp_contains(path, '^/auth/v1/(a|token)')`,
      rows: [{ id: 'e2', method: 'POST', user_agent: 'node', apikey: null }],
    },
    {
      name: 'ORDER BY in a list sorts numbers of JSON as numbers',
      sql: `with x as (${numbers}) select array_agg(n order by n) as a, array_agg(n order by n desc limit 2) as b, string_agg(json_value(n), ' ' order by n) as c from x`,
      rows: [{ a: [2.5, 9, 10, 100], b: [100, 10], c: '2.5 9 10 100' }],
    },
    {
      name: 'ORDER BY in a list has nulls first, and last if it descends',
      sql: `with x as (${boots}) select array_agg(name order by boot) as a, array_agg(name order by boot desc) as b, array_agg(name order by boot nulls last) as c, array_agg(name order by boot desc nulls first) as d, array_agg(nullif(name, 'm1') order by name) as e, array_agg(nullif(name, 'm1') ignore nulls order by name) as f, array_agg(boot ignore nulls order by boot) as g from x`,
      rows: [
        {
          ...{ a: ['m0', 'm2', 'm1', 'm3'], b: ['m3', 'm1', 'm2', 'm0'], c: ['m2', 'm1', 'm3', 'm0'] },
          ...{
            d: ['m0', 'm3', 'm1', 'm2'],
            e: ['m0', null, 'm2', 'm3'],
            f: ['m0', 'm2', 'm3'],
            g: [1, 3, 20],
          },
        },
      ],
    },
    {
      name: 'IGNORE NULLS in a window',
      sql: `with x as (${boots}) select name, first_value(boot ignore nulls) over (order by name rows between unbounded preceding and unbounded following) as a, first_value(boot respect nulls) over (order by name) as b from x order by name limit 1`,
      rows: [{ name: 'm0', a: 3, b: null }],
    },
    {
      name: 'the fields of the first element of a list',
      sql: `select array_agg(struct(id, timestamp) order by timestamp desc limit 1)[offset(0)].id as a, array_agg(t order by timestamp desc limit 1)[safe_offset(0)].event_message as b, array_agg(struct(id as x) order by id)[ordinal(1)].x as c, array_agg(struct(id as x) order by id)[offset(1)].x as d, array_agg(t order by id)[offset(0)].metadata[offset(0)].request[offset(0)].method as e from edge_logs t`,
      rows: [{ a: 'e4', b: 'connect() failed', c: 'e1', d: 'e2', e: 'GET' }],
    },
    {
      name: 'the fields of the first element of a list from a subquery',
      sql: 'select x[offset(0)].id as a, x[offset(1)].id as b from (select array_agg(struct(id) order by id) as x from edge_logs)',
      rows: [{ a: 'e1', b: 'e2' }],
    },
    {
      name: 'metadata from a subquery is read like that of a table',
      sql: `with x as (select metadata, m.context as c, m from storage_logs cross join unnest(metadata) as m) select inner_m.context[offset(0)].host as a, d.pid as b, metadata[offset(0)].context[offset(0)].host as c, x.c[offset(0)].host as d, m.level as e, inner_m.host as f from x cross join unnest(metadata) as inner_m cross join unnest(c) as d`,
      rows: [{ a: 'storage', b: 1, c: 'storage', d: 'storage', e: 'info', f: null }],
    },
    {
      name: 'TO_JSON_STRING of metadata that is not read from the table itself',
      sql: `with x as (select metadata, m.context, m from storage_logs cross join unnest(metadata) as m) select to_json_string(metadata) as a, to_json_string(m) as b, to_json_string(x.context) as c, to_json_string(metadata[safe_offset(0)]) as d, to_json_string(struct(metadata as m, 1 as n)) as e, to_json_string(first_value(metadata) over (order by 1)) as f from x`,
      rows: [
        {
          ...{ a: `[${storage}]`, b: storage, c: `[${context}]`, d: storage },
          ...{ e: `{"m":[${storage}],"n":1}`, f: `[${storage}]` },
        },
      ],
    },
    {
      name: 'TO_JSON_STRING of a row, of a group key, of an aggregate and of a UNION',
      sql: `select to_json_string(struct(t.metadata)) as j from realtime_logs t union all select to_json_string(metadata) from realtime_logs group by metadata union all select to_json_string(any_value(metadata)) from realtime_logs union all select to_json_string(metadata) from (select metadata from realtime_logs union all select null) where metadata is not null union all select regexp_extract(to_json_string(t), '"metadata":(.*)}$') from realtime_logs t order by j`,
      rows: [
        ...Array.from({ length: 4 }, () => ({ j: `[${realtime}]` })),
        { j: `{"metadata":[${realtime}]}` },
      ],
    },
    {
      name: 'a column with the name of a table that has an alias',
      sql: "select e.id, edge_logs / 2 as half, x.auth_logs from edge_logs e cross join (select count(*) as edge_logs from edge_logs) n join (select id, event_message as auth_logs from edge_logs) x using (id) where auth_logs like 'connect%'",
      rows: [{ id: 'e4', half: 2, auth_logs: 'connect() failed' }],
    },
    {
      name: 'intervals in texts',
      sql: `select timestamp '2026-03-03' - interval '1 day 2 hours' as a, timestamp '2026-03-03' - interval ' 1 day' as b, timestamp_sub(timestamp '2026-03-03', interval '5' hour) as c, timestamp '2026-03-03' + interval '-1' hour as d, timestamp_add(timestamp '2026-03-03', interval '+1 day 1 hour') as e, timestamp '2026-03-03' + interval safe_cast('x' as int64) hour as f`,
      rows: [{ a: day(1, 22), b: day(2), c: day(2, 19), d: day(2, 23), e: day(4, 1), f: null }],
    },
    {
      name: 'weeks start on Sunday, and on Monday in PostgreSQL',
      sql: `select date_trunc('week', timestamp '2026-03-04') as a, date_trunc('WEEK', timestamp '2026-03-01') as b, timestamp_trunc(timestamp '2026-03-04', week) as c, timestamp_trunc(timestamp '2026-03-04', isoweek) as d, date_trunc(date '2026-03-04', week(monday)) as e, date_diff(date '2026-03-08', date '2026-03-07', week) as f, date_diff(date '2026-03-09', date '2026-03-08', week) as g`,
      rows: [
        { a: day(2), b: Date.UTC(2026, 1, 23) * 1000, c: day(1), d: day(2), e: '2026-03-02', f: 1, g: 0 },
      ],
    },
    {
      name: 'functions of dates return the type that they take, and count boundaries',
      sql: `select date_trunc(timestamp '2026-03-04T10:11:12Z', hour) as a, date_sub(timestamp '2026-03-04T10:00:00Z', interval 1 hour) as b, date_add(datetime '2026-03-04T10:11:12', interval 1 hour) as c, date_trunc(datetime '2026-03-04T10:11:12', month) as d, date_sub(date '2026-03-04', interval 1 day) as e, date_diff('2026-03-01', '2026-01-31', month) as f, datetime_diff(datetime '2026-03-01T01:00:00', datetime '2026-03-01T00:59:00', hour) as g, timestamp_diff(timestamp '2026-03-01T01:00:00Z', timestamp '2026-03-01T00:59:00Z', hour) as h`,
      rows: [
        {
          ...{ a: day(4, 10), b: day(4, 9), c: '2026-03-04T11:11:12', d: '2026-03-01T00:00:00' },
          ...{ e: '2026-03-03', f: 2, g: 1, h: 0 },
        },
      ],
    },
    {
      name: 'time zones, and times without brackets',
      sql: `select parse_timestamp('%Y-%m-%d %H:%M:%S %z', '2026-03-01 10:00:00 +0200') as a, format_timestamp('%H %z', timestamp '2026-03-01') as b, extract(hour from timestamp '2026-03-01 10:00:00' at time zone 'UTC') as c, extract(epoch from timestamp '1970-01-01T00:00:01.5Z') as d, CURRENT_TIMESTAMP > timestamp '2026-01-01' as e, current_date = current_date() as f, cast(timestamp '2026-03-01' as string) as g, cast(timestamp '2026-03-01T00:00:00.5Z' as string) as h`,
      rows: [
        {
          ...{ a: day(1, 8), b: '00 +0000', c: 10, d: 1.5, e: true, f: true },
          ...{ g: '2026-03-01 00:00:00+00', h: '2026-03-01 00:00:00.500000+00' },
        },
      ],
    },
    {
      name: 'nulls and empty texts',
      sql: `select string_agg('') as a, string_agg(nullif(id, 'a1')) as b, string_agg(nullif(id, id)) as c, greatest(max(case when id = 'none' then timestamp end), timestamp '2020-01-01') as d, least(1, null) as e, greatest(1, 2.5, 2) as f, least('b', 'a') as g from auth_logs where id = 'a1'`,
      rows: [{ a: '', b: null, c: null, d: null, e: null, f: 2.5, g: 'a' }],
    },
    {
      name: 'EXISTS with fields of the query around it',
      sql: `select id, exists (select * from unnest(m.auth_event) as x) as a, not exists (select 1 from unnest(m.auth_event) as x where x.action = 'login') as b from auth_logs cross join unnest(metadata) as m where exists (select 1 from unnest(metadata) as m cross join unnest(m.auth_event) as x where m.level = 'error' or m.status = 200 and x.action = 'login' order by 1 limit 1) order by id`,
      rows: [
        { id: 'a1', a: true, b: false },
        { id: 'a3', a: false, b: true },
      ],
    },
    {
      name: 'EXISTS ignores ORDER BY, LIMIT and DISTINCT',
      sql: `select e.id from edge_logs e where exists (select distinct p.id from postgres_logs p where p.timestamp < e.timestamp and exists (select * from auth_logs a where a.timestamp < p.timestamp) order by p.timestamp limit 1) order by id`,
      rows: [{ id: 'e3' }, { id: 'e4' }],
    },
    {
      name: 'a text in three quotes, and a word directly after it',
      sql: "select '''a'''as x",
      rows: [{ x: "'a'" }],
    },
  ]
}

/** SQL that must be refused, because it would return wrong values. */
export const inexact: [sql: string, message: RegExp][] = [
  ...["'1.5 hours'", "'1.5' hour", "'x' hour", '1.5 hour', "'1 hour ago'", "''"].map(
    (text): [string, RegExp] => [
      `select timestamp '2026-03-01' - interval ${text} as a`,
      /whole number and a unit/,
    ],
  ),
  ["select date_trunc(date '2026-03-01', hour)", /needs a unit of at least a day. Use TIMESTAMP_TRUNC/],
  ['select date_sub(current_date, interval 1 hour)', /needs a unit of at least a day. Use TIMESTAMP_SUB/],
  ["select timestamp_trunc(timestamp '2026-03-01', week(tuesday))", /needs a unit such as MINUTE/],
  ["select timestamp at time zone 'Europe/Berlin' from edge_logs", /time zone UTC only/],
  [
    "select x from edge_logs, unnest(['a', 'b']) as x",
    /UNNEST is only supported for metadata and its fields/,
  ],
  ['select y.id from (select array_agg(struct(id)) as x from edge_logs), unnest(x) as y', /UNNEST is only/],
  ['select max(id ignore nulls) from edge_logs', /IGNORE NULLS is not supported in MAX/],
  ['select row_number() over w from edge_logs window w as (order by id)', /WINDOW is not supported/],
  [
    'select 1 from edge_logs e where exists (select 1 from auth_logs a where exists (select 1 from postgres_logs p where p.timestamp < e.timestamp))',
    /EXISTS cannot use "e" of a query around another EXISTS/,
  ],
]
