import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtInSources } from '../../../src/built-in-sources.ts'
import { type TimeLimit, timeLimit } from '../../../src/core/base/clock.ts'
import { coreTables } from '../../../src/core/catalog/own-tables.ts'
import { Sandboxes } from '../../../src/core/endpoints/call/sandboxes.ts'
import { definitionShape } from '../../../src/core/endpoints/definition/definition.ts'
import { compileEndpoint, type Endpoint } from '../../../src/core/endpoints/definition/endpoint.ts'
import { bindQuery, withNow } from '../../../src/core/endpoints/definition/parameters.ts'
import { outputSettings, wrapQuery } from '../../../src/core/endpoints/definition/result-columns.ts'
import { compileSandboxed } from '../../../src/core/endpoints/definition/sandbox.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import type { Statement } from '../../../src/core/engine/engine.ts'
import { createSourceTable } from '../../../src/core/engine/tables.ts'
import { checkSql, checkTree } from '../../../src/core/sql/check.ts'
import {
  functionNames,
  isAggregate,
  isAllowedFunction,
  isSandboxFunction,
  refusedFunctions,
  unstoppable,
} from '../../../src/core/sql/functions.ts'
import { functionHints } from '../../../src/core/sql/hints/dialect-hints.ts'
import { isolationSettings, rowFilterSettings } from '../../../src/core/sql/isolation.ts'
import { patternPosition } from '../../../src/core/sql/patterns.ts'
import { readTree } from '../../../src/core/sql/tree.ts'
import { many, type OpenEngine } from '../../support/engines.ts'
import { openEngine } from '../../support/worker-server.ts'
import { honestSandbox, sandboxEntries, sandboxQuery } from './honest-sandbox.ts'
import { hostileSandbox } from './hostile-sandbox.ts'
import { describeJsonRows } from './json-rows.ts'
import { describePaths } from './metadata-paths.ts'

const limits = { deadlineMs: 60_000 }
const limitsOf = (limit: TimeLimit) => ({ deadlineMs: limit.leftMs() })
const sources = new Set(builtInSources.map(({ name }) => name))
const tenantSettings = () => ({
  ...isolationSettings,
  ...rowFilterSettings(open.engine.database, sources, { project: 'a' }),
})

let open: OpenEngine
let endpoint: Endpoint

const ask = async (statement: Omit<Statement, 'format'>, format = 'JSONEachRow') =>
  (await open.engine.query({ ...statement, format }, limits)).body.toString()

