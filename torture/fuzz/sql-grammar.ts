import type { Dice } from './dice.ts'

/** Places that SQL must not reach. */
export interface Forbidden {
  /** A listener that counts connections. */
  address: string
  /** A file that contains a secret. */
  file: string
  /** A file that must not be written. */
  outFile: string
}

export interface GrammarOptions {
  dice: Dice
  /** Readable tables: sources, or the views of a sandbox. */
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
  // Forbidden ones.
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

/** Random statements from a small grammar: most are allowed, some try to reach forbidden places. */
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

  /** An expression of any type; most are invalid, which is tested as well. */
  const wild = (depth: number): string => {
    if (depth <= 0 || chance(35)) return chance(50) ? dice.pick(columns) : dice.pick(literals)
    const deeper = () => wild(depth - 1)
    switch (dice.below(6)) {
      case 0:
        return `${deeper()} ${dice.pick(operators)} ${deeper()}`
      case 1:
        return `CAST(${deeper()} AS ${dice.pick(types)})`
      case 2:
        return chance(50) ? `(${select(depth - 1)})` : `${deeper()} IN (${select(depth - 1)})`
      case 3:
        return `${dice.pick(aggregates)}${chance(30) ? ' OVER (PARTITION BY project ORDER BY id)' : ''}`
      default:
        return `${dice.pick(functions)}(${Array.from({ length: dice.below(4) }, deeper).join(', ')})`
    }
  }

  const text = (depth: number): string => {
    if (depth <= 0 || chance(40))
      return dice.pick(['id', 'project', 'event_message', "'x'", "'%'", '@a', '$$a$$'])
    switch (dice.below(6)) {
      case 0:
        return `lower(${text(depth - 1)})`
      case 1:
        return `concat(${text(depth - 1)}, ${text(depth - 1)})`
      case 2:
        return `if(${condition(depth - 1)}, ${text(depth - 1)}, ${text(depth - 1)})`
      case 3:
        return `substring(${text(depth - 1)}, ${1 + dice.below(5)})`
      case 4:
        return `replaceRegexpAll(${text(depth - 1)}, ${dice.pick(["'a+'", "'(.)'", "'['"])}, '')`
      default:
        return `toString(${number(depth - 1)})`
    }
  }

  const number = (depth: number): string => {
    if (depth <= 0 || chance(40))
      return dice.pick(['1', '0', '-1', '1.5', 'length(id)', '18446744073709551615'])
    switch (dice.below(5)) {
      case 0:
        return `(${number(depth - 1)} ${dice.pick(['+', '-', '*', '/', '%'])} ${number(depth - 1)})`
      case 1:
        return `intDiv(${number(depth - 1)}, ${number(depth - 1)})`
      case 2:
        return `sipHash64(${text(depth - 1)})`
      case 3:
        return `toUInt8(${text(depth - 1)})`
      default:
        return `length(${text(depth - 1)})`
    }
  }

  const condition = (depth: number): string => {
    switch (depth <= 0 ? 0 : dice.below(5)) {
      case 0:
        return `${text(depth - 1)} ${dice.pick(['=', '!=', '<', 'LIKE', 'ILIKE'])} ${text(depth - 1)}`
      case 1:
        return `${number(depth - 1)} ${dice.pick(['=', '<', '>='])} ${number(depth - 1)}`
      case 2:
        return `(${condition(depth - 1)} ${dice.pick(['AND', 'OR'])} NOT ${condition(depth - 1)})`
      case 3:
        return `${text(depth - 1)} IN (SELECT ${text(0)} FROM ${dice.pick(tables)})`
      default:
        return `match(${text(depth - 1)}, ${dice.pick(["'a+'", "'(?i)secret.*'", '@project', "'('"])})`
    }
  }

  /** Usually of a valid type. */
  const expression = (depth: number): string => {
    if (chance(12)) return wild(depth)
    return chance(60) ? text(depth) : number(depth)
  }

  const table = (depth: number): string => {
    if (depth > 0 && chance(25)) return `(${select(depth - 1)})`
    if (chance(10)) return `numbers(${dice.pick(['0', '3', '1000', '100000000000', '-1', "'a'"])})`
    if (chance(5)) return dice.pick(outside)
    return dice.pick(tables)
  }

  const select = (depth: number): string => {
    const grouped = chance(15)
    const list = grouped
      ? ['project AS project', ...Array.from({ length: 1 + dice.below(2) }, () => dice.pick(aggregates))]
      : ['id AS id', 'project AS project', 'event_message AS event_message', expression(depth)]
    let sql = `SELECT ${chance(10) ? 'DISTINCT ' : ''}${list.map((each, at) => (at < 3 && !grouped ? each : `${each.replace(/ AS \w+$/, '')} AS ${grouped && at === 0 ? 'project' : `c${at}`}`)).join(', ')}`
    sql += ` FROM ${table(depth)}${chance(20) ? ' AS t' : ''}`
    if (chance(8)) sql += ` ${dice.pick(joins)} ${table(depth)} AS u ON t.id = u.id`
    if (chance(5)) sql += ` ARRAY JOIN [${text(1)}] AS x`
    if (chance(3)) sql += ` PREWHERE ${condition(1)}`
    if (chance(50)) sql += ` WHERE ${chance(90) ? condition(depth) : wild(depth)}`
    if (grouped) sql += ` GROUP BY ${dice.pick(['project', 'project', 'project', 'ALL', 'ROLLUP(project)'])}`
    if (chance(4)) sql += ` HAVING ${wild(1)}`
    if (chance(25)) sql += ` ORDER BY ${chance(80) ? 'project' : wild(1)}${chance(5) ? ' WITH FILL' : ''}`
    if (chance(30)) sql += ` LIMIT ${dice.pick(['1', '10', '10', '0', '5 BY project', '-1', '@a'])}`
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
