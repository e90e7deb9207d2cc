import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sqlTokens } from '../../sql/tokens.ts'
import { inspectStatement, parseInsert, quote } from './statement.ts'

describe('inspectStatement', () => {
  test.each([
    ['SELECT 1', 'SELECT'],
    ['select 1', 'SELECT'],
    ['  \n-- first\n/* then */ Insert INTO t', 'INSERT'],
    ['(SELECT 1) UNION ALL (SELECT 2)', 'SELECT'],
    ['WITH x AS (SELECT 1) SELECT * FROM x', 'WITH'],
    ["'SELECT' DROP", 'DROP'],
    ['', ''],
    ['-- nothing', ''],
    ['; ;', ''],
  ])('the verb of %j is "%s"', (sql, verb) => expect(inspectStatement(sql).verb).toBe(verb))

  test.each([
    'SELECT 1; SELECT 2',
    'SELECT 1;SELECT 2',
    'SELECT 1; -- now\nDROP TABLE t',
    'SELECT 1;;',
    "SELECT ';'; SELECT 2",
    '; SELECT 1',
  ])('%j has several statements', (sql) => expect(inspectStatement(sql).several).toBe(true))

  test.each([
    'SELECT 1',
    'SELECT 1;',
    'SELECT 1; \n -- the end',
    'SELECT 1 /* ; */',
    "SELECT ';', 2",
    'SELECT 1 AS `;`, 2 AS ";"',
    'SELECT 1 -- ; SELECT 2',
    'SELECT $$;$$, 2',
    "SELECT 'a\\'; SELECT 2'",
    "SELECT 'a''; SELECT 2'",
    'SELECT ‘;’, 2',
  ])('%j is one statement', (sql) => expect(inspectStatement(sql).several).toBe(false))

  test.each([
    "SELECT 1 INTO OUTFILE '/tmp/x'",
    "SELECT 1 into OutFile '/tmp/x'",
    "SELECT 1 INTO\n-- and\nOUTFILE '/tmp/x'",
    "SELECT 1 INTO/**/OUTFILE'/tmp/x'",
    "SELECT 1 INTO\u00a0OUTFILE '/tmp/x'",
    "SELECT '' INTO OUTFILE '/tmp/x'",
    "SELECT 'a\\\\' INTO OUTFILE '/tmp/x'",
    "SELECT $$a$$ INTO OUTFILE '/tmp/x'",
    "SELECT '/*' INTO OUTFILE '/tmp/x' -- */",
    "WITH 1 AS a SELECT a INTO OUTFILE '/tmp/x' TRUNCATE",
    "SELECT 1 // '\nINTO OUTFILE '/tmp/x' -- '",
    "SELECT 1 INTO\u200bOUTFILE '/tmp/x'",
    "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV",
  ])('%j touches a file', (sql) => expect(inspectStatement(sql).touchesFile).toBe(true))

  test.each([
    "SELECT 'INTO OUTFILE'",
    'SELECT 1 -- INTO OUTFILE',
    'SELECT 1 /* INTO OUTFILE */',
    'SELECT 1 AS `INTO`, 2 AS `OUTFILE`',
    'SELECT 1 AS "INTO OUTFILE"',
    'INSERT INTO outfiles SELECT 1',
    'INSERT INTO t (outfile) SELECT 1',
    'SELECT outfile FROM t',
    'SELECT $$INTO OUTFILE$$',
  ])('%j touches no file', (sql) => expect(inspectStatement(sql).touchesFile).toBe(false))

  test('finds placeholders outside of strings and comments', () => {
    const { placeholders } = inspectStatement(
      'SELECT {a:String}, { b : Array(UInt8) } FROM {t:Identifier} WHERE x = {a:String} /* {no:String} */',
    )
    expect(placeholders.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'a String',
      'b Array(UInt8)',
      't Identifier',
      'a String',
    ])
  })

  test.each([
    "SELECT '{a:String}'",
    'SELECT 1 -- {a:String}',
    'SELECT `{a:String}`',
    'SELECT $${a:String}$$',
    'SELECT x ? y : z',
    'SELECT [1, 2][1]::String',
    'SELECT metadata.a.:Int64',
    "SELECT 1 SETTINGS additional_table_filters = {'t': 'a = 1'}",
  ])('%j has no placeholder', (sql) => expect(inspectStatement(sql).placeholders).toEqual([]))
})

describe('the tail of a statement', () => {
  test.each([
    'SELECT 1\nFORMAT JSON',
    'SELECT 1 format JSON;',
    'SELECT 1 AS format, format AS settings FROM t\nFORMAT JSON',
    'SELECT 1 AS format FORMAT JSON',
    'SELECT 1 SETTINGS a = 1 FORMAT JSON',
    'SELECT 1 FROM t WHERE format LIKE settings = 1\nFORMAT JSON',
    'SELECT a FROM (SELECT format x FROM t) FORMAT JSON -- the end',
  ])('%j has a format', (sql) => expect(inspectStatement(sql).tail).toBe('format'))

  test.each([
    'SELECT 1 FORMAT JSON SETTINGS a = 1',
    "SELECT 1 format JSON settings a = 'x', b = -1, c = {'t': 'a = 1'}, d = [1], e = true;",
    'SELECT format AS settings FROM t FORMAT JSON SETTINGS a = 1',
  ])('%j has settings', (sql) => expect(inspectStatement(sql).tail).toBe('settings'))

  test.each([
    'SELECT 1',
    'SELECT 1 SETTINGS a = 1',
    'SELECT 1 AS format, format AS settings FROM t',
    'SELECT format AS settings',
    'SELECT format AS settings FROM (SELECT 1 AS format)',
    'SELECT * FROM (SELECT format x)',
    'SELECT (1 format JSON SETTINGS a = 1)',
  ])('%j has neither', (sql) => expect(inspectStatement(sql).tail).toBe('other'))
})

