import { type Dice, nastyTexts } from './dice.ts'

const tables = [
  'edge_logs',
  'auth_logs',
  'postgres_logs',
  'supavisor_logs',
  'w',
  '`edge_logs`',
  'edge_logs.metadata',
  'system.tables',
]
const names = [
  ...[
    'id',
    'timestamp',
    'event_message',
    'metadata',
    'identifier',
    't.id',
    't.timestamp',
    'm',
    'r',
    't',
    'path',
    'n',
    'x',
  ],
  ...[
    'm.level',
    'm.request',
    'r.path',
    'r.headers.user_agent',
    'metadata.request.url',
    '`m`.`status`',
    'response.status_code',
  ],
  ...[
    'metadata[safe_offset(0)].request[offset(0)].path',
    'm.context[ordinal(3)].host',
    'w.x',
    'r.path.too.deep',
  ],
]
const literals = [
  '1',
  '0',
  '-1',
  '1.5',
  '1e308',
  '999999999999999999',
  "'a'",
  '"b"',
  "''",
  'true',
  'false',
  'null',
  '[]',
  '[1, 2]',
  "r'\\d+'",
]
const calls = [
  ...[
    'lower',
    'upper',
    'length',
    'concat',
    'substr',
    'starts_with',
    'regexp_contains',
    'regexp_extract',
    'regexp_replace',
    'replace',
  ],
  ...[
    'json_value',
    'json_query',
    'coalesce',
    'ifnull',
    'nullif',
    'if',
    'safe_divide',
    'round',
    'mod',
    'abs',
    'div',
    'pow',
    'least',
  ],
  ...[
    'timestamp_diff',
    'unix_millis',
    'timestamp',
    'date',
    'datetime',
    'format_timestamp',
    'timestamp_micros',
    'current_timestamp',
  ],
  ...[
    'count',
    'countif',
    'sum',
    'avg',
    'min',
    'max',
    'any_value',
    'string_agg',
    'array_agg',
    'approx_count_distinct',
    'row_number',
    'sleep',
  ],
  ...[
    'to_json_string',
    'parse_json',
    'array_length',
    'struct',
    'repeat',
    'generate_array',
    'left',
    'right',
    'split',
  ],
]
const types = [
  'int64',
  'float64',
  'string',
  'timestamp',
  'datetime',
  'date',
  'bool',
  'json',
  'bytes',
  'text',
  'array<int64>',
]
const windowed = [
  'row_number',
  'rank',
  'lag',
  'lead',
  'first_value',
  'sum',
  'count',
  'max',
  'string_agg',
  'lower',
  'ntile',
]
const units = ['minute', 'hour', 'day', 'week', 'isoweek', 'microsecond', 'year', 'parsec']
const operators = [
  '=',
  '!=',
  '<',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '||',
  'and',
  'or',
  'like',
  'ilike',
  'not like',
  'is',
  'in',
]

/** Of one statement. */
const maxQueries = 5

