import { isUtf8 } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { type Data, DataType, tableFromIPC } from 'apache-arrow'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'
import type { RunningService } from '../../support/service.ts'

interface Case {
  sql: string
  json: unknown
  /** The field, without quotes; null if it is empty and has none. */
  csv: string | null
  /** JSON and CSV with `_timestamps=iso`, if they differ. */
  iso?: unknown
  /** DuckDB's type of the column in Parquet, and its value as text. */
  parquet: [type: string, value: string]
  arrow: string
}

const utc = 'TIMESTAMP WITH TIME ZONE'
const seconds = 'Timestamp<SECOND, UTC>'
const uuid = '018f0000-0000-7000-8000-000000000001'
const long = '12345678901234567.89'
const at = (value: string, precision: number) => `toDateTime64('2026-01-31 ${value}', ${precision}, 'UTC')`
const noon = "toDateTime('2026-01-31 12:00:00', 'UTC')"
const enumOf = (value: string) => `CAST('${value}', 'Enum16(\\'a\\' = 1, \\'b\\' = 300)')`
const mixed = (value: string) => `CAST(${value}, 'Variant(UInt8, String, Array(String))')`

/** A value that JSON and CSV write alike. */
const plain = (sql: string, value: string | number | boolean, parquetType: string, arrow: string): Case => ({
  ...{ sql, json: value, csv: String(value), parquet: [parquetType, String(value)], arrow },
})
const text = (sql: string, value: string) => plain(sql, value, 'VARCHAR', 'Utf8')
const nothing = (sql: string, parquetType = 'VARCHAR', arrow = 'Utf8'): Case => ({
  ...{ sql, json: null, csv: null, parquet: [parquetType, 'null'], arrow },
})
/** A value that CSV writes as JSON. */
const nested = (
  sql: string,
  json: unknown,
  parquet: [string, string],
  arrow: string,
  iso?: unknown,
): Case => ({
  ...{ sql, json, csv: JSON.stringify(json), parquet, arrow, ...(iso !== undefined && { iso }) },
})
const decimal = (value: string, digits: number, scale: number, json: unknown, parquet = value): Case => ({
  ...{ sql: `CAST('${value}', 'Decimal(${digits}, ${scale})')`, json, csv: value },
  parquet: [digits > 38 ? 'VARCHAR' : `DECIMAL(${digits},${scale})`, parquet],
  arrow: digits > 38 ? 'Utf8' : `Decimal[${digits}e${scale === 0 ? '' : '+'}${scale}]`,
})