describe('writing statements', () => {
  test.each([
    'SELECT 1',
    'with 1 AS a SELECT a',
    '(SELECT 1)',
    'SHOW TABLES',
    'DESCRIBE TABLE t',
    'DESC t',
    'EXPLAIN SELECT 1',
    'EXISTS TABLE t',
    'FROM t SELECT a',
    "SELECT 'INSERT INTO t'",
  ])('%j reads', (sql) => expect(inspectStatement(sql).writes).toBe(false))

  test.each([
    'INSERT INTO t SELECT 1',
    'DROP TABLE t',
    'WITH 1 AS x INSERT INTO t SELECT x',
    'SELECT 1 PARALLEL WITH DROP TABLE t',
    'ALTER TABLE t DELETE WHERE 1',
    'CREATE TABLE t (a String) ENGINE = Memory',
    'TRUNCATE t',
    'OPTIMIZE TABLE t',
    'SET max_threads = 1',
    'SYSTEM STOP MERGES',
    'KILL QUERY WHERE 1 ASYNC',
    'USE d',
    'GRANT ALL ON *.* TO u',
    '/* SELECT */ DROP TABLE t',
    "'SELECT' DROP TABLE t",
    '',
  ])('%j writes', (sql) => expect(inspectStatement(sql).writes).toBe(true))
})

describe('parseInsert', () => {
  test.each([
    ['INSERT INTO logs.edge_logs FORMAT JSONEachRow', 'logs.edge_logs', undefined, 'JSONEachRow'],
    [
      'INSERT INTO t (id, timestamp ,a.b) FORMAT TabSeparated',
      't',
      ['id', 'timestamp', 'a.b'],
      'TabSeparated',
    ],
    ['\n insert\tinto t(a) format CSV \n', 't', ['a'], 'CSV'],
  ])('parses %j', (sql, table, columns, format) => {
    expect(parseInsert(sql)).toEqual({ table, columns, format })
  })

  test.each([
    '',
    'SELECT 1',
    'INSERT INTO t',
    'INSERT INTO t VALUES (1)',
    'INSERT INTO t SELECT 1 FORMAT CSV',
    'INSERT INTO TABLE t FORMAT CSV',
    "INSERT INTO FUNCTION file('x') FORMAT CSV",
    'INSERT INTO `t` FORMAT CSV',
    'INSERT INTO t () FORMAT CSV',
    'INSERT INTO t (a) (b) FORMAT CSV',
    'INSERT INTO t (* EXCEPT a) FORMAT CSV',
    'INSERT INTO t FORMAT CSV 1,2',
    'INSERT INTO t FORMAT CSV; DROP TABLE t',
    'INSERT INTO t FORMAT CSV -- comment',
    'INSERT INTO t SETTINGS async_insert = 1 FORMAT CSV',
    "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV",
    'DROP TABLE t; INSERT INTO t FORMAT CSV',
  ])('does not parse %j', (sql) => expect(parseInsert(sql)).toBeUndefined())
})

describe('quote', () => {
  test.each([
    ['', "''"],
    ['plain', "'plain'"],
    ["it's", "'it\\'s'"],
    ['\\', "'\\\\'"],
    ["\\'", "'\\\\\\''"],
    ['a\0b', "'a\\0b'"],
    ['two\nlines', "'two\\nlines'"],
    ["'; DROP TABLE t --", "'\\'; DROP TABLE t --'"],
  ])('%j becomes %s', (value, quoted) => {
    expect(quote(value)).toBe(quoted)
  })

  /** Quotes, escapes and the beginnings of other tokens in any order. */
  const awkward = fc
    .array(fc.constantFrom("'", '\\', '\0', '"', '`', '‘', '’', '$$', '--', '/*', '*/', '\n', ';', '@a', 'x'))
    .map((parts) => parts.join(''))
  const value = fc.oneof(fc.string({ unit: 'binary' }), awkward)

  test('makes any value a single string literal with the same characters', () => {
    const unescaped: Record<string, string> = { '0': '\0', n: '\n' }
    fc.assert(
      fc.property(value, (text) => {
        const literal = quote(text)
        expect([...sqlTokens(literal)]).toEqual([{ kind: 'string', start: 0, end: literal.length }])
        expect(inspectStatement(`SET a = ${literal}, b = 'x'`)).toMatchObject({
          verb: 'SET',
          several: false,
          touchesFile: false,
          writes: true,
          placeholders: [],
        })
        const inside = literal.slice(1, -1)
        expect(inside.replace(/\\([\s\S])/g, (_, escaped) => unescaped[escaped] ?? escaped)).toBe(text)
        expect(inside).not.toContain('\0')
      }),
      { numRuns: 500 },
    )
  })
})
