import { beforeAll, describe, expect, test } from 'vitest'
import { builtInSources } from '../../../src/built-in-sources.ts'
import type { NewSource } from '../../../src/core/catalog/source.ts'
import { bindQuery } from '../../../src/core/endpoints/definition/parameters.ts'
import { outputSettings } from '../../../src/core/endpoints/definition/result-columns.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { createSourceTable } from '../../../src/core/engine/tables.ts'
import { editSql } from '../../../src/core/sql/edits.ts'
import { pathEdits } from '../../../src/core/sql/paths.ts'
import { Query } from '../../../src/core/sql/query.ts'
import { randomOf } from '../../../src/features/demo/random.ts'
import { many } from '../../support/engines.ts'
import { servedPaths, shadowedPaths, shadowedSources, shadowingStatements } from './shadowed-metadata.ts'

const limits = { deadlineMs: 60_000 }

/** JSON values; undefined is a key that is not there. */
const numbers = ['0', '1', '-7', '1.0', '1.5', '-0.0', '1e3', '300', '9007199254740993']
const small = ['0', '1', '7', '1.0', '1.5', '100']
const empty = ['null', undefined]
const booleans = ['true', 'false']
const integerTexts = ['"12"', '"0"']
const numberTexts = [...integerTexts, '"1.5"', '"-2e3"']
const otherTexts = ['"abc"', '""', '"true"', '"2026-01-01"', '"2026-01-01T10:00:00Z"', '"it\'s \\\\ \\"x\\""']
const texts = [...numberTexts, ...otherTexts]
const lists = ['[]', '["a","b"]', '[1,2]', '["a",1]']

/** What was cast to what, where a path of the JSON type has a value. */
const casts: [type: string, values: (string | undefined)[]][] = [
  ['String', [...numbers, ...texts, ...booleans, ...empty, '[]', '[1,2]']],
  ['Nullable(String)', [...numbers, ...texts, ...booleans, ...empty, '[]', '[1,2]']],
  ['LowCardinality(String)', [...numbers, ...texts, ...booleans, ...empty]],
  ['Float64', [...numbers, ...numberTexts, ...booleans, ...empty, '1e20', '12345678901234567890']],
  ['Nullable(Float64)', [...numbers, ...texts, ...booleans, ...empty, '1e20', '12345678901234567890']],
  ['Float32', [...small, ...numberTexts, ...booleans, ...empty]],
  ['Int64', [...numbers, ...integerTexts, ...booleans, ...empty]],
  ['Nullable(Int64)', [...numbers, ...integerTexts, ...otherTexts, ...booleans, ...empty]],
  ['UInt64', [...small, '12345678901234567890', ...integerTexts, ...booleans, ...empty]],
  ['Nullable(Int32)', [...small, '-7', ...integerTexts, ...otherTexts, ...booleans, ...empty]],
  ['UInt8', [...small, ...integerTexts, ...booleans, ...empty]],
  ['Array(String)', [...lists, ...empty]],
  ['Bool', [...numbers, '"true"', '"false"', ...booleans, ...empty]],
  ['Nullable(DateTime64(6))', [...small, '1700000000', '1700000000.5', ...texts, ...booleans, ...empty]],
  ['Nullable(Decimal(18, 4))', ['1', '1.5', ...texts, ...booleans, ...empty]],
  ['Array(Nullable(Int64))', [...lists, ...empty]],
  ['Dynamic', [...numbers, '12345678901234567890', ...texts, ...booleans, ...lists, ...empty]],
]

/** Expressions in a select list. Each has the name and the values that it has with the JSON type. */
const selected = [
  ...['metadata.a', 'metadata.b.c', 'e.metadata.b.d', 'metadata.b.`x-y`', 'metadata . b /* x */ . "c"'],
  ...[
    'metadata.a::Int64',
    'CAST(metadata.a AS String)',
    "CAST(metadata.a, 'Nullable(String)')",
    'metadata.a::Bool',
  ],
  ...['lower(metadata.b.c::String)', 'metadata.a + 1', "metadata.b.c = 'x'", 'metadata.nope IS NULL'],
  ...['metadata.l[].x', 'metadata.n[1]::Int64'],
  ...['arrayMap(i -> i + metadata.a::Int64, [1, 2])', 'toTypeName(metadata.b.c)', 'dynamicType(metadata.a)'],
  ...['sum(metadata.a::Int64) OVER (PARTITION BY metadata.b.c::String)', 'metadata.d', 'metadata.a x'],
  ...[
    "if(metadata.a > 1, metadata.b.c::String, 'none')",
    '(SELECT max(i.metadata.a::Int64) FROM ENTRIES AS i) AS top',
  ],
]