/** Generates statements of BigQuery's grammar, as far as the gateway supports it and a little further. */
export function bigQueryGrammar(dice: Dice): () => string {
  let queries = 0
  const list = (of: () => string, most: number) => Array.from({ length: 1 + dice.below(most) }, of).join(', ')

  function expression(depth: number): string {
    if (depth <= 0) return dice.percent(70) ? dice.pick(names) : dice.pick(literals)
    const inner = () => expression(depth - 1 - dice.below(2))
    const forms = [
      () => dice.pick(names),
      () => dice.pick(literals),
      () => (dice.percent(10) ? `'${dice.pick(nastyTexts).replaceAll("'", "''")}'` : inner()),
      () =>
        `${dice.pick(calls)}(${dice.percent(10) ? 'distinct ' : ''}${dice.percent(90) ? list(inner, 3) : '*'})`,
      () => `${inner()} ${dice.pick(operators)} ${inner()}`,
      () => `(${inner()})`,
      () => `not (${inner()})`,
      () => `case when ${inner()} then ${inner()} else ${inner()} end`,
      () => `${dice.pick(['cast', 'safe_cast'])}(${inner()} as ${dice.pick(types)})`,
      () => `${inner()}::${dice.pick(types)}`,
      () => `${inner()} between ${inner()} and ${inner()}`,
      () => `${inner()} ${dice.percent(50) ? 'not ' : ''}in (${list(inner, 4)})`,
      () => `${inner()} is ${dice.percent(50) ? 'not ' : ''}null`,
      () => `timestamp_trunc(${inner()}, ${dice.pick(units)})`,
      () => `timestamp_sub(${inner()}, interval ${inner()} ${dice.pick(units)})`,
      () => `extract(${dice.pick(units)} from ${inner()})`,
      () => `approx_quantiles(${inner()}, 100)[offset(${dice.below(120)})]`,
      () => `struct(${inner()} as a, ${inner()})`,
      () => `(${query(depth - 2)})`,
      () => `${inner()} in (${query(depth - 2)})`,
      () => `${dice.percent(50) ? 'not ' : ''}exists (${query(depth - 2)})`,
      () => `${inner()} is ${dice.percent(50) ? 'not ' : ''}distinct from ${inner()}`,
      () => `${dice.pick(windowed)}(${dice.percent(60) ? inner() : ''}) over (${window(inner)})`,
      () => `${dice.pick(['array_agg', 'string_agg', 'max'])}(${inner()} order by ${inner()} desc limit 3)`,
      () => `date_trunc('${dice.pick(units)}', ${inner()})`,
      () => `${inner()} - interval '${dice.below(40)} ${dice.pick(units)}s'`,
      () => `parse_timestamp('%Y-%m-%d', ${inner()})`,
    ]
    return dice.pick(forms)()
  }

  function window(inner: () => string): string {
    const frames = [
      '',
      '',
      ' rows between unbounded preceding and current row',
      ' range 1 preceding',
      ' rows',
    ]
    return `${dice.percent(50) ? `partition by ${inner()} ` : ''}${dice.percent(70) ? `order by ${inner()} desc` : ''}${dice.pick(frames)}`
  }

  function from(): string {
    const joins = [
      ' cross join unnest(metadata) as m',
      ' cross join unnest(t.metadata) as m cross join unnest(m.request) as r',
      ' left join unnest(metadata) as m on true',
      ', unnest(metadata) as m, m.response as response',
      ' left join w on w.x = t.id',
      ' join auth_logs as a on a.id = t.id',
      ' join auth_logs a on a.id = t.id',
      ` left join (${query(1)}) as w on t.id = w.x`,
      ' cross join postgres_logs p',
      ' full join auth_logs a using (id)',
      ' right join auth_logs a on a.id = t.id',
      ' join postgres_logs p using (id, timestamp)',
      ' left join (auth_logs a cross join unnest(metadata) as am) on a.id = t.id',
      ' left join (auth_logs a cross join unnest(a.metadata) as am) on a.id = t.id',
    ]
    const first = dice.percent(90)
      ? dice.pick(dice.percent(80) ? tables.slice(0, 4) : tables)
      : `(${query(1)})`
    const [plain, unnested] = joins as [string, string]
    const join = dice.percent(60) ? dice.pick([plain, unnested]) : dice.percent(50) ? dice.pick(joins) : ''
    return `${first} ${dice.percent(90) ? 'as t' : ''}${join}`
  }

  function select(depth: number): string {
    const item = () =>
      dice.percent(8)
        ? '*'
        : `${expression(depth)}${dice.pick([' as x', ' as n', ' as timestamp', '', ' as edge_logs'])}`
    const group = dice.percent(30)
      ? ` group by ${dice.pick(['1', '1, 2', 'x', 'all', list(() => expression(1), 2)])}`
      : ''
    return (
      `select ${dice.percent(10) ? 'distinct ' : ''}${list(item, 4)}${dice.percent(10) ? ',' : ''} from ${from()}` +
      `${dice.percent(50) ? ` where ${expression(depth)}` : ''}${group}${dice.percent(10) ? ` having ${expression(1)}` : ''}` +
      `${dice.percent(5) ? ` qualify ${expression(1)}` : ''}`
    )
  }

  function query(depth: number): string {
    if (++queries > maxQueries) return 'select id as x from edge_logs'
    const body = dice.percent(12) ? `${select(depth)} union all ${select(depth)}` : select(depth)
    const order = dice.percent(40)
      ? ` order by ${dice.pick(['1', 'timestamp desc', 'x', expression(1)])}`
      : ''
    return body + order + (dice.percent(50) ? ` limit ${dice.below(200)}` : '')
  }

  return () => {
    queries = 0
    const text = query(1 + dice.below(3))
    return `${dice.percent(15) ? `with w as (${query(2)}) ` : ''}${text}${dice.percent(10) ? ';' : ''}`
  }
}
