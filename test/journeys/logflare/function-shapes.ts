import { type Shape, timesOf } from './shape.ts'

/** SQL that people and MCP clients write, and the functions in it. */
export function functionShapes(startMs: number): Shape[] {
  const { micros, iso } = timesOf(startMs)
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
format_timestamp('%Y-%m-%d %H:%M:%E3S %%', timestamp '2026-03-01T01:02:03Z', 'UTC') as shown`,
      rows: [
        {
          ...{ minutes: 90, months: 2, week: Date.UTC(2026, 2, 1) * 1000, quarter: '2026-01-01', sunday: 1 },
          ...{ day: '2026-03-01', later: Date.UTC(2026, 2, 1, 2) * 1000, before: '2026-02-28T00:00:00' },
          ...{ second: 1_000_000, unix: 86_400, shown: '2026-03-01 01:02:03.000000 %' },
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