/** Statements with paths in other places. */
const statements = [
  "SELECT id FROM ENTRIES WHERE metadata.b.c = 'x' AND metadata.a::Int64 > 0 ORDER BY metadata.a::Int64 DESC",
  "SELECT metadata.b.c::String AS c, count() AS n FROM ENTRIES GROUP BY metadata.b.c::String HAVING metadata.b.c::String != '' ORDER BY c",
  'SELECT metadata.b.c::String, sum(metadata.a::Int64) FROM ENTRIES GROUP BY ALL ORDER BY metadata.b.c::String',
  'SELECT a.id, b.metadata.a::Int64 AS other FROM ENTRIES AS a JOIN ENTRIES AS b ON a.metadata.b.c::String = b.metadata.b.c::String ORDER BY a.id, b.id',
  'SELECT a.metadata.a, b.metadata.a FROM ENTRIES AS a JOIN ENTRIES AS b USING (id) ORDER BY id',
  'WITH v AS (SELECT id, metadata FROM ENTRIES), w AS (SELECT metadata FROM v WHERE metadata.a::Int64 = 1) SELECT w.metadata.b.c AS c FROM w',
  'SELECT m.metadata.b.c::String AS c FROM (SELECT id, metadata FROM ENTRIES) AS m WHERE m.id IN (SELECT id FROM ENTRIES WHERE metadata.a::Int64 = 2)',
  'SELECT id, x FROM ENTRIES ARRAY JOIN metadata.l[].x AS x ORDER BY id, x::String',
  'SELECT id FROM ENTRIES ORDER BY id LIMIT 1 BY metadata.b.c::String',
  'FROM ENTRIES SELECT metadata.b.c::String AS c WHERE metadata.a::Int64 = 1',
  'SELECT a FROM (SELECT metadata.a::Int64 AS a FROM ENTRIES WHERE id = 1 UNION ALL SELECT metadata.a::Int64 FROM ENTRIES WHERE id = 2) ORDER BY a',
  'WITH x AS (SELECT id, metadata.b.c FROM ENTRIES), y AS (SELECT x.metadata.b.c, id FROM x) SELECT id, metadata.b.c, upper(y.metadata.b.c::String) AS c FROM y ORDER BY id',
  'WITH metadata AS (SELECT 5 AS x) SELECT metadata.x FROM metadata',
]

const entries = [
  '{"a":1,"b":{"c":"x","x-y":2},"l":[{"x":1},{"x":"s"}],"n":[4,5],"d":"2026-01-01"}',
  '{"a":2,"b":{"c":"x","x-y":"3"},"n":[6],"d":"2026-01-01 00:00:00"}',
  '{"a":3,"b":{"c":"y"},"n":[7],"d":"text"}',
]