/** Four at a time; results are in order. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T)
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  return results
}

async function store(project: string): Promise<void> {
  for (const [source, entries] of Object.entries(sandboxEntries(project))) {
    const rows = Buffer.from(entries.map((entry) => JSON.stringify(entry)).join('\n'))
    const settings = { date_time_input_format: 'best_effort' }
    await open.engine.insert({ table: source, format: 'JSONEachRow', settings }, rows, limits)
    // One part, so that rows of both projects are stored together.
    const stored = topologyOf(open.engine).cluster === undefined ? source : `${source}_local`
    await open.engine.command({ sql: `OPTIMIZE TABLE ${stored} FINAL` }, limits)
  }
}

beforeAll(async () => {
  open = await openEngine('embedded')
  const topology = topologyOf(open.engine)
  for (const sql of [
    ...coreTables.flatMap(({ create }) => create(topology)),
    ...builtInSources
      .filter(({ name }) => name === 'edge_logs' || name === 'auth_logs')
      .flatMap((source) => createSourceTable(source, topology)),
  ]) {
    await open.engine.command({ sql }, limits)
  }
  const definition = definitionShape.parse({
    id: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11',
    name: 'sandbox',
    query: sandboxQuery,
    parameters: { project: { required: true, example: 'b' } },
    sandbox: true,
  })
  endpoint = await compileEndpoint(open.engine, definition, 1, sources)
  await store('a')
  await store('b')
})
afterAll(() => open?.close())

describe('tenants', () => {
  test('queries use the primary key with the filter, and no index over rows of others', async () => {
    const sql = "EXPLAIN indexes = 1 SELECT count() AS n FROM edge_logs WHERE request_url LIKE '%secret%'"
    const plan = await ask({ sql, settings: tenantSettings() }, 'TabSeparatedRaw')
    expect(plan).toContain("project in ['a', 'a']")
    expect(plan).not.toContain('request_url_ngrams')
    // Without a tenant, the plan shows the index.
    expect(await ask({ sql }, 'TabSeparatedRaw')).toContain('request_url_ngrams')
  })

  test('queries read the same rows whatever values others have, although parts have statistics', async () => {
    const table = 'measured'
    for (const sql of [
      `CREATE TABLE ${table} (project String, value Float64) ENGINE = MergeTree ORDER BY project SETTINGS auto_statistics_types = 'basic'`,
      `INSERT INTO ${table} SELECT if(number < 5, 'a', 'b'), number FROM numbers(1000)`,
      // Merging parts creates statistics.
      `OPTIMIZE TABLE ${table} FINAL`,
    ]) {
      await open.engine.command({ sql }, limits)
    }
    const rowsRead = async (settings: Record<string, string | number>) => {
      const read: (number | undefined)[] = []
      for (const value of [500, 5000]) {
        const sql = `SELECT count() AS n FROM ${table} WHERE value > ${value}`
        const filters = { additional_table_filters: `{'${table}':'project = \\'a\\''}` }
        const statement = { sql, format: 'JSONEachRow', settings: { ...settings, ...filters } }
        read.push((await open.engine.query(statement, limits)).readRows)
      }
      return read
    }
    // The embedded engine reads none by default, but a server does.
    const withStatistics = { use_statistics: 1 }
    expect(await rowsRead({ ...withStatistics, ...isolationSettings })).toEqual([1000, 1000])
    expect(await rowsRead(withStatistics)).toEqual([1000, 0])
  })

  test('callers that are not tenants see all entries', async () => {
    expect(await ask({ sql: 'SELECT count() AS n FROM edge_logs' })).toContain('8')
  })
})

describe('sandboxed SQL', () => {
  test.each(Object.entries(hostileSandbox))('is refused: %s', async (reason, statements) => {
    const refusals = await each(statements, (sql) =>
      compileSandboxed(open.engine, endpoint, sql).then(
        () => ({ sql, code: 'accepted' }),
        (error) => ({ sql, code: error.code, message: error.message }),
      ),
    )
    for (const refusal of refusals) {
      expect(refusal).toEqual({
        sql: refusal.sql,
        code: 'invalid_query',
        message: expect.stringMatching(new RegExp(reason)),
      })
      // The message contains neither the endpoint's SQL nor its values.
      expect(refusal).not.toHaveProperty('message', expect.stringMatching(/since >=|AS me\b/))
    }
  })

  test('is read one text at a time, with other work of the service in between', async () => {
    const sandboxes = new Sandboxes(open.engine, 10)
    const events: string[] = []
    let isOver = false
    const work = () => {
      events.push('other')
      if (!isOver) setImmediate(work)
    }
    setImmediate(work)
    const refused = Array.from({ length: 6 }, (_, n) =>
      sandboxes
        .compile(endpoint, `SELECT ${n} AS n FROM (`, timeLimit(30_000), limitsOf)
        .catch(({ code }) => events.push(code)),
    )
    await Promise.all(refused)
    isOver = true
    expect(events.filter((event) => event === 'invalid_query')).toHaveLength(6)
    expect(events.join()).not.toContain('invalid_query,invalid_query')
  })

  test('returns the expected rows', async () => {
    const onCluster = topologyOf(open.engine).cluster !== undefined
    const statements = honestSandbox
      .slice(0, many(honestSandbox.length, 16))
      // ClickHouse refuses correlated subqueries over distributed tables.
      .filter(([sql]) => !(onCluster && sql.includes('EXISTS')))
    const answers = await each(statements, async ([sql]) => {
      const { compiled, columns } = await compileSandboxed(open.engine, endpoint, sql)
      const text = await ask({
        sql: wrapQuery(compiled, columns, { rows: 100, form: 'json' }),
        parameters: withNow(compiled.check({ project: 'a' }), 0n),
        settings: { ...outputSettings, ...isolationSettings },
      })
      return [
        sql,
        text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      ]
    })
    expect(answers).toEqual(statements)
  })

  test('cannot see a row that the endpoint filters out, not even by failing on it', async () => {
    const leaky = "toUInt8(if(id LIKE 'b%', event_message, '1'))"
    const statements = [
      `SELECT count() AS n FROM entries WHERE ${leaky} = 1`,
      `SELECT count() AS n FROM entries AS e JOIN (SELECT ${leaky} AS k FROM sessions) AS s ON toUInt8(if(e.id LIKE 'b%', e.event_message, '1')) = s.k`,
      `SELECT toDecimal32(1, (SELECT toUInt8(event_message) FROM sessions ORDER BY id LIMIT 1)) AS n`,
    ]
    const [where, join, scale] = await each(statements, async (sql) => {
      const { compiled, columns } = await compileSandboxed(open.engine, endpoint, sql)
      const parameters = withNow(compiled.check({ project: 'a' }), 0n)
      const statement = { sql: wrapQuery(compiled, columns, { rows: 100, form: 'json' }), parameters }
      return ask({ ...statement, settings: isolationSettings }).catch((error: Error) => error.message)
    })
    expect(where).toBe('{"n":4}\n')
    expect(join).toBe('{"n":12}\n')
    expect(scale).toContain("'a: login 1'")
  })

  test('cannot use patterns that are long, many or computed', async () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => `'${index}'`).join()
    const long = 'a'.repeat(1_500)
    const refused = [
      `SELECT id ILIKE '%${long}' AS d FROM entries`,
      "SELECT id ILIKE repeat('%a', 50000) AS d FROM entries",
      'SELECT id LIKE concat(id, id) AS d FROM entries',
      'SELECT MATCH(id, id) AS d FROM entries',
      `SELECT splitByRegexp('${long}', id) AS d FROM entries`,
      'SELECT regexpPosition(id, id) + REGEXP_INSTR(id, id) AS d FROM entries',
      'SELECT REGEXP_SUBSTR(id, id) AS d FROM entries',
      `SELECT multiMatchAny(id, [${list(1_000)}]) AS d FROM entries`,
      'SELECT multiMatchAny(id, arrayMap(i -> toString(i), range(10000))) AS d FROM entries',
      'SELECT multiSearchFirstIndex(id, arrayMap(i -> toString(i), range(10000))) AS d FROM entries',
      "WITH repeat('a', 100000) AS p SELECT id ILIKE p AS d FROM entries",
    ]
    const messages = await each(refused, (sql) =>
      compileSandboxed(open.engine, endpoint, sql).catch((error) => `${error.code}: ${error.message}`),
    )
    for (const [index, message] of messages.entries()) {
      expect([refused[index], message]).toEqual([
        refused[index],
        expect.stringMatching(/^invalid_query: The pattern of \w+ must be text/),
      ])
    }
    const computed = 'arrayMap(i -> toString(i), range(60000))'
    await expect(
      compileSandboxed(open.engine, endpoint, `SELECT hasAll(${computed}, ${computed}) AS d FROM entries`),
    ).rejects.toThrow(/^One list of hasAll must be written in the SQL/)
    const usable = [
      "SELECT id ILIKE '%a%' AND match(id, '^a.*') AS d FROM entries",
      "SELECT multiSearchAny(id, ['a', 'b']) AND hasAll([id], ['a', 'b']) AND hasAll(['a'], [id]) AS d FROM entries",
      "SELECT multiMatchAny(id, ['a', 'b']) AS d, replaceRegexpAll(id, '[0-9]+', '*') AS r FROM entries",
    ]
    for (const sql of usable)
      expect((await compileSandboxed(open.engine, endpoint, sql)).columns[0]?.name).toBe('d')
  })

  test('cannot use a function that ignores the time limit, under any of its names', async () => {
    const names = [...unstoppable]
    const argumentsOf = (name: string) =>
      name.startsWith('arrayreduce') ? "'uniq', [(1, 1)], [1]" : "id, 'a'"
    const aggregates = names.filter((name) => isAggregate(name))
    const statements = [
      ...names.map((name) => `SELECT ${name}(${argumentsOf(name)}) AS d FROM entries`),
      ...aggregates.map((name) => `SELECT ${name.toUpperCase()}IfOrNull(1, 2, id = 'a') AS d FROM entries`),
      ...aggregates.map((name) => `SELECT arrayReduce('${name}If', [1], [2], [1]) AS d FROM entries`),
    ]
    const messages = await each(statements, (sql) =>
      compileSandboxed(open.engine, endpoint, sql).catch((error) => `${error.code}: ${error.message}`),
    )
    for (const [index, message] of messages.entries()) {
      expect([statements[index], message]).toEqual([
        statements[index],
        expect.stringMatching(
          /^invalid_query: The function \w+ is not allowed in a sandbox: .* time limit\.$/,
        ),
      ])
    }
    const rows = await ask({ sql: 'SELECT lower(name) AS name, lower(alias_to) AS of FROM system.functions' })
    const known = rows
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; of: string })
      .filter(({ name, of }) => unstoppable.has(name) || unstoppable.has(of))
      .map(({ name }) => name)
    expect(known).toEqual(expect.arrayContaining(names))
    expect(known.filter((name) => isSandboxFunction(name))).toEqual([])
  })

  test('is remembered within a limit of memory, whatever its size', async () => {
    const sandboxes = new Sandboxes(open.engine, 2 ** 20)
    const compile = (sql: string) => sandboxes.compile(endpoint, sql, timeLimit(30_000), limitsOf)
    const words = (name: string) => Array.from({ length: 800 }, (_, n) => `${name}${n}`).join(' ')
    const long = (n: number) => `SELECT id AS id${n} FROM entries -- ${words(`word${n}x`)}\nWHERE id != ''`
    const first = await compile(long(0))
    expect(await compile(long(0))).toBe(first)
    for (let n = 1; n < 40; n++) {
      await compile(long(n))
      expect(sandboxes.bytes).toBeGreaterThan(long(n).length)
      expect(sandboxes.bytes).toBeLessThanOrEqual(2 ** 20)
    }
    expect(await compile(long(0))).not.toBe(first)
  })

  test.each([
    ['the check', 200, 30, '0.2 s'],
    ['the endpoint', 60_000, 1, '1 s'],
  ])('names the time limit of %s if that one applied', async (_, checkMs, timeoutSeconds, named) => {
    const sandboxes = new Sandboxes(open.engine, 2 ** 20, checkMs)
    const slow = 'SELECT (SELECT max(sipHash64(number)) FROM numbers(100000000000)) AS n FROM entries'
    await expect(
      sandboxes.compile(endpoint, slow, timeLimit(timeoutSeconds * 1000), limitsOf),
    ).rejects.toMatchObject({
      code: 'query_timeout',
      message: expect.stringContaining(`its time limit of ${named}.`),
    })
  })

  test('errors have their position', async () => {
    const wrong = compileSandboxed(open.engine, endpoint, "SELECT 'ü',\n  id nope nope\nFROM entries")
    await expect(wrong).rejects.toMatchObject({ status: 422, details: { line: 2, column: 11 } })
  })

  test('cannot use a view that needs a name from outside it', async () => {
    const query = "WITH e AS (SELECT id FROM edge_logs WHERE project = me) SELECT id, 'a' AS me FROM e"
    const definition = definitionShape.parse({ ...endpoint.definition, query, parameters: {} })
    const openEnded = await compileEndpoint(open.engine, definition, 1, sources)
    await expect(compileSandboxed(open.engine, openEnded, "SELECT id, 'b' AS me FROM e")).rejects.toThrow(
      'The view e cannot be read on its own.',
    )
  })
})

describePaths(() => open.engine)
describeJsonRows(() => open.engine)

describe('saved SQL', () => {
  test('cannot be continued by the name of an unused subquery', async () => {
    const name = 'a` WHERE 1 = (SELECT throwIf(1) FROM _catalog) UNION ALL SELECT 1 FROM `a'
    const query = `WITH "${name}" AS (SELECT 1), a AS (SELECT 1) SELECT 1 AS x`
    const fields = { id: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a13', name: 'odd.names', query }
    const compiled = await compileEndpoint(open.engine, definitionShape.parse(fields), 1, sources)
    expect(compiled.columns).toEqual([{ name: 'x', type: 'UInt8' }])
  })

  test('can use functions that a sandbox cannot', async () => {
    const sql = "SELECT levenshteinDistance(id, 'a') AS d, kolmogorovSmirnovTest(1, 2) FROM edge_logs"
    await expect(checkSql(open.engine, { sql }, sources)).resolves.toBeUndefined()
  })

  test('errors have their position in the text that the author wrote', async () => {
    const { sql, edited } = bindQuery('SELECT @x,\n  metadata.a.b::String, @x AS y nope FROM edge_logs', {})
    await expect(
      checkSql(open.engine, { sql, parameters: { x: null } }, sources, edited),
    ).rejects.toMatchObject({ status: 422, details: { line: 2, column: 33 } })
  })

  test('unused subqueries and columns are checked but not sent', async () => {
    const save = (
      view: string,
      query = `WITH a AS (SELECT id FROM edge_logs), b AS (${view}) SELECT * FROM a`,
    ) =>
      compileEndpoint(
        open.engine,
        definitionShape.parse({
          id: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a12',
          name: 'unused',
          query,
        }),
        1,
        sources,
      )
    await expect(save('SELECT nope FROM auth_logs')).rejects.toMatchObject({ status: 422 })
    const unread = 'WITH a AS (SELECT id, nope AS x FROM edge_logs LIMIT 9) SELECT id FROM a'
    await expect(save('', unread)).rejects.toMatchObject({ status: 422 })
    await expect(save('SELECT * FROM system.one')).rejects.toMatchObject({ status: 422 })
    const { compiled, columns } = await save('SELECT id FROM auth_logs')
    expect(compiled.prunedSql).not.toContain('auth_logs')
    expect(compiled.possibleSources).not.toContain('auth_logs')
    expect(columns).toEqual([{ name: 'id', type: 'String' }])
  })

  test('can use every function of the engine except these', async () => {
    const names = (await ask({ sql: 'SELECT name FROM system.functions' }, 'TabSeparatedRaw'))
      .trim()
      .split('\n')
    expect(names.length).toBeGreaterThan(1000)
    expect(names.filter((name) => !isAllowedFunction(name)).sort()).toEqual([...refusedFunctions].sort())
    const suggested = [...functionNames.values()].filter(
      (name) => !names.includes(name) && !names.includes(name.replace(/If$/, '')),
    )
    // The engine does not list those that are part of its syntax.
    expect(suggested.sort()).toEqual(['exists', 'grouping', 'lambda', 'untuple'])
    // Functions that hints call missing: this one exists for another purpose.
    expect(names.filter((name) => functionHints.has(name))).toEqual(['any'])
  })

  test('can only use patterns of bounded length, in every function of the engine that has one', async () => {
    const rows = (await ask({ sql: 'SELECT name, alias_to, syntax FROM system.functions' }))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; alias_to: string; syntax: string })
    const syntaxOf = new Map(rows.map(({ name, syntax }) => [name, syntax]))
    const patterned = rows.flatMap(({ name, alias_to, syntax }) => {
      const [, args = ''] = /\((.*?)\)/s.exec(syntax || (syntaxOf.get(alias_to) ?? '')) ?? []
      const documented = args.split(',').findIndex((arg) => /pattern|regexp?/i.test(arg))
      const isSuspect = documented >= 0 || /like|match|regexp/i.test(name)
      return isSuspect && isSandboxFunction(name) ? [{ name, documented }] : []
    })
    const unbounded = patterned.filter(({ name }) => patternPosition(name) === undefined)
    // These search for plain text, or compile nothing. Bound or add what a new version of the engine has.
    expect(unbounded.map(({ name }) => name).sort()).toEqual([
      'format',
      'matchPhrase',
      'mismatches',
      'regexpQuoteMeta',
      'replace',
      'replaceAll',
      'replaceOne',
      'sequenceMatch',
      'sequenceMatchEvents',
      'tokensForLikePattern',
    ])
    const misplaced = patterned.filter(({ name, documented }) => {
      const position = patternPosition(name) ?? documented
      return documented >= 0 && position >= 0 && position !== documented
    })
    expect(misplaced).toEqual([])
  })

  test('cannot use columns that the engine adds', async () => {
    const sql = 'DESCRIBE TABLE edge_logs'
    const settings = { describe_include_virtual_columns: 1 }
    const columns = (await ask({ sql, settings }))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; is_virtual: number })
    const added = columns.filter((column) => column.is_virtual).map(({ name }) => name)
    expect(added).toContain('_part_offset')
    for (const column of added.flatMap((name) => [name, `e.${name}`])) {
      expect(() => checkTree(readTree(`Identifier ${column}`), () => {})).toThrow('reserved for the engine')
    }
  })
})