const cases: readonly Case[] = [
  {
    sql: "toDateTime('2026-01-31 12:00:00', 'Europe/Berlin')",
    ...{ json: '2026-01-31T11:00:00', csv: '2026-01-31T11:00:00', iso: '2026-01-31T11:00:00Z' },
    ...{ parquet: [utc, '2026-01-31 11:00:00+00'], arrow: seconds },
  },
  nothing("CAST(NULL, 'Nullable(DateTime(\\'UTC\\'))')", utc, seconds),
  ...[
    { precision: 0, fraction: '', unit: 'SECOND' },
    { precision: 3, fraction: '.123', unit: 'MILLISECOND' },
    { precision: 6, fraction: '.123456', unit: 'MICROSECOND' },
    { precision: 9, fraction: '.123456789', unit: 'NANOSECOND' },
  ].map(({ precision, fraction, unit }): Case => {
    // Microseconds are the most that JSON, CSV and DuckDB's type keep.
    const kept = fraction.slice(0, 7)
    const micros = `1769860800${kept.slice(1).padEnd(6, '0')}`
    return {
      sql: at(`12:00:00${fraction}`, precision),
      ...{ json: Number(micros), csv: micros, iso: `2026-01-31T12:00:00${fraction}Z` },
      ...{ parquet: [utc, `2026-01-31 12:00:00${kept}+00`], arrow: `Timestamp<${unit}, UTC>` },
    }
  }),
  plain("toDate('2026-01-31')", '2026-01-31', 'DATE', 'Date32<DAY>'),
  plain("toDate32('1920-01-31')", '1920-01-31', 'DATE', 'Date32<DAY>'),
  text("toTime('12:34:56')", '12:34:56'),
  plain('5::UInt8', 5, 'UTINYINT', 'Uint8'),
  plain('9007199254740991::Int64', 9007199254740991, 'BIGINT', 'Int64'),
  { ...plain('0::Int64 - 9007199254740992', 0, 'BIGINT', 'Int64'), ...large('-9007199254740992', 'BIGINT') },
  {
    ...plain('0::UInt64 - 1', 0, 'UBIGINT', 'Uint64'),
    sql: 'toUInt64(18446744073709551615)',
    ...large('18446744073709551615', 'UBIGINT'),
  },
  {
    ...text("toUInt128('340282366920938463463374607431768211455')", ''),
    ...large('340282366920938463463374607431768211455', 'VARCHAR'),
  },
  { ...text('toInt256(-5)', '-5'), json: -5 },
  decimal('1.5', 18, 4, 1.5, '1.5000'),
  decimal('0.1', 38, 30, 0.1, '0.100000000000000000000000000000'),
  decimal('0.000000000123456789', 38, 18, 1.23456789e-10),
  decimal('9007199254740991', 38, 0, 9007199254740991),
  decimal('-9007199254740993', 38, 0, '-9007199254740993'),
  decimal(long, 38, 2, long),
  decimal('1000000000000000000000', 76, 0, 1e21),
  decimal('-0.12345678901234567890123', 76, 30, '-0.12345678901234567890123'),
  nothing("CAST(NULL, 'Nullable(Decimal(38, 2))')", 'DECIMAL(38,2)', 'Decimal[38e+2]'),
  plain('1.5', 1.5, 'DOUBLE', 'Float64'),
  plain('toBFloat16(1.5)', 1.5, 'FLOAT', 'Float32'),
  { ...plain('nan', 'nan', 'DOUBLE', 'Float64'), json: null, parquet: ['DOUBLE', 'NaN'] },
  { ...plain('inf', 'inf', 'DOUBLE', 'Float64'), json: null, parquet: ['DOUBLE', 'Infinity'] },
  plain('true', true, 'BOOLEAN', 'Bool'),
  text(enumOf('b'), 'b'),
  text(`toUUID('${uuid}')`, uuid),
  nothing("CAST(NULL, 'Nullable(UUID)')"),
  text("toIPv4('10.0.0.1')", '10.0.0.1'),
  text("toIPv6('2001:db8::1')", '2001:db8::1'),
  text("''", ''),
  text(`'a,"b\\n'`, 'a,"b\n'),
  nothing('NULL'),
  nothing("CAST(NULL, 'Nullable(String)')"),
  text("CAST('x', 'LowCardinality(String)')", 'x'),
  nothing("CAST(NULL, 'LowCardinality(Nullable(String))')"),
  text("toFixedString('ab', 2)", 'ab'),
  // Without the NULs that fill it up.
  text("toFixedString('ab', 4)", 'ab'),
  { ...text(mixed('5'), '5'), json: 5 },
  text(mixed("'x'"), 'x'),
  { ...text(mixed("['x']"), '["x"]'), json: ['x'] },
  nothing(mixed('NULL')),
  { ...text("CAST([1], 'Dynamic')", '[1]'), json: [1] },
  text("CAST('null', 'Dynamic')", 'null'),
  nothing("CAST(NULL, 'Dynamic')"),
  { ...text(`CAST('{"a":{"b":[1]}}', 'JSON')`, '{"a":{"b":[1]}}'), json: { a: { b: [1] } } },
  plain('INTERVAL 3 DAY', 3, 'BIGINT', 'Int64'),
  nested('[]', [], ['VARCHAR[]', '[]'], 'List<Utf8>'),
  nested('[tuple()]', [[]], ['VARCHAR', '[[]]'], 'Utf8'),
  nested(
    `(toLowCardinality('x'), ${enumOf('b')}, ${noon})`,
    ['x', 'b', '2026-01-31T12:00:00'],
    [`STRUCT("1" VARCHAR, "2" VARCHAR, "3" ${utc})`, "{'1': 'x', '2': 'b', '3': 2026-01-31 12:00:00+00}"],
    `Struct<{1:Utf8, 2:Utf8, 3:${seconds}}>`,
    ['x', 'b', '2026-01-31T12:00:00Z'],
  ),
  nested(
    `[NULL, ${at('12:00:00.5', 3)}]`,
    [null, 1769860800500000],
    [`${utc}[]`, '[NULL, 2026-01-31 12:00:00.5+00]'],
    'List<Timestamp<MILLISECOND, UTC>>',
    [null, '2026-01-31T12:00:00.500Z'],
  ),
  nested(
    `map('k', [${noon}])`,
    { k: ['2026-01-31T12:00:00'] },
    [`MAP(VARCHAR, ${utc}[])`, "{'k': [2026-01-31 12:00:00+00]}"],
    `Map<{key:Utf8, value:List<${seconds}>}>`,
    { k: ['2026-01-31T12:00:00Z'] },
  ),
  nested(
    `CAST((${noon}, 9223372036854775807), 'Tuple(\`at x\` DateTime(\\'UTC\\'), n Nullable(Int64))')`,
    { 'at x': '2026-01-31T12:00:00', n: '9223372036854775807' },
    [`STRUCT("at x" ${utc}, "n" BIGINT)`, "{'at x': 2026-01-31 12:00:00+00, 'n': 9223372036854775807}"],
    `Struct<{at x:${seconds}, n:Int64}>`,
    { 'at x': '2026-01-31T12:00:00Z', n: '9223372036854775807' },
  ),
  nested(
    "(1, '')",
    [1, ''],
    ['STRUCT("1" UTINYINT, "2" VARCHAR)', "{'1': 1, '2': ''}"],
    'Struct<{1:Uint8, 2:Utf8}>',
  ),
  nested(
    "CAST([(1, toIPv4('10.0.0.1'))], 'Nested(a Int64, b IPv4)')",
    [{ a: 1, b: '10.0.0.1' }],
    ['STRUCT("a" BIGINT, "b" VARCHAR)[]', "[{'a': 1, 'b': '10.0.0.1'}]"],
    'List<Struct<{a:Int64, b:Utf8}>>',
  ),
  nested(
    `[CAST('${long}', 'Decimal(38, 2)'), CAST(1.5, 'Decimal(38, 2)')]`,
    [long, 1.5],
    ['DECIMAL(38,2)[]', `[${long}, 1.50]`],
    'List<Decimal[38e+2]>',
  ),
  nested('[nan, -inf, 1.5]', [null, null, 1.5], ['DOUBLE[]', '[NaN, -Infinity, 1.5]'], 'List<Float64>'),
  nested(`[${enumOf('a')}]`, ['a'], ['VARCHAR[]', "['a']"], 'List<Utf8>'),
  nested(
    `map(toIPv4('10.0.0.1'), [toUUID('${uuid}')])`,
    { '10.0.0.1': [uuid] },
    ['MAP(VARCHAR, VARCHAR[])', `{'10.0.0.1': ['${uuid}']}`],
    'Map<{key:Utf8, value:List<Utf8>}>',
  ),
  nested(
    "map(toFixedString('k', 3), [toFixedString('ab', 4)])",
    { k: ['ab'] },
    ['MAP(VARCHAR, VARCHAR[])', "{'k': ['ab']}"],
    'Map<{key:Utf8, value:List<Utf8>}>',
  ),
  nested(
    '(1., 2.)::Point',
    [1, 2],
    ['STRUCT("1" DOUBLE, "2" DOUBLE)', "{'1': 1, '2': 2}"],
    'Struct<{1:Float64, 2:Float64}>',
  ),
]

