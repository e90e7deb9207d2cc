import type { SourceColumn } from '../../../src/core/sql/paths.ts'
import type { Random } from '../../../src/features/demo/random.ts'

/** The sources that the statements read, with their typed columns. */
export const shadowedSources: Record<string, SourceColumn[]> = {
  typed_logs: [
    { name: 'request_path', path: 'request.path', type: 'text' },
    { name: 'status', path: 'response.status', type: 'number' },
  ],
  plain_logs: [],
}

const path = 'metadata.request.path::String'
const redacted = "replaceAll(metadata, 'secret', 'redacted')"

/** One statement for each way in which a path does not belong to the column, or a typed column cannot replace it. */
export const shadowedPaths = [
  `SELECT ${redacted} AS metadata, ${path} AS p FROM typed_logs`,
  `SELECT ${redacted} metadata, ${path} AS p FROM typed_logs`,
  `SELECT ${redacted} AS "metadata", ${path} AS p FROM typed_logs`,
  `WITH ${redacted} AS metadata SELECT ${path} AS p FROM typed_logs`,
  `SELECT p FROM (WITH ${redacted} AS metadata SELECT ${path} AS p FROM typed_logs)`,
  `WITH v AS (SELECT ${redacted} AS metadata, ${path} AS p FROM typed_logs) SELECT p FROM v`,
  `WITH v AS (SELECT ${redacted} AS metadata FROM typed_logs) SELECT ${path} AS p FROM v`,
  `SELECT * REPLACE (${redacted} AS metadata), ${path} AS p FROM typed_logs`,
  `SELECT ${path} AS p FROM typed_logs WHERE (${redacted} AS metadata) != ''`,
  `SELECT ((SELECT '{}') AS metadata) AS m, ${path} AS p FROM typed_logs`,
  `SELECT ${path} AS p FROM typed_logs ORDER BY (${redacted} AS metadata)`,
  `SELECT count() OVER (PARTITION BY ${path}) AS n, '{}' AS metadata FROM typed_logs`,
  `SELECT ${path} AS p FROM typed_logs ARRAY JOIN ['{}'] AS metadata`,
  `SELECT arrayMap(metadata -> ${redacted}, ['secret']) AS r, ${path} AS p FROM typed_logs`,
  `SELECT tuple('x')::Tuple(request_path String) AS typed_logs, ${path} AS p FROM typed_logs`,
  `SELECT tuple('x')::Tuple(request_path String) AS e, e.id, e.${path} AS p FROM typed_logs AS e`,
  `SELECT arrayMap(typed_logs -> ${path}, [1]) AS p FROM typed_logs`,
  `SELECT e.${path} AS p FROM typed_logs AS e JOIN plain_logs AS typed_logs USING (id)`,
  `SELECT e.${path} AS p FROM typed_logs AS e JOIN (SELECT id, '{}' AS metadata FROM plain_logs) AS typed_logs USING (id)`,
  `WITH typed_logs AS (SELECT * FROM plain_logs) SELECT ${path} AS p FROM typed_logs`,
  `SELECT ${path} AS p FROM typed_logs GROUP BY metadata`,
  `SELECT metadata AS m, ${path} AS p, count() AS n FROM typed_logs GROUP BY m`,
  `SELECT ${path} AS p FROM typed_logs AS e GROUP BY typed_logs.${path}`,
  `SELECT ${path} AS p FROM typed_logs AS _t`,
  `WITH ${redacted} AS metadata SELECT '' AS p FROM typed_logs UNION ALL SELECT ${path} AS p FROM typed_logs`,
]

/** Statements with names that do not keep a typed column from replacing a path. */
export const servedPaths = [
  `SELECT * EXCEPT metadata, ${path} AS p FROM typed_logs`,
  `SELECT metadata, ${path} AS p FROM typed_logs`,
  `SELECT ${path} AS p, count() AS n FROM typed_logs GROUP BY p`,
  `SELECT max(p) AS typed_logs, '{}' AS metadata FROM (SELECT ${path} AS p FROM typed_logs)`,
  `WITH '{}' AS metadata SELECT p FROM (SELECT ${path} AS p FROM typed_logs) AS typed_logs`,
]

const casts = [
  'request.path::String',
  'request.path::Nullable(String)',
  'response.status::Nullable(Float64)',
  'response.status::Int32',
  'request.path',
]
/** Names of columns, tables and typed columns, which aliases may take. */
const names = ['metadata', 'metadata', 'metadata', 'typed_logs', 'e', 'x', 'request_path', '_t']
/** Texts in place of metadata. */
const texts = [
  redacted,
  "replaceAll(e.metadata, 'secret', 'redacted')",
  'upper(metadata)',
  `'{"request":{"path":"constant"}}'`,
]

