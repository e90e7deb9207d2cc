import type { Dice } from './dice.ts'

/** What must not be reached, so that it shows when it is. */
export interface Forbidden {
  /** Where a listener counts who comes. */
  address: string
  /** A file with a secret in it. */
  file: string
  /** A file that nobody may write. */
  outFile: string
}

export interface GrammarOptions {
  dice: Dice
  /** Tables that may be read: sources, or the views of a sandbox. */
  tables: readonly string[]
  forbidden: Forbidden
}

const columns = [
  'id',
  'timestamp',
  'project',
  'event_message',
  'metadata',
  'metadata.request.url',
  '*',
  'n',
  'x',
]
const parameters = ['@project', '@a', '@b', '@now', '@c1']
const aggregates = ['count()', 'uniq(project)', 'max(timestamp)', 'groupArray(5)(id)', 'any(event_message)']
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
  'AND',
  'OR',
  'LIKE',
  'ILIKE',
  '||',
  'IN',
  'DIV',
]
const joins = [
  'JOIN',
  'LEFT JOIN',
  'FULL JOIN',
  'CROSS JOIN',
  'ASOF JOIN',
  'ANY JOIN',
  'SEMI LEFT JOIN',
  'PASTE JOIN',
]
const sets = ['UNION ALL', 'UNION DISTINCT', 'INTERSECT', 'EXCEPT']
const types = [
  'UInt8',
  'String',
  'DateTime64(6)',
  'Array(String)',
  'JSON',
  'Nullable(Float64)',
  'Decimal(9, 2)',
]
const functions = [
  ...['lower', 'length', 'toString', 'toUInt8', 'toDateTime64', 'intDiv', 'if', 'match', 'replaceRegexpAll'],
  ...[
    'arrayMap',
    'arrayJoin',
    'range',
    'tuple',
    'map',
    'JSONExtractString',
    'splitByChar',
    'repeat',
    'sipHash64',
  ],
  ...[
    'toStartOfInterval',
    'dateDiff',
    'quantiles(0.5, 0.99)',
    'extractAll',
    'format',
    'cast',
    'toTypeName',
    'greatest',
  ],
  // Those that may not be called, among the others.
  ...[
    'sleep',
    'file',
    'hostName',
    'currentUser',
    'getSetting',
    'dictGet',
    'throwIf',
    'evalMLMethod',
    'getMacro',
  ],
  ...[
    'addressToSymbol',
    'catboostEvaluate',
    'initializeAggregation',
    'joinGet',
    'runningConcurrency',
    'serverUUID',
  ],
]