function large(value: string, type: string): Pick<Case, 'json' | 'csv' | 'parquet'> {
  return { json: value, csv: value, parquet: [type, value] }
}

/** Without what only says that there may be no value, or how it is stored. */
const plainType = (type: string) => type.replace(/^(?:(?:LowCardinality|Nullable)\()+/, '')

const isOf = (name: string) => (type: string) => type === name || type.startsWith(`${name}(`)

const isNumber = (value: unknown) => typeof value === 'number'
const isText = (value: unknown) => typeof value === 'string'
/** The forms of values that are not null, as the documentation writes them. */
const forms: Record<string, (value: unknown) => boolean> = {
  text: isText,
  number: isNumber,
  '`true`, `false`': (value) => typeof value === 'boolean',
  'number, or text if a double cannot hold it exactly': (value) =>
    isNumber(value) ? String(value).length < 18 : isText(value) && !Number.isSafeInteger(Number(value)),
  'number; `null` for NaN and infinity': isNumber,
  '`2026-01-31T12:00:00`, in UTC': (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(String(value)),
  '`2026-01-31T12:00:00Z`, with the digits of the type': (value) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/.test(String(value)),
  'integer, microseconds since 1970': (value) => Number.isSafeInteger(value),
  '`2026-01-31`': (value) => /^\d{4}-\d\d-\d\d$/.test(String(value)),
  array: Array.isArray,
  'object; keys are text': (value) => typeof value === 'object' && !Array.isArray(value),
  'object if its members have names, otherwise array': (value) => typeof value === 'object',
  'the JSON itself, with every digit of its numbers': (value) => typeof value === 'object',
  'the value; timestamps and large numbers are not converted': () => true,
  'as the type inside': () => true,
}

const csvOf = ({ csv, iso }: Case) =>
  iso === undefined ? csv : typeof iso === 'string' ? iso : JSON.stringify(iso)

/** Reads results as other programs do. */
export function formatJourneys(running: () => RunningService): void {
  describe('a result with columns of every type', () => {
    const scratch = scratchDirectory()
    let duck: Awaited<ReturnType<DuckDBInstance['connect']>>
    // A column called like a variable of the service's own SQL is not mistaken for it.
    const names = cases.map((_, index) => (index === 0 ? 'x0' : `c${index}`))
    const query = `SELECT ${cases.map(({ sql }, index) => `${sql} AS ${names[index]}`).join(', ')}`
    const body = async (search: string, sql = query): Promise<Buffer> => {
      const response = await running().call(`/api/sql?${search}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: sql, timestamps: 'logflare' }),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      expect(response.status, bytes.toString('utf8', 0, 500)).toBe(200)
      return bytes
    }
    const file = (name: string, bytes: Buffer) => {
      const path = join(scratch.path, name)
      writeFileSync(path, bytes)
      return path
    }
    const readByDuck = (from: string) => duck.runAndReadAll(`SELECT * FROM ${from}`)
    const cells = (of: (index: number) => unknown) => cases.map(({ sql }, index) => [sql, of(index)])

    beforeAll(async () => {
      duck = await (await DuckDBInstance.create()).connect()
      await duck.run("SET TimeZone = 'UTC'")
    })
    afterAll(() => {
      duck.closeSync()
      scratch.remove()
    })

    test.each(['', '_timestamps=iso'])('is read as JSON (%s)', async (search) => {
      const { result } = JSON.parse((await body(search)).toString()) as { result: Record<string, unknown>[] }
      const lines = await body(`_format=ndjson&${search}`)
      const expected = cells((index) =>
        search ? (cases[index]?.iso ?? cases[index]?.json) : cases[index]?.json,
      )
      expect(cells((index) => result[0]?.[names[index] as string])).toEqual(expected)
      expect(JSON.parse(lines.toString())).toEqual(result[0])
      const read = await readByDuck(
        `read_json('${file(`${search}.ndjson`, lines)}', format = 'newline_delimited')`,
      )
      expect(read.columnNames()).toEqual(names)
    })

    test.each(['', '&_timestamps=iso'])('is read as CSV (%s)', async (search) => {
      const bytes = await body(`_format=csv${search}`)
      const rows = parse(bytes, {
        cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
      }) as unknown as (string | null)[][]
      const expected = cells((index) => (search ? csvOf(cases[index] as Case) : cases[index]?.csv))
      expect(rows[0]).toEqual(names)
      expect(cells((index) => rows[1]?.[index])).toEqual(expected)
      const read = await readByDuck(
        `read_csv('${file(`${search}.csv`, bytes)}', all_varchar = true, allow_quoted_nulls = false)`,
      )
      expect(cells((index) => read.getRows()[0]?.[index])).toEqual(expected)
    })

    test.each(['', '&_timestamps=iso'])('is read as Parquet (%s)', async (search) => {
      const bytes = await body(`_format=parquet${search}`)
      const read = await readByDuck(`read_parquet('${file(`${search}.parquet`, bytes)}')`)
      const types = read.columnTypes().map(String)
      const values = read.getRows()[0]?.map(String)
      expect(read.columnNames()).toEqual(names)
      expect(cells((index) => [types[index], values?.[index]])).toEqual(
        cells((index) => cases[index]?.parquet),
      )
    })

    test.each(['', '&_timestamps=iso'])('is read as Arrow (%s)', async (search) => {
      const table = tableFromIPC(await body(`_format=arrow${search}`))
      expect(table.schema.fields.map(({ name }) => name)).toEqual(names)
      expect(cells((index) => String(table.schema.fields[index]?.type))).toEqual(
        cells((index) => cases[index]?.arrow),
      )
      const [row] = table.toArray().map((each: { toJSON(): Record<string, unknown> }) => each.toJSON())
      const isText = (index: number) => cases[index]?.arrow === 'Utf8'
      expect(cells((index) => (isText(index) ? (row?.[names[index] as string] ?? null) : null))).toEqual(
        cells((index) => (isText(index) ? cases[index]?.csv : null)),
      )
      expect(Number(row?.x0)).toBe(Date.UTC(2026, 0, 31, 11))
    })

    test.each(['', '_timestamps=iso'])(
      'has the same values inside arrays, maps and tuples (%s)',
      async (search) => {
        for (const [wrap, inside] of [
          [(sql: string) => `[${sql}]`, (value: unknown) => [value]],
          [(sql: string) => `[[${sql}]]`, (value: unknown) => [[value]]],
          [(sql: string) => `map('k', ${sql})`, (value: unknown) => ({ k: value })],
          [(sql: string) => `tuple(${sql}, 1)`, (value: unknown) => [value, 1]],
        ] as const) {
          const sql = `SELECT ${cases.map((each, index) => `${wrap(each.sql)} AS ${names[index]}`).join(', ')}`
          const { result } = JSON.parse((await body(search, sql)).toString()) as { result: object[] }
          const expectedOf = ({ json, iso = json }: Case) => inside(search ? iso : json)
          expect(Object.values(result[0] ?? {}).map((value, index) => [cases[index]?.sql, value])).toEqual(
            cells((index) => expectedOf(cases[index] as Case)),
          )
        }
      },
    )

    describe('with bytes that are not UTF-8', () => {
      const cut = "left('naïve', 3)"
      const broken = 'na\ufffd'
      const invalid: readonly [sql: string, json: unknown, typed?: string][] = [
        [cut, broken],
        ["'na\\xC3'", broken],
        ["x'6E61C3'", broken],
        ["unhex('4eEDA0804eC0804eF49080804e')", 'N\ufffdN\ufffdN\ufffdN'],
        [`toNullable(${cut})`, broken],
        [`toLowCardinality(${cut})`, broken],
        [`toFixedString(${cut}, 4)`, broken],
        [`CAST(${cut}, 'Enum8(\\'na\\xC3\\' = 1)')`, broken],
        [`CAST(${cut}, 'Variant(UInt8, String)')`, broken],
        [`CAST(${cut}, 'Dynamic')`, broken],
        [`[${cut}, NULL]`, [broken, null], `['${broken}', NULL]`],
        [`[[toLowCardinality(${cut})]]`, [[broken]], `[['${broken}']]`],
        [`(${cut}, 1)`, [broken, 1], `{'1': '${broken}', '2': 1}`],
        [
          `CAST((${cut}, 1), 'Tuple(a Nullable(String), b UInt8)')`,
          { a: broken, b: 1 },
          `{'a': '${broken}', 'b': 1}`,
        ],
        [`map(${cut}, [${cut}])`, { [broken]: [broken] }, `{'${broken}': ['${broken}']}`],
        [
          `[tuple(${cut}, map(toFixedString(${cut}, 3), 1))]`,
          [[broken, { [broken]: 1 }]],
          `[{'1': '${broken}', '2': {'${broken}': 1}}]`,
        ],
      ]
      const sql = `SELECT 'naïve' AS certain, ${invalid.map(([value], index) => `${value} AS i${index}`).join(', ')}`
      const json = {
        certain: 'naïve',
        ...Object.fromEntries(invalid.map(([, value], index) => [`i${index}`, value])),
      }
      const texts = ['naïve', ...invalid.map(([, value, typed]) => typed ?? String(value))]
      const valid = async (search: string) => {
        const bytes = await body(search, sql)
        expect([search, isUtf8(bytes)]).toEqual([search, true])
        return bytes
      }

      test('has U+FFFD in JSON and CSV', async () => {
        for (const search of ['', '_timestamps=iso']) {
          expect(JSON.parse((await valid(search)).toString()).result).toEqual([json])
          expect(JSON.parse((await valid(`_format=ndjson&${search}`)).toString())).toEqual(json)
          const [head, row] = parse(await valid(`_format=csv&${search}`)) as string[][]
          expect(head).toEqual(Object.keys(json))
          expect(row).toEqual(
            Object.values(json).map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
          )
        }
      })

      test('is refused in the name of a column, which needs an alias', async () => {
        for (const [query, place] of [
          ["SELECT 'na\\xC3'", 'the column'],
          ["SELECT 1 AS n, concat('na\\xC3', 'x')", 'column 2'],
        ]) {
          const headers = { 'X-API-KEY': running().adminToken.token, 'Content-Type': 'application/json' }
          const sent = { method: 'POST', headers, body: JSON.stringify({ query }) }
          const response = await fetch(`${running().url}/api/sql`, sent)
          const { error } = (await response.json()) as { error: { code: string; message: string } }
          const message = `The name of ${place} is not valid UTF-8. Give it an alias, such as AS value.`
          expect([response.status, error.code, error.message]).toEqual([422, 'invalid_query', message])
        }
      })

      test('has U+FFFD in Parquet and Arrow, which DuckDB and Apache Arrow read', async () => {
        const path = file('invalid.parquet', await body('_format=parquet', sql))
        const read = await readByDuck(`read_parquet('${path}')`)
        expect(read.getRows()[0]?.map(String)).toEqual(texts)
        const table = tableFromIPC(await body('_format=arrow', sql))
        const utf8 = new TextDecoder('utf-8', { fatal: true })
        expect(table.numRows).toBe(1)
        const vectors = table.schema.fields.flatMap((_, index) => table.getChildAt(index) ?? [])
        const leaves = (data: Data): Data[] => [data, ...data.children.flatMap(leaves)]
        const strings = vectors.flatMap((vector) => vector.data.flatMap((data) => leaves(data as Data)))
        const decoded = strings.flatMap(({ type, values }) =>
          DataType.isUtf8(type) ? utf8.decode(values) : [],
        )
        expect(decoded.filter((value) => value.includes(broken)).length).toBeGreaterThan(invalid.length - 3)
      })

      test('is valid in streams, tools and sandboxes, and in names of columns', async () => {
        const headers = { 'Content-Type': 'application/json' }
        const post = (path: string, content: object, more: Record<string, string> = {}) =>
          running().call(path, {
            method: 'POST',
            headers: { ...headers, ...more },
            body: JSON.stringify(content),
          })
        const views = `WITH words AS (SELECT 'naïve' AS word) SELECT left(word, 3) AS cut, [unhex('C3')] AS list FROM words`
        const endpoint = { name: 'formats.cut', query: views, sandbox: true, cache_seconds: 60 }
        expect((await post('/api/endpoints', endpoint)).status).toBe(201)
        const bytesOf = async (response: Response) => {
          const bytes = Buffer.from(await response.arrayBuffer())
          expect([response.status, isUtf8(bytes)]).toEqual([200, true])
          return bytes.toString()
        }
        const sandboxed = { sql: "SELECT left(word, 3) AS cut, [unhex('C3')] AS list FROM words" }
        const row = `{"cut":"${broken}","list":["\ufffd"]}`
        for (const content of [{}, sandboxed])
          expect(await bytesOf(await post('/api/endpoints/query/formats.cut', content))).toContain(row)
        const stream = await running().call('/api/endpoints/query/formats.cut', {
          headers: { Accept: 'text/event-stream' },
        })
        const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
        let bytes = Buffer.alloc(0)
        while (!bytes.includes('"list"') || !bytes.toString('latin1').endsWith('\n\n')) {
          bytes = Buffer.concat([bytes, (await reader.read()).value ?? Buffer.alloc(0)])
        }
        await reader.cancel()
        expect([isUtf8(bytes), bytes.toString()]).toEqual([true, expect.stringContaining(row)])
        const call = { name: 'formats_cut', arguments: sandboxed }
        const tool = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
        const accepted = { Accept: 'application/json, text/event-stream' }
        expect(await bytesOf(await post('/mcp', tool, accepted))).toContain(broken)
        // Names have no escapes, and a column without a name cannot be found by one that the engine makes of such bytes.
        for (const query of ['SELECT 1 AS `na\\xC3`', "SELECT 'na\\xC3'"]) {
          const named = await post('/api/sql', { query })
          const bytes = Buffer.from(await named.arrayBuffer())
          expect([query, named.status, isUtf8(bytes)]).toEqual([query, 422, true])
        }
      })

      test('is valid as states of aggregates, and as metadata that a query computes', async () => {
        const states = `SELECT groupArrayState(${cut}) AS state, concat('{"a":"', ${cut}, '"}') AS metadata`
        for (const search of ['', '_format=ndjson']) {
          const bytes = await body(search, states)
          expect(isUtf8(bytes)).toBe(true)
          expect(bytes.toString()).toContain(`"metadata":"{\\"a\\":\\"${broken}\\"}"`)
        }
        expect(isUtf8(await body('_format=csv', states))).toBe(true)
      })
    })

    test('is CSV without formulas where a spreadsheet opens it', async () => {
      const sql = "SELECT '=1+1' AS a, -5 AS b, '-5' AS c, toDateTime64('2026-01-31 12:00:00', 3, 'UTC') AS d"
      const csv = async (search: string) =>
        (await body(`_format=csv${search}`, sql)).toString().split('\n')[1]
      expect(await csv('&_raw=0')).toBe(`"'=1+1",-5,"'-5",1769860800000000`)
      expect(await csv('&_raw=0&_timestamps=iso')).toBe(`"'=1+1",-5,"'-5","2026-01-31T12:00:00.000Z"`)
      expect([await csv('&_raw=1'), await csv('')]).toEqual(Array(2).fill('"=1+1",-5,"-5",1769860800000000'))
    })

    test('has every type that the documentation lists, in the documented form', async () => {
      const page = readFileSync(new URL('../../../docs/guides/endpoints.md', import.meta.url), 'utf8')
      const table = page.slice(page.indexOf('## Types'))
      const listed = [...table.matchAll(/^\| ([^|]*`[^|]*) \| ([^|]*) \|/gm)].flatMap(
        ([, cell = '', form = '']) =>
          [...cell.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => [name as string, form.trim()] as const),
      )
      expect(listed.length).toBeGreaterThan(20)
      const typeNames = names.map((name) => `toTypeName(${name}) AS ${name}`)
      const types = Object.values(
        JSON.parse((await body('', `SELECT ${typeNames.join(', ')} FROM (${query})`)).toString()).result[0],
      ) as string[]
      for (const [name, form] of listed) {
        const own = cases.filter((_, index) =>
          [types[index] ?? '', plainType(types[index] ?? '')].some(isOf(name)),
        )
        const isIso = form.includes('00:00Z`')
        const values = own
          .map(({ json, iso = json }) => (isIso ? iso : json))
          .filter((value) => value !== null)
        expect([name, own.length > 0]).toEqual([name, true])
        expect([name, form, values.filter((value) => !forms[form]?.(value))]).toEqual([name, form, []])
      }
    })
  })
}