const literal = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** Compares paths of text with paths of the engine's JSON type. */
export function describePaths(engine: () => Engine): void {
  const rewritten = (sql: string) => editSql(sql, pathEdits(new Query(sql))).text
  const rows = async (sql: string) => {
    const statement = { sql, format: 'JSONCompactEachRowWithNames', settings: outputSettings }
    return (await engine().query(statement, limits)).body.toString()
  }

  describe('a path of metadata', () => {
    beforeAll(async () => {
      const values = entries.map((entry, index) => `(${index + 1}, ${literal(entry)})`).join()
      for (const [name, type] of [
        ['paths_of_text', 'String'],
        ['paths_of_json', 'JSON'],
      ]) {
        await engine().command(
          { sql: `CREATE TABLE ${name} (id Int64, metadata ${type}) ENGINE = MergeTree ORDER BY id` },
          limits,
        )
        const settings = { input_format_try_infer_dates: 0, input_format_try_infer_datetimes: 0 }
        await engine().command({ sql: `INSERT INTO ${name} VALUES ${values}`, settings }, limits)
      }
    })

    test.each(casts)('cast to %s has the same value as with the JSON type', async (type, values) => {
      const texts = values.map((value) => literal(value === undefined ? '{}' : `{"a":${value}}`))
      const select = (text: string, as: string) =>
        `SELECT toJSONString(tuple(metadata.a::${type})) AS v FROM (SELECT ${text}${as} AS metadata)`
      // One query of all values is quicker, but the types of others in the column change how a value is shown as it is.
      const all = (as: string) =>
        type === 'Dynamic'
          ? `SELECT ${texts.map((text, index) => `(${select(`materialize(${text})`, as)}) AS v${index}`)}`
          : select(`arrayJoin([${texts}])`, as)
      const [ofText, ofJson] = await Promise.all([rows(rewritten(all(''))), rows(all('::JSON'))])
      expect(ofText).toBe(ofJson)
    })

    test.each([
      ['Int64', ['1e20', '{"x":1}', '[1]', '"abc"'], [0, 0, 0, 0]],
      ['Nullable(Int64)', ['1e20', '12345678901234567890', '{"x":1}', '[1]'], [null, null, null, null]],
      ['UInt8', ['300', '-1'], [0, 0]],
      ['Nullable(Float64)', ['{"x":1}', '[1]'], [null, null]],
      ['Nullable(String)', ['{"x": 1}', '["a",1]', '{}'], ['{"x":1}', '["a",1]', '{}']],
    ])('cast to %s has a value for %j', async (type, values, expected) => {
      const select = values.map(
        (value, index) =>
          `(SELECT metadata.a::${type} FROM (SELECT ${literal(`{"a":${value}}`)} AS metadata)) AS v${index}`,
      )
      const [, answer = ''] = (await rows(rewritten(`SELECT ${select.join()}`))).split('\n')
      expect(JSON.parse(answer)).toEqual(expected)
    })

    test('has the same name and values in a result as with the JSON type', async () => {
      const sql = `SELECT ${selected.join()} FROM ENTRIES AS e ORDER BY id`
      const ofText = await rows(rewritten(sql.replaceAll('ENTRIES', 'paths_of_text')))
      expect(ofText.split('\n')).toEqual((await rows(sql.replaceAll('ENTRIES', 'paths_of_json'))).split('\n'))
    })

    test.each(statements)('works in %s', async (sql) => {
      const ofText = await rows(rewritten(sql.replaceAll('ENTRIES', 'paths_of_text')))
      expect(ofText).toBe(await rows(sql.replaceAll('ENTRIES', 'paths_of_json')))
      expect(ofText.trim().split('\n').length).toBeGreaterThan(1)
    })

    test('can have any key in backticks', async () => {
      const metadata = literal('{"a.b":{"it\'s":{"say \\"x\\"":1}},"%2E":2,"ключ":3}')
      const sql = `SELECT metadata.\`a.b\`.\`it's\`."say ""x""", metadata.\`%2E\`, metadata.ключ FROM (SELECT ${metadata} AS metadata)`
      expect((await rows(rewritten(sql))).split('\n')[1]).toBe('[1, 2, 3]')
    })
  })

  describe('a typed column', () => {
    beforeAll(async () => {
      const [first] = builtInSources as [NewSource]
      for (const [name, columns] of Object.entries(shadowedSources)) {
        const source = { ...first, name, columns: columns.map((column) => ({ ...column, searched: false })) }
        for (const sql of createSourceTable(source, topologyOf(engine())))
          await engine().command({ sql }, limits)
        const lines = [1, 2, 3].map((n) => {
          const metadata = JSON.stringify({
            request: { path: `/secret/${name}/${n}` },
            response: { status: n },
          })
          return JSON.stringify({ project: 'p', id: `e${n}`, timestamp: `2026-11-01 00:00:0${n}`, metadata })
        })
        await engine().insert({ table: name, format: 'JSONEachRow' }, Buffer.from(lines.join('\n')), limits)
      }
    })
    const sent = (sql: string) =>
      bindQuery(sql, {}, { typedColumns: (source) => shadowedSources[source] }).prunedSql
    /** Without their order, or undefined if the SQL is invalid. */
    const sorted = async (sql: string) => {
      const settings = { ...outputSettings, max_threads: 1 }
      const statement = { sql, format: 'JSONCompactEachRow', settings }
      const result = await engine()
        .query(statement, limits)
        .catch(() => undefined)
      return result?.body.toString().trim().split('\n').sort()
    }
    const isServed = (sql: string) => sent(sql).includes('.`request_path`')

    test.each(shadowedPaths)('does not replace what is read in %s', async (sql) => {
      const rows = await sorted(rewritten(sql))
      expect(rows?.length).toBeGreaterThan(0)
      expect([isServed(sql), await sorted(sent(sql))]).toEqual([false, rows])
    })

    test.each(servedPaths)('replaces what is read in %s', async (sql) => {
      expect([isServed(sql), await sorted(sent(sql))]).toEqual([true, await sorted(rewritten(sql))])
    })

    test('never changes the rows of a statement in which names have several meanings', async () => {
      const seed = process.env.WELLHEAD_TEST_SEED ?? Date.now()
      const next = shadowingStatements(randomOf(seed))
      const limit = many(5_000, 50)
      let valid = 0
      for (let count = 0; count < limit; count++) {
        const sql = next()
        const rows = await sorted(rewritten(sql))
        if (!rows) continue
        valid++
        expect(await sorted(sent(sql)), `seed ${seed}: ${sql}`).toEqual(rows)
      }
      expect(valid).toBeGreaterThan(limit / 20)
    })
  })
}