/** Statements in which metadata, or the name of a table, may mean something else than a column or table. */
export function shadowingStatements(random: Random): () => string {
  const { pick, chance } = random
  const name = () => pick(names).replace(/.*/s, (text) => (chance(0.1) ? `\`${text}\`` : text))
  const maybe = (probability: number, text: () => string) => (chance(probability) ? text() : '')
  const anyPath = () =>
    `${pick(['', '', '', 'e.', 'typed_logs.', 'x.'])}${pick(['metadata', 'metadata', '"metadata"'])}.${pick(casts)}`
  const value = (depth: number): string => {
    const deeper = () => value(depth - 1)
    const choices: (() => string)[] = [anyPath, anyPath, anyPath, anyPath]
    if (depth > 0) {
      choices.push(
        () => `toString(${deeper()})`,
        () => `(${deeper()} AS ${name()})`,
        () => `(${pick(texts)} AS ${name()})`,
        () => `arrayMap(${name()} -> ${deeper()}, ['{}'])`,
        () => `arrayMap((y, ${name()}) -> ${deeper()}, ['{}'], ['{}'])`,
        () => `id IN (SELECT id FROM ${table(depth - 1)} WHERE toString(${deeper()}) != 'x')`,
        () => `count() OVER (PARTITION BY ${deeper()})`,
        () => `(SELECT max(toString(${deeper()})) FROM ${table(depth - 1)})`,
        () => `if(1, ${deeper()}, NULL)`,
      )
    }
    return pick(choices)()
  }
  const selected = (depth: number) =>
    pick([
      () => `${value(depth)} AS ${pick(['a', 'b', 'c'])}`,
      () => value(depth),
      () => `max(toString(${value(depth - 1)})) AS ${pick(['a', 'm', 'metadata'])}`,
      () => `${pick(texts)} AS ${name()}`,
      () => `${pick(texts)} ${name()}`,
      () => pick(['id', 'metadata', 'e.metadata', '*', '* EXCEPT metadata']),
      () => `* REPLACE (${pick(texts)} AS metadata)`,
    ])()
  const list = (item: () => string) => Array.from({ length: random.whole(1, 3) }, item).join(', ')
  const alias = () => pick(['', ` AS ${name()}`, ' AS e', ' e', ' e'])
  const table = (depth: number): string => {
    const choices: (() => string)[] = [
      () => `typed_logs${alias()}`,
      () => `typed_logs${alias()}`,
      () => `plain_logs${alias()}`,
      () => `typed_logs${alias()} ARRAY JOIN [${pick(texts)}] AS ${name()}`,
      () => `typed_logs AS e, plain_logs AS ${name()}`,
      () =>
        `typed_logs AS e ${pick(['LEFT', 'RIGHT', 'INNER'])} JOIN plain_logs AS ${name()} USING (${pick(['id', 'metadata'])})`,
    ]
    if (depth > 0) {
      choices.push(
        () => `(${select(depth - 1)})${alias()}`,
        () => `(${select(depth - 1)} UNION ALL ${select(depth - 1)})${alias()}`,
        () =>
          `typed_logs AS e JOIN (SELECT id, ${pick(texts)} AS ${name()} FROM plain_logs AS e) AS ${name()} USING (id)`,
      )
    }
    return pick(choices)()
  }
  const definition = (depth: number) =>
    pick([
      () => `${pick(texts)} AS ${name()}`,
      () => `${value(depth)} AS ${name()}`,
      () => `${name()} AS (${select(depth)})`,
    ])()
  const select = (depth: number): string =>
    maybe(0.25, () => `WITH ${list(() => definition(depth - 1))} `) +
    `SELECT ${maybe(0.1, () => 'DISTINCT ')}${list(() => selected(depth))} FROM ${depth > 0 ? table(depth) : 'typed_logs AS e'}` +
    maybe(0.3, () => ` WHERE toString(${value(depth - 1)}) != 'x'`) +
    maybe(0.2, () => ` GROUP BY ${pick(['ALL', 'metadata', 'id', 'metadata, id', 'a', '1', anyPath()])}`) +
    maybe(0.1, () => ` HAVING toString(${value(depth - 1)}) != 'x'`) +
    maybe(0.3, () => ` ORDER BY toString(${value(depth - 1)})`)
  return () => select(2) + maybe(0.1, () => ` UNION ALL ${select(1)}`)
}
