import { describe, expect, test } from 'vitest'
import { editSql } from './edits.ts'
import { jsonPaths, pathEdits } from './paths.ts'
import { Query } from './query.ts'

const columns = [
  { name: 'request_path', path: 'request.path', type: 'text' },
  { name: 'status', path: 'response.status', type: 'number' },
] as const
const columnsOf = (source: string) => (source === 'edge_logs' ? columns : undefined)
const rewritten = (sql: string) => editSql(sql, pathEdits(new Query(sql), columnsOf)).text

/** The SQL for a path in a WHERE clause, where it needs no name. */
const condition = (path: string, from = 't') => {
  const around = [`SELECT 1 FROM ${from} WHERE `, ' = 1'] as const
  return rewritten(around.join(path)).slice(around[0].length, -around[1].length)
}

describe('a path of metadata', () => {
  test.each([
    ['metadata.a', "JSONExtract(metadata, 'a', 'Dynamic')"],
    [
      'metadata.request.headers.user_agent',
      "JSONExtract(metadata, 'request', 'headers', 'user_agent', 'Dynamic')",
    ],
    ['t.metadata.a', "JSONExtract(t.metadata, 'a', 'Dynamic')"],
    ['wellhead.t.metadata.a', "JSONExtract(wellhead.t.metadata, 'a', 'Dynamic')"],
    ['`metadata`."a"', "JSONExtract(`metadata`, 'a', 'Dynamic')"],
    ['metadata.`x-forwarded-for`.y', "JSONExtract(metadata, 'x-forwarded-for', 'y', 'Dynamic')"],
    ['metadata.`a.b`.`it\'s`."say ""x"""', "JSONExtract(metadata, 'a.b', 'it\\'s', 'say \"x\"', 'Dynamic')"],
    ['metadata.from.select.where', "JSONExtract(metadata, 'from', 'select', 'where', 'Dynamic')"],
    ['metadata /* x */ . a -- y\n', "JSONExtract(metadata, 'a', 'Dynamic') -- y\n"],
    ['metadata.metadata.a', "JSONExtract(metadata, 'metadata', 'a', 'Dynamic')"],
    ['metadata.a[1]', "JSONExtract(metadata, 'a', 'Dynamic')[1]"],
    ['metadata.a[]', "JSONExtract(metadata, 'a', 'Array(JSON)')"],
    [
      'metadata.a[].b',
      "arrayMap(metadata_item_1 -> JSONExtract(metadata_item_1, 'b', 'Dynamic'), JSONExtractArrayRaw(metadata, 'a'))",
    ],
    [
      'metadata.a[].b[].c',
      'arrayMap(metadata_item_1 -> arrayMap(metadata_item_2 -> ' +
        "JSONExtract(metadata_item_2, 'c', 'Dynamic'), JSONExtractArrayRaw(metadata_item_1, 'b')), " +
        "JSONExtractArrayRaw(metadata, 'a'))",
    ],
  ])('%s', (path, expected) => expect(condition(path)).toBe(expected))

  test.each([
    ['metadata.a::String', "JSONExtract(metadata, 'a', 'String')"],
    ['metadata.a :: Nullable( Float64 )', "JSONExtract(metadata, 'a', 'Nullable(Float64)')"],
    ['metadata.a::Nullable(String)::Int64', "JSONExtract(metadata, 'a', 'Nullable(String)')::Int64"],
    [
      'metadata.a::LowCardinality(Nullable(String))',
      "JSONExtract(metadata, 'a', 'LowCardinality(Nullable(String))')",
    ],
    ['CAST(metadata.a AS Int64)', "JSONExtract(metadata, 'a', 'Int64')"],
    [
      "CAST(metadata.a, 'Nullable(UInt16)')",
      "accurateCastOrNull(trunc(JSONExtract(metadata, 'a', 'Nullable(Float64)')), 'UInt16')",
    ],
    ['metadata.a::Bool', "JSONExtract(metadata, 'a', 'Dynamic')::Bool"],
    ['metadata.a::Array(Int64)', "JSONExtract(metadata, 'a', 'Dynamic')::Array(Int64)"],
    ['CAST(metadata.a AS DateTime)', "CAST(JSONExtract(metadata, 'a', 'Dynamic') AS DateTime)"],
    ['CAST(metadata.a + 1 AS Int64)', "CAST(JSONExtract(metadata, 'a', 'Dynamic') + 1 AS Int64)"],
  ])('is read with the type of its cast: %s', (path, expected) => expect(condition(path)).toBe(expected))

  test.each([
    ['SELECT metadata.a FROM t', "SELECT (JSONExtract(metadata, 'a', 'Dynamic') AS `metadata.a`) FROM t"],
    ['SELECT metadata.a AS b FROM t', "SELECT JSONExtract(metadata, 'a', 'Dynamic') AS b FROM t"],
    [
      'SELECT e.metadata.a::Int64 FROM t AS e',
      "SELECT (JSONExtract(e.metadata, 'a', 'Int64') AS `CAST(metadata.a, 'Int64')`) FROM t AS e",
    ],
    [
      'SELECT lower(metadata.a::String) FROM t',
      "SELECT lower((JSONExtract(metadata, 'a', 'String') AS `CAST(metadata.a, 'String')`)) FROM t",
    ],
    [
      'SELECT a.metadata.x, b.metadata.x FROM t AS a JOIN t AS b ON a.id = b.id AND a.metadata.y = b.metadata.y',
      "SELECT (JSONExtract(a.metadata, 'x', 'Dynamic') AS `metadata.x`), (JSONExtract(b.metadata, 'x', 'Dynamic') AS `b.metadata.x`) " +
        "FROM t AS a JOIN t AS b ON a.id = b.id AND JSONExtract(a.metadata, 'y', 'Dynamic') = JSONExtract(b.metadata, 'y', 'Dynamic')",
    ],
    // One name can stand for one expression only.
    [
      'SELECT metadata.a, t.metadata.a FROM t',
      "SELECT (JSONExtract(metadata, 'a', 'Dynamic') AS `metadata.a`), JSONExtract(t.metadata, 'a', 'Dynamic') FROM t",
    ],
    [
      'SELECT n AS x FROM (SELECT metadata.a, 1 AS n FROM t UNION ALL SELECT metadata.b AS b, 2 FROM u)',
      "SELECT n AS x FROM (SELECT (JSONExtract(metadata, 'a', 'Dynamic') AS `metadata.a`), 1 AS n FROM t " +
        "UNION ALL SELECT JSONExtract(metadata, 'b', 'Dynamic') AS b, 2 FROM u)",
    ],
  ])('keeps its name if it is selected: %s', (sql, expected) => expect(rewritten(sql)).toBe(expected))

  test.each([
    'SELECT metadata FROM t',
    'SELECT `metadata.a` FROM t',
    'SELECT my_metadata.a, metadata_x.b, Metadata.c FROM t',
    "SELECT 'metadata.a', $$metadata.b$$ /* metadata.c */ -- metadata.d\nFROM t",
    'WITH metadata AS (SELECT 1 AS x) SELECT metadata.x FROM metadata',
    'SELECT metadata.x FROM (SELECT 1 AS x) AS metadata',
    'SELECT metadata.x FROM t JOIN u metadata ON metadata.id = t.id',
    'SELECT (SELECT max(metadata.x)) FROM numbers(3) AS metadata',
    'SELECT arrayMap(metadata -> metadata.x, l), arrayMap((e, i) -> e.metadata.x, l, m) FROM t',
    'SELECT 1 FROM metadata.t',
    'SELECT metadata.* FROM t',
  ])('is not in %s', (sql) => expect(rewritten(sql)).toBe(sql))

  test('is not read from a lambda parameter inside the lambda', () => {
    expect(rewritten('SELECT 1 FROM t AS i WHERE f(i -> i.metadata.a, i.metadata.b) = i.metadata.c')).toBe(
      "SELECT 1 FROM t AS i WHERE f(i -> i.metadata.a, JSONExtract(i.metadata, 'b', 'Dynamic')) = JSONExtract(i.metadata, 'c', 'Dynamic')",
    )
  })

  test('of a table called metadata is read from its column', () => {
    expect(rewritten('SELECT 1 FROM t AS metadata WHERE metadata.metadata.a = metadata.b')).toBe(
      "SELECT 1 FROM t AS metadata WHERE JSONExtract(metadata.metadata, 'a', 'Dynamic') = metadata.b",
    )
  })
})

