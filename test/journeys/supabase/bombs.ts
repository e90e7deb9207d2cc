const many = (text: string, times: number) => text.repeat(times)
const nested = (open: string, inner: string, close: string, times = 90) =>
  many(open, times) + inner + many(close, times)

/** Short SQL that would take long to translate or to run, with a part of the sentence that refuses it. */
export const bombs: [name: string, sql: string, message: RegExp][] = [
  ['brackets', `select ${nested('(', '1', ')', 9_000)}`, /nested more than 100 levels deep/],
  ['NOT', `select ${many('not ', 15_000)} true`, /nested more than 100 levels deep/],
  ['signs', `select ${many('- ', 15_000)} 1`, /nested more than 100 levels deep/],
  ['subqueries', nested('select * from (', 'select 1', ')', 3_000), /nested more than 100 levels deep/],
  [
    'CASE',
    `select ${nested('case when ', 'true', ' then 1 end', 2_500)}`,
    /nested more than 100 levels deep/,
  ],
  ['a long sum', `select 1${many(' + 1', 9_000)}`, /more than 300 levels/],
  ['casts', `select id${many('::text', 6_000)} from edge_logs`, /more than 300 levels/],
  ['INTERVAL', `select ${many('interval ', 7_000)} 1 day`, /nested more than 100 levels deep/],
  [
    'sums of subqueries',
    `select ${nested('(select ', '1', ` ${many('+1', 200)})`, 45)}`,
    /more than 300 levels/,
  ],
  [
    'functions',
    `select ${nested('safe.any_value(', 'id', ')')} from edge_logs`,
    /inside another aggregate|aggregate/i,
  ],
  [
    'conversions',
    `select ${nested('cast(cast(', '1', ' as datetime) as string)', 45)}`,
    /translation is longer than 65536 bytes/,
  ],
  [
    'ranges',
    `select ${nested('cast(', '1', ' as string) between 1 and 2', 40)}`,
    /translation is longer than 65536 bytes/,
  ],
  [
    'columns',
    nested('select *, * from (', 'select id, timestamp from edge_logs', ')', 40),
    /More than 1000 columns/,
  ],
  [
    'WITH',
    `with a0 as (select 1 as x)${Array.from({ length: 40 }, (_, n) => `, a${n + 1} as (select * from a${n} union all select * from a${n})`).join('')} select * from a40`,
    /more than 500 tables/,
  ],
  ['tables', `select 1 from edge_logs${many(', edge_logs', 5_000)}`, /more than 500 tables/],
  [
    'tables in UNION',
    `select 1 from edge_logs${many(' union all select 1 from edge_logs', 600)}`,
    /more than 500 tables/,
  ],
  ['UNNEST', `select x from edge_logs${many(', unnest(metadata) as m', 2_500)}`, /more than 300 UNNESTs/],
  ['a megabyte', `select '${many('x', 1_000_000)}' as x`, /at most 65536 bytes/],
  ['a megabyte of tokens', `select ${many('1,', 500_000)}1`, /at most 65536 bytes/],
  ['a megabyte of quotes', many("'", 1_000_001), /at most 65536 bytes/],
  ['a megabyte of comments', many('/*', 500_000), /at most 65536 bytes/],
  ['many tokens', `select ${many('1,', 15_000)}1`, /at most 20000 words, values and symbols/],
  [
    'a long translation',
    `select coalesce(${many("json_value(event_message, '$.a'),", 1_500)} 'x') from edge_logs`,
    /translation is longer than 65536 bytes/,
  ],
  ['a name', `select 1 as ${many('x', 301)}`, /A name is longer than 300 characters/],
]