/** Statements out of a small grammar: most are allowed, some reach for what they must not have. */
export function sqlGrammar({ dice, tables, forbidden }: GrammarOptions): () => string {
  const { address, file, outFile } = forbidden
  const outside = [
    `file('${file}', 'LineAsString')`,
    `url('http://${address}/x', CSV, 'a String')`,
    `remote('${address}', system.one)`,
    `s3('http://${address}/b/k', NOSIGN, 'CSV', 'a String')`,
    `mysql('${address}', 'd', 't', 'u', 'p')`,
    `executable('cat ${file}', 'TSV', 'a String')`,
    "merge('wellhead', '.*')",
    'loop(edge_logs)',
    ...['_catalog', 'wellhead._catalog', 'system.tables', 'system.query_log', 'information_schema.tables'],
    ...['wellhead.edge_logs', '_idempotency', 'edge_logs_local', 'default.x', '{t:Identifier}'],
  ]
  const literals = [
    ...['0', '1', '-1', '1.5', '1e400', 'NULL', 'true', "''", "'x'", "'%'", '18446744073709551616', '[1, 2]'],
    ...[
      "'2026-01-01'",
      "'\\''",
      '$$a$$',
      "toDateTime64('2020-01-01', 6)",
      '(1, 2)',
      "map('a', 1)",
      'inf',
      'nan',
    ],
    ...["'('", "'[a-'", "'(?i)a.*b{1000}'", 'INTERVAL 1 DAY', "x'ff'", "b'01'", '0xFFFFFFFFFFFFFFFF'],
  ]
  const chance = (of: number) => dice.percent(of)

  const expression = (depth: number): string => {
    if (depth <= 0 || chance(35)) {
      if (chance(15)) return dice.pick(parameters)
      return chance(50) ? dice.pick(columns) : dice.pick(literals)
    }
    const deeper = () => expression(depth - 1)
    switch (dice.below(9)) {
      case 0:
        return `${deeper()} ${dice.pick(operators)} ${deeper()}`
      case 1:
        return `(${deeper()})`
      case 2:
        return `CASE WHEN ${deeper()} THEN ${deeper()} ELSE ${deeper()} END`
      case 3:
        return `CAST(${deeper()} AS ${dice.pick(types)})`
      case 4:
        return chance(50) ? `(${select(depth - 1)})` : `${deeper()} IN (${select(depth - 1)})`
      case 5:
        return `x -> ${deeper()}`
      case 6:
        return `${dice.pick(aggregates)}${chance(30) ? ' OVER (PARTITION BY project ORDER BY id)' : ''}`
      default: {
        const count = dice.below(4)
        return `${dice.pick(functions)}(${Array.from({ length: count }, deeper).join(', ')})`
      }
    }
  }

  const table = (depth: number): string => {
    if (depth > 0 && chance(25)) return `(${select(depth - 1)})`
    if (chance(10)) return `numbers(${dice.pick(['0', '3', '1000', '100000000000', '-1', "'a'"])})`
    if (chance(8)) return dice.pick(outside)
    return dice.pick(tables)
  }

  const select = (depth: number): string => {
    const list = Array.from({ length: 1 + dice.below(3) }, () =>
      chance(60)
        ? `${expression(depth)} AS ${dice.pick(['n', 'x', 'id', 'project', '`a b`'])}`
        : expression(depth),
    )
    let sql = `SELECT ${chance(10) ? 'DISTINCT ' : ''}${list.join(', ')}`
    if (chance(85)) sql += ` FROM ${table(depth)}${chance(30) ? ' AS t' : ''}`
    if (chance(15)) sql += ` ${dice.pick(joins)} ${table(depth)} AS u ON ${expression(1)}`
    if (chance(8)) sql += ` ARRAY JOIN [${expression(1)}] AS x`
    if (chance(8)) sql += ` PREWHERE ${expression(1)}`
    if (chance(40)) sql += ` WHERE ${expression(depth)}`
    if (chance(20)) sql += ` GROUP BY ${dice.pick(['project', 'ALL', expression(1), 'ROLLUP(project)'])}`
    if (chance(8)) sql += ` HAVING ${expression(1)}`
    if (chance(25)) sql += ` ORDER BY ${expression(1)}${chance(20) ? ' WITH FILL' : ''}`
    if (chance(30)) sql += ` LIMIT ${dice.pick(['1', '10', '0', '-1', '1 BY id', '@a'])}`
    return sql
  }

  return () => {
    const depth = 1 + dice.below(3)
    let sql = select(depth)
    if (chance(15)) sql = `WITH c AS (${select(depth)}) ${sql.replace(/FROM \w+/, 'FROM c')}`
    if (chance(15)) sql += ` ${dice.pick(sets)} ${select(depth)}`
    if (chance(3)) sql += ` INTO OUTFILE '${outFile}'`
    if (chance(3))
      sql += dice.pick([' FORMAT JSON', ' SETTINGS max_threads = 1', '; SELECT 1', ' -- x', ' /*', ';;'])
    if (chance(2))
      sql = dice.pick(['INSERT INTO edge_logs ', 'EXPLAIN ', 'DESCRIBE ', 'CREATE VIEW v AS ']) + sql
    return sql
  }
}