describe('a path that a subquery selects', () => {
  const inner = "SELECT id, (JSONExtract(metadata, 'request', 'path', 'Dynamic') AS `metadata.request.path`)"
  const column = '`metadata.request.path`'

  test.each([
    ['metadata.request.path', 'x', column],
    ['metadata.request.path::String', 'x', `${column}::String`],
    ['x.metadata.request.path', 'x', `x.${column}`],
    ['y.metadata.request.path', 'x AS y', `y.${column}`],
    ['x.metadata.request.path', 'x JOIN t USING (id)', `x.${column}`],
  ])('is read as %s from %s by its name', (path, from, expected) => {
    expect(
      rewritten(
        `WITH x AS (SELECT id, metadata.request.path FROM edge_logs) SELECT ${path} FROM ${from} WHERE ${path} != ''`,
      ),
    ).toBe(`WITH x AS (${inner} FROM edge_logs) SELECT ${expected} FROM ${from} WHERE ${expected} != ''`)
  })

  test('is read by its name through several subqueries', () => {
    expect(
      rewritten(
        'SELECT metadata.request.path FROM (SELECT count(*), metadata.request.path FROM (SELECT id, metadata.request.path FROM t) GROUP BY ALL)',
      ),
    ).toBe(`SELECT ${column} FROM (SELECT count(*), ${column} FROM (${inner} FROM t) GROUP BY ALL)`)
  })

  test.each([
    ['of another name', 'SELECT metadata.request.method FROM t', 'x'],
    ['with another name', 'SELECT metadata.request.path AS path FROM t', 'x'],
    ['within an expression', 'SELECT lower(metadata.request.path) FROM t', 'x'],
    ['beside metadata', 'SELECT metadata, metadata.request.path FROM t', 'x'],
    ['beside another metadata', 'SELECT m AS metadata, metadata.request.path FROM t', 'x'],
    ['beside all columns', 'SELECT *, metadata.request.path FROM t', 'x'],
    ['beside all columns of a table', 'SELECT t.*, metadata.request.path FROM t', 'x'],
    ['beside chosen columns', "SELECT COLUMNS('m'), metadata.request.path FROM t", 'x'],
    ['in one of two', 'SELECT metadata.request.path FROM t UNION ALL SELECT 1', 'x'],
    ['in one of two tables', 'SELECT metadata.request.path FROM t', 'x JOIN t USING (id)'],
    ['in none, since a source is meant', 'SELECT metadata.request.path FROM t', 'wellhead.x'],
  ])('%s is read from metadata', (_, query, from) => {
    expect(
      rewritten(`WITH x AS (${query}) SELECT 1 FROM ${from} WHERE metadata.request.path = ''`),
    ).toContain("WHERE JSONExtract(metadata, 'request', 'path', 'Dynamic') = ''")
  })
})

