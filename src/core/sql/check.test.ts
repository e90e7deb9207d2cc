import { describe, expect, test } from 'vitest'
import { checkTokens } from './check.ts'
import { Query } from './query.ts'

const refusals: Record<string, readonly string[]> = {
  'must start with SELECT or WITH': [
    ...['', ' ', '-- nothing', 'SHOW TABLES', 'EXPLAIN SELECT 1', 'DESCRIBE TABLE edge_logs', 'VALUES (1)'],
    ...['KILL QUERY WHERE 1', 'edge_logs JOIN auth_logs USING (id)', '; SELECT 1', 'SELEC 1', '{{ select }}'],
  ],
  'is not allowed: queries only read': [
    ...['INSERT INTO edge_logs SELECT 1', 'DROP TABLE edge_logs', 'ALTER TABLE edge_logs DELETE WHERE 1'],
    ...['TRUNCATE edge_logs', 'update edge_logs set id = 1'],
  ],
  'For a value, write WITH': ['SET a = 1', 'USE system', 'DECLARE a INT64; SELECT 1'],
  'Did you mean SELECT?': ['SELCT 1', 'selekt 1'],
  'Did you mean WITH?': ['WITTH a AS (SELECT 1) SELECT 1'],
  'Only one SELECT': [
    ...['SELECT 1; SELECT 2', 'SELECT 1;', 'SELECT 1 \\G', 'SELECT 1 /* ; */ ; DROP TABLE x'],
  ],
  bracket: ['SELECT 1)', 'SELECT 1) UNION ALL (SELECT 2', 'SELECT (1', 'SELECT [1)', 'SELECT 1) -- ('],
  'not closed': ["SELECT 'x", 'SELECT `x', 'SELECT "x', 'SELECT 1 /* x', 'SELECT /* /* */ 1', 'SELECT ‘x'],
  'longer than 262144 characters': [`SELECT '${'a'.repeat(262_144)}'`],
  'nested more than': [`SELECT ${'('.repeat(201)}1${')'.repeat(201)}`],
  'Write the parameter as': [
    ...['SELECT * FROM {t:Identifier}', 'SELECT {x:String}', 'SELECT { x /* */ : String }'],
    'SELECT {`x`:String}',
  ],
  PREWHERE: ['SELECT * FROM edge_logs PREWHERE 1', 'SELECT 1 IN (SELECT 1 FROM x prewhere y)'],
  'INTO OUTFILE': ["SELECT 1 INTO OUTFILE '/tmp/x'", "SELECT 1 into/**/outfile '/tmp/x' TRUNCATE"],
  FORMAT: ['SELECT 1 FORMAT JSON', 'SELECT 1\nformat -- x\nNull -- y'],
  'quoted name': [
    ...[
      'SELECT `a\nb`',
      'SELECT "a\\nb"',
      'SELECT 1 AS `a (alias b)`',
      'SELECT `\\x66ile`(1)',
      'SELECT `\t`',
    ],
  ],
  NUL: ['SELECT 1\0', "SELECT '\0'"],
}

describe.each(Object.entries(refusals))('%s', (reason, statements) => {
  test.each(statements)('%j', (sql) => expect(() => checkTokens(new Query(sql))).toThrow(reason))
})

test.each([
  'SELECT 1',
  `SELECT ${'('.repeat(200)}1${')'.repeat(200)}`,
  '(SELECT 1) UNION ALL (SELECT 2)',
  'WITH a AS (SELECT 1) SELECT * FROM a',
  'FROM edge_logs SELECT id',
  "SELECT ';', $x$ ; \\G PREWHERE $x$, `a;b` /* ; */ -- ;",
  "SELECT ')', `(`, $x$ ) $x$ /* ) */ -- )",
  "SELECT format('{}', id) FROM edge_logs",
  'SELECT format FROM edge_logs',
  "SELECT map('a', 1)['a'], [(1)], {1}, @x, '{x:String}' AS `count()`",
])('accepts %j', (sql) => expect(() => checkTokens(new Query(sql))).not.toThrow())

test.each([
  ['SELECT\n  1) + 2', 2, 4],
  ['SELECT 1)', 1, 9],
  ['SELECT (1]', 1, 10],
  ['SELECT (1', 1, 8],
  ["SELECT 'x", 1, 8],
  ['SELECT 1 /* x', 1, 10],
  ['('.repeat(201), 1, 201],
  ['SELECT 1 = { x : String }', 1, 12],
  ['\n  SELEC 1', 2, 3],
])('reports the position of the problem in %j', (sql, line, column) => {
  expect(() => checkTokens(new Query(sql))).toThrow(expect.objectContaining({ details: { line, column } }))
})
