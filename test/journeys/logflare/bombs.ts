const many = (text: string, times: number) => text.repeat(times)
const nested = (open: string, inner: string, close: string, times = 90) =>
  many(open, times) + inner + many(close, times)

/** Short SQL that would take long to translate or to run, with a part of the sentence that refuses it. */
export const bombs: [name: string, sql: string, message: RegExp][] = [
  ['brackets', `select ${nested('(', '1', ')', 30_000)}`, /nested more than 100 levels deep/],
  ['NOT', `select ${many('not ', 15_000)} true`, /nested more than 100 levels deep/],
  ['signs', `select ${many('- ', 30_000)} 1`, /nested more than 100 levels deep/],
  ['subqueries', nested('select * from (', 'select 1', ')', 4_000), /nested more than 100 levels deep/],
  [
    'CASE',
    `select ${nested('case when ', 'true', ' then 1 end', 3_000)}`,
    /nested more than 100 levels deep/,
  ],
  ['INTERVAL', `select ${many('interval ', 7_000)} 1 day`, /nested more than 100 levels deep/],
  ['a long sum', `select 1${many(' + 1', 15_000)}`, /more than 300 levels/],
  ['casts', `select id${many('::text', 10_000)} from edge_logs`, /more than 300 levels/],
  [
    'sums of subqueries',
    `select ${nested('(select ', '1', ` ${many('+1', 250)})`, 45)}`,
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
    /more than 300 tables/,
  ],
  ['tables', `select 1 from edge_logs${many(', edge_logs', 5_000)}`, /more than 300 tables/],
  ['UNNEST', `select x from edge_logs${many(', unnest(metadata) as m', 2_500)}`, /more than 300 tables/],
  ['a list', `select 1 in (${many('1,', 32_000)}1)`, /translation is longer than 65536 bytes/],
  ['a name', `select 1 as ${many('x', 301)}`, /A name is longer than 300 characters/],
  ['a megabyte', `select '${many('x', 1_000_000)}' as x`, /longer than 65536 characters/],
  ['a megabyte of tokens', `select ${many('1,', 500_000)}1`, /longer than 65536 characters/],
  ['a megabyte of quotes', many("'", 1_000_001), /longer than 65536 characters/],
  ['a megabyte of comments', many('/*', 500_000), /longer than 65536 characters/],
]