describe('a typed column', () => {
  const path = "JSONExtract(metadata, 'request', 'path', 'String')"

  test.each([
    ['edge_logs', 'metadata.request.path::String', 'edge_logs.`request_path`'],
    ['wellhead.edge_logs', 'CAST(metadata.request.path AS String)', 'edge_logs.`request_path`'],
    ['edge_logs AS e', 'metadata.request.path::String', 'e.`request_path`'],
    [
      'edge_logs e',
      'metadata.request.path::Nullable(String)',
      'if(e.`_rest_request_path`, e.`request_path`, NULL)',
    ],
    [
      'edge_logs',
      'metadata.request.path::LowCardinality(String)',
      "CAST(edge_logs.`request_path`, 'LowCardinality(String)')",
    ],
    [
      'edge_logs',
      'metadata.response.status::Nullable(Float64)',
      'ifNull(edge_logs.`status`, edge_logs.`_rest_status`)',
    ],
    [
      'edge_logs',
      'metadata.response.status::Nullable(UInt16)',
      "accurateCastOrNull(trunc(ifNull(edge_logs.`status`, edge_logs.`_rest_status`)), 'UInt16')",
    ],
    [
      'edge_logs',
      'metadata.response.status::Int32',
      "accurateCastOrDefault(trunc(ifNull(edge_logs.`status`, edge_logs.`_rest_status`)), 'Int32')",
    ],
    ['edge_logs e', 'e.metadata.request.path::String', 'e.`request_path`'],
    ['t JOIN edge_logs AS e ON t.id = e.id', 'e.metadata.request.path::String', 'e.`request_path`'],
    [
      't LEFT JOIN `edge_logs` USING (id)',
      '`edge_logs`.metadata.request.path::String',
      '`edge_logs`.`request_path`',
    ],
  ])('of %s serves %s', (from, given, expected) => expect(condition(given, from)).toBe(expected))

  test.each([
    ['t', 'metadata.request.path::String', path],
    ['edge_logs', 'metadata.request.path', "JSONExtract(metadata, 'request', 'path', 'Dynamic')"],
    // A Float64 does not hold every integer, and text does not tell true from "true".
    ['edge_logs', 'metadata.response.status::Int64', "JSONExtract(metadata, 'response', 'status', 'Int64')"],
    [
      'edge_logs',
      'metadata.response.status::String',
      "JSONExtract(metadata, 'response', 'status', 'String')",
    ],
    ['edge_logs', 'metadata.request.path::Float64', "JSONExtract(metadata, 'request', 'path', 'Float64')"],
    ['edge_logs', 'metadata.`request.path`::String', "JSONExtract(metadata, 'request.path', 'String')"],
    ['edge_logs JOIN t USING id', 'metadata.request.path::String', path],
    ['edge_logs, t', 'metadata.request.path::String', path],
    ['edge_logs ARRAY JOIN l AS metadata', 'metadata.request.path::String', path],
    ['(SELECT * FROM edge_logs)', 'metadata.request.path::String', path],
    ['numbers(3)', 'metadata.request.path::String', path],
  ])('of %s does not serve %s', (from, given, expected) => expect(condition(given, from)).toBe(expected))

  test('is not read from a subquery with the name of a source', () => {
    const sql = 'WITH edge_logs AS (SELECT metadata FROM t) SELECT 1 FROM edge_logs WHERE '
    expect(rewritten(`${sql}metadata.request.path::String = ''`)).toBe(`${sql}${path} = ''`)
  })

  test.each([
    'SELECT f(metadata) AS metadata, PATH AS p FROM edge_logs',
    'SELECT f(metadata) `metadata`, PATH AS p FROM edge_logs',
    'SELECT ((SELECT 1) AS metadata), PATH AS p FROM edge_logs',
    "SELECT '' AS metadata, e.PATH AS p FROM edge_logs AS e",
    'WITH f(metadata) AS metadata SELECT PATH AS p FROM edge_logs',
    'SELECT p FROM (SELECT f(metadata) AS metadata, PATH AS p FROM edge_logs)',
    'SELECT * REPLACE (f(metadata) AS metadata), PATH AS p FROM edge_logs',
    'SELECT PATH AS p FROM edge_logs ORDER BY (f(metadata) AS metadata)',
    'SELECT arrayMap(metadata -> 1, l), PATH AS p FROM edge_logs',
    'SELECT arrayMap(edge_logs -> PATH, l) AS p FROM edge_logs',
    'SELECT t AS edge_logs, PATH AS p FROM edge_logs',
    'SELECT t AS e, e.PATH AS p FROM edge_logs AS e',
    'SELECT e.PATH AS p FROM edge_logs AS e JOIN t AS edge_logs USING (id)',
    'SELECT e.PATH AS p FROM edge_logs AS e JOIN (SELECT 1 AS id) AS edge_logs USING (id)',
    'SELECT PATH AS p FROM edge_logs GROUP BY metadata',
    'SELECT e.metadata AS m, PATH AS p FROM edge_logs AS e GROUP BY m',
    'SELECT PATH AS p FROM edge_logs AS _e',
    'SELECT PATH AS p FROM edge_logs AS `a.b`',
  ])('is not read if a name may mean something else, or the engine would refuse it: %s', (sql) => {
    const from = sql.includes('e.PATH') ? 'e.metadata' : 'metadata'
    const text = `JSONExtract(${from}, 'request', 'path', 'String')`
    expect(rewritten(sql.replace('PATH', 'metadata.request.path::String'))).toBe(
      sql.replace(/(?:e\.)?PATH/, text),
    )
  })

  test.each([
    'SELECT * EXCEPT metadata, PATH AS p FROM edge_logs AS e',
    'SELECT metadata, PATH AS p FROM edge_logs AS e',
    'SELECT p, metadata FROM (SELECT PATH AS p FROM edge_logs AS e GROUP BY p)',
  ])('is read if only one meaning is possible: %s', (sql) => {
    expect(rewritten(sql.replace('PATH', 'metadata.request.path::String'))).toBe(
      sql.replace(/(?:e\.)?PATH/, 'e.`request_path`'),
    )
  })

  test('belongs to the SELECT of the path', () => {
    expect(
      rewritten(
        'SELECT 1 FROM t WHERE id IN (SELECT id FROM edge_logs WHERE metadata.request.path::String = a) AND metadata.request.path::String = b',
      ),
    ).toBe(
      `SELECT 1 FROM t WHERE id IN (SELECT id FROM edge_logs WHERE edge_logs.\`request_path\` = a) AND ${path} = b`,
    )
  })
})

describe('paths that are read from JSON text', () => {
  const paths = (sql: string) => jsonPaths(new Query(sql), columnsOf)

  test('are listed once each, with their source and cast, unless a typed column serves them', () => {
    const sql =
      'SELECT metadata.a.b, metadata.request.path::String, metadata.n::Float64 FROM edge_logs ' +
      'WHERE metadata.a.b = 1 AND id IN (SELECT id FROM auth_logs AS a WHERE a.metadata.request.path::String = 1)'
    expect(paths(sql)).toEqual([
      { source: 'edge_logs', path: 'a.b', cast: null },
      { source: 'edge_logs', path: 'n', cast: 'Float64' },
      { source: 'auth_logs', path: 'request.path', cast: 'String' },
    ])
  })

  test('include one whose cast a typed column cannot serve', () => {
    const path = { source: 'edge_logs', path: 'request.path', cast: null }
    expect(paths('SELECT metadata.request.path FROM edge_logs')).toEqual([path])
  })

  test.each([
    'SELECT metadata.a FROM edge_logs, auth_logs',
    'SELECT metadata.a FROM (SELECT metadata FROM edge_logs)',
    'WITH t AS (SELECT metadata FROM edge_logs) SELECT metadata.a FROM t',
    'SELECT metadata.a[].b FROM edge_logs',
    'SELECT metadata FROM edge_logs',
  ])('leave out what a typed column might not hold: %s', (sql) => expect(paths(sql)).toEqual([]))
})
