import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatMicros, parseIsoTimestamp } from '../src/base/timestamps.ts'
import { readDefinition } from '../src/endpoints/definition-file.ts'
import { bindQuery, withNow } from '../src/endpoints/parameters.ts'
import type { Engine } from '../src/engine/engine.ts'
import { engineCodeOf } from '../src/engine/engine-errors.ts'
import { type OpenEngine, openEmbedded } from './support/engines.ts'

/** The three saved queries on the real engine, with a time of call that each test chooses. */
const limits = { deadlineMs: 120_000 }

const second = 1_000_000n
const minute = 60n * second
const hour = 60n * minute
const day = 24n * hour

function at(iso: string): bigint {
  const micros = parseIsoTimestamp(iso)
  if (micros === undefined) throw new Error(`${iso} is no timestamp.`)
  return micros
}

/** As the engine prints it. */
function printed(micros: bigint, decimals: 0 | 6 = 6): string {
  const iso = new Date(Number(micros / 1000n)).toISOString()
  const fraction = decimals === 0 ? '' : `.${String(micros % second).padStart(6, '0')}`
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}${fraction}`
}

const content = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

function compile(file: string, text: string) {
  const reading = readDefinition(file, text)
  if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
  return bindQuery(reading.definition.query, reading.definition.parameters)
}

function load(path: string) {
  return compile(path, content(path))
}

const saved = {
  stats: load('endpoints/functions.invocation-stats.sql'),
  logs: load('endpoints/logs.all.sql'),
  counts: load('endpoints/usage.api-counts.sql'),
  example: compile('example.sql', /```sql\n([\s\S]+?)```/.exec(content('docs/endpoints.md'))?.[1] ?? ''),
}

const otherSources = [
  ...['postgres_logs', 'function_edge_logs', 'function_logs', 'auth_logs', 'realtime_logs'],
  ...['storage_logs', 'postgrest_logs', 'pgbouncer_logs'],
]

const hotColumns: Record<string, string[]> = {
  edge_logs: [
    "request_url String MATERIALIZED ifNull(metadata.request.url::Nullable(String), '')",
    "request_path String MATERIALIZED ifNull(metadata.request.path::Nullable(String), '')",
    'INDEX request_url_ngrams request_url TYPE ngrambf_v1(4, 8192, 2, 0) GRANULARITY 1',
  ],
  function_edge_logs: [
    "function_id String MATERIALIZED ifNull(metadata.function_id::Nullable(String), '')",
    'execution_time_ms Nullable(Float64) MATERIALIZED toFloat64OrNull(metadata.execution_time_ms::Nullable(String))',
    'status_code Nullable(Float64) MATERIALIZED toFloat64OrNull(metadata.response.status_code::Nullable(String))',
  ],
}

let opened: OpenEngine
let engine: Engine

interface Entry {
  project?: string
  id?: string
  at: bigint
  event_message?: string
  metadata?: Record<string, unknown>
}

let lastId = 0

async function insert(table: string, entries: Entry[]): Promise<void> {
  const rows = entries.map(({ at: timestamp, ...entry }) =>
    JSON.stringify({ id: `entry-${++lastId}`, ...entry, timestamp: formatMicros(timestamp) }),
  )
  const settings = {
    json_type_escape_dots_in_keys: 1,
    input_format_try_infer_dates: 0,
    input_format_try_infer_datetimes: 0,
  }
  await engine.insert({ table, format: 'JSONEachRow', settings }, Buffer.from(rows.join('\n')), limits)
}

type Row = Record<string, unknown>

interface Called {
  names: string[]
  types: string[]
  rows: Row[]
}

async function call(
  name: keyof typeof saved,
  given: Record<string, string>,
  now: bigint,
  settings: Record<string, string | number> = {},
): Promise<Called> {
  const { sql, check } = saved[name]
  return run(sql, withNow(check(given), now), settings)
}

async function run(
  sql: string,
  parameters: ReturnType<typeof withNow>,
  settings: Record<string, string | number> = {},
): Promise<Called> {
  const format = 'JSONCompactEachRowWithNamesAndTypes'
  const { body } = await engine.query({ sql, parameters, format, settings }, limits)
  const lines = body.toString().trim().split('\n')
  const [names, types, ...values] = lines.map((line) => JSON.parse(line)) as [string[], string[], unknown[][]]
  const rows = values.map((row) => Object.fromEntries(row.map((value, i) => [names[i] as string, value])))
  return { names, types, rows }
}

async function plan(name: keyof typeof saved, given: Record<string, string>, now: bigint): Promise<string> {
  const { sql, check } = saved[name]
  const parameters = withNow(check(given), now)
  const explain = { sql: `EXPLAIN indexes = 1 ${sql}`, parameters, format: 'TSVRaw' }
  return (await engine.query(explain, limits)).body.toString()
}

beforeAll(async () => {
  opened = await openEmbedded()
  engine = opened.engine
  for (const table of ['edge_logs', ...otherSources]) {
    const columns = [
      ...['project String', 'id String', "timestamp DateTime64(6, 'UTC')", 'event_message String'],
      ...['metadata JSON(max_dynamic_paths = 128)', ...(hotColumns[table] ?? [])],
    ]
    const layout = 'ENGINE = MergeTree PARTITION BY toDate(timestamp) ORDER BY (project, timestamp)'
    await engine.command({ sql: `CREATE TABLE ${table} (${columns.join(', ')}) ${layout}` }, limits)
  }
})
afterAll(() => opened?.close())

describe('functions.invocation-stats', () => {
  const now = at('2026-03-10T12:34:56.789012Z')
  const intervals = [
    { interval: '5min', length: 5n * minute, unit: second, buckets: 301 },
    { interval: '15min', length: 15n * minute, unit: minute, buckets: 16 },
    { interval: '1hr', length: hour, unit: minute, buckets: 61 },
    { interval: '1day', length: day, unit: hour, buckets: 25 },
    { interval: '7day', length: 7n * day, unit: day, buckets: 8 },
  ]
  const truncated = (micros: bigint, unit: bigint) => micros - (micros % unit)
  const series = (from: bigint, unit: bigint, buckets: number) =>
    Array.from({ length: buckets }, (_, i) => printed(from + BigInt(i) * unit))
  const executionTimes = ['min', 'max', 'avg', 'p95', 'p99'].map((name) => `${name}_execution_time`)
  const empty = {
    ...Object.fromEntries(executionTimes.map((name) => [name, null])),
    count: 0,
    error_count: 0,
  }
  const counted = (rows: Row[]) => rows.filter((row) => row.count !== 0)

  /** Execution times by bucket: few and many, so that a rank that is off by one shows. */
  const samples = [1, 2, 3, 19, 20, 21, 99, 100, 101, 2500].map((size, i) => ({
    bucket: at('2026-03-10T11:00:00Z') + BigInt(i) * minute,
    values: Array.from({ length: size }, (_, k) => ((k * 7919 + size) % 104_729) / 8),
  }))

  beforeAll(async () => {
    const entries: Entry[] = []
    const invocation = (project: string, time: bigint, metadata: Record<string, unknown> = {}) =>
      entries.push({ project, at: time, metadata })
    for (const { interval, length, unit } of intervals) {
      const first = truncated(now - length, unit)
      const end = truncated(now, unit) + unit
      for (const time of [first - 1n, first, first + unit - 1n, first + unit, end - 1n, end, now + day]) {
        invocation(`bounds ${interval}`, time)
      }
    }
    const times = [12.5, '7', 80, '80.25', undefined, null, 'soon', { ms: 5 }]
    for (const time of times) invocation('times', now, { execution_time_ms: time })
    invocation('times', now - minute, { response: { status_code: 200 } })
    const codes = [
      100,
      200,
      302,
      399,
      '399',
      400,
      '404',
      499,
      500,
      '503',
      599,
      600,
      undefined,
      null,
      'none',
      '',
    ]
    for (const code of codes) invocation('codes', now, { response: { status_code: code } })
    invocation('codes', now, {})
    for (const { bucket, values } of samples) {
      for (const value of values) invocation('percentiles', bucket, { execution_time_ms: value })
    }
    for (const function_id of ['f1', 'f1', 'f2', '', undefined]) invocation('functions', now, { function_id })
    for (const project of ['', '', 'Functions', 'functions2', 'function.']) invocation(project, now)
    for (const time of [
      '2024-02-28T23:59:59.999999Z',
      '2024-02-29T00:00:00Z',
      '2024-02-29T23:59:59.999999Z',
    ]) {
      invocation('leap', at(time))
    }
    invocation('leap', at('2024-03-01T00:00:00Z'))
    invocation('year', at('2025-12-31T22:59:59.999999Z'))
    invocation('year', at('2025-12-31T23:30:00Z'))
    invocation('year', at('2026-01-01T00:00:00Z'))
    invocation('year', at('2026-01-01T00:00:00.999999Z'))
    invocation('last second', at('2025-06-30T23:59:59.5Z'))
    invocation('clocks', at('2026-03-29T00:59:59.999999Z'))
    invocation('clocks', at('2026-03-29T01:00:00Z'))
    invocation('clocks', at('2026-03-29T02:30:00Z'))
    await insert('function_edge_logs', entries)
    await insert('function_logs', [{ project: 'functions', at: now }])
  })

  test.each(intervals)(
    'interval $interval has $buckets buckets, from the one of now minus its length to the one of now',
    async ({ interval, length, unit, buckets }) => {
      const { rows } = await call('stats', { project: `bounds ${interval}`, interval }, now)
      const first = truncated(now - length, unit)
      expect(rows.map((row) => row.timestamp)).toEqual(series(first, unit, buckets))
      expect(rows.at(-1)?.timestamp).toBe(printed(truncated(now, unit)))
      // A record is in the bucket of its truncated time; before the first bucket and after the last it is in none.
      expect(counted(rows).map((row) => [row.timestamp, row.count])).toEqual([
        [printed(first), 2],
        [printed(first + unit), 1],
        [printed(truncated(now, unit)), 1],
      ])
      expect(rows[2]).toEqual({ ...empty, timestamp: printed(first + 2n * unit) })
    },
  )

  test('any other interval behaves as 1day, and so does one that is omitted', async () => {
    const project = 'bounds 1day'
    const asOneDay = await call('stats', { project, interval: '1day' }, now)
    expect(asOneDay.rows).toHaveLength(25)
    for (const interval of ['2day', '']) {
      expect(await call('stats', { project, interval }, now)).toEqual(asOneDay)
    }
    expect(saved.stats.check({ project })).toEqual(saved.stats.check({ project, interval: '1day' }))
  })

  test('a call exactly at the beginning of a bucket begins and ends with a whole bucket', async () => {
    const exact = at('2026-03-10T12:00:00Z')
    const { rows } = await call('stats', { project: 'nobody', interval: '1day' }, exact)
    expect(rows).toEqual(series(exact - day, hour, 25).map((timestamp) => ({ ...empty, timestamp })))
  })

  test('the columns of invocation-stats are those of the seed, in its order; execution times can be null', async () => {
    const { names, types } = await call('stats', { project: 'nobody', interval: '15min' }, now)
    expect(names).toEqual(['timestamp', ...executionTimes, 'count', 'error_count'])
    expect(types).toEqual([
      "DateTime64(6, 'UTC')",
      ...executionTimes.map(() => 'Nullable(Float64)'),
      ...['UInt64', 'UInt64'],
    ])
  })

  test('a record without a readable execution time counts, but not in the execution times', async () => {
    const { rows } = await call('stats', { project: 'times', interval: '15min' }, now)
    expect(rows.at(-1)).toEqual({
      timestamp: '2026-03-10 12:34:00.000000',
      min_execution_time: 7,
      max_execution_time: 80.25,
      avg_execution_time: (12.5 + 7 + 80 + 80.25) / 4,
      p95_execution_time: 80.25,
      p99_execution_time: 80.25,
      count: 8,
      error_count: 0,
    })
    expect(rows.at(-2)).toEqual({ ...empty, timestamp: '2026-03-10 12:33:00.000000', count: 1 })
  })

  test('errors are the records whose status code is 400 or higher', async () => {
    const { rows } = await call('stats', { project: 'codes', interval: '15min' }, now)
    expect(rows.at(-1)).toMatchObject({ count: 17, error_count: 7 })
  })

  test('percentiles are observed values within 1 % of the exact rank, in small buckets and in large ones', async () => {
    const { rows } = await call(
      'stats',
      { project: 'percentiles', interval: '1hr' },
      at('2026-03-10T11:59:00Z'),
    )
    for (const { bucket, values } of samples) {
      const row = rows.find(({ timestamp }) => timestamp === printed(bucket)) as Record<string, number>
      const sorted = values.toSorted((a, b) => a - b)
      for (const percent of [95, 99]) {
        const value = row[`p${percent}_execution_time`] as number
        const rank = Math.ceil((percent * values.length) / 100)
        const nearest = sorted[rank - 1] as number
        const tolerance = Math.floor(values.length / 100)
        expect(sorted).toContain(value)
        expect(Math.abs(sorted.indexOf(value) - sorted.indexOf(nearest))).toBeLessThanOrEqual(tolerance)
      }
      expect(row).toMatchObject({
        min_execution_time: sorted[0],
        max_execution_time: sorted.at(-1),
        avg_execution_time: expect.closeTo(values.reduce((sum, value) => sum + value, 0) / values.length, 6),
        count: values.length,
      })
    }
  })

  test('function_id selects one function; omitted or empty, all functions of the project are included', async () => {
    const last = async (given: Record<string, string>) =>
      (await call('stats', { project: 'functions', interval: '5min', ...given }, now)).rows.at(-1)
    expect(await last({})).toMatchObject({ count: 5 })
    expect(await last({ function_id: 'f1' })).toMatchObject({ count: 2 })
    expect(await last({ function_id: 'f' })).toMatchObject({ count: 0 })
    const project = 'functions'
    expect(saved.stats.check({ project, function_id: '' })).toEqual(saved.stats.check({ project }))
  })

  test('the project must be equal, and an empty one is the empty text', async () => {
    const { rows } = await call('stats', { project: '', interval: '5min' }, now)
    expect(rows.at(-1)).toMatchObject({ count: 2 })
    expect(() => saved.stats.check({ interval: '5min' })).toThrow('project is required.')
  })

  test('a leap day is a day, and a year ends between two buckets', async () => {
    const leap = await call('stats', { project: 'leap', interval: '7day' }, at('2024-03-01T06:00:00Z'))
    expect(leap.rows.slice(-3).map((row) => [row.timestamp, row.count])).toEqual([
      ['2024-02-28 00:00:00.000000', 1],
      ['2024-02-29 00:00:00.000000', 2],
      ['2024-03-01 00:00:00.000000', 1],
    ])
    const year = await call('stats', { project: 'year', interval: '1hr' }, at('2026-01-01T00:00:00.5Z'))
    expect(year.rows).toHaveLength(61)
    expect(counted(year.rows).map((row) => [row.timestamp, row.count])).toEqual([
      ['2025-12-31 23:30:00.000000', 1],
      ['2026-01-01 00:00:00.000000', 2],
    ])
  })

  test('a record in the last second of the series is found, even alone on its day', async () => {
    const { rows } = await call(
      'stats',
      { project: 'last second', interval: '7day' },
      at('2025-06-30T23:59:59.9Z'),
    )
    expect(rows.at(-1)).toMatchObject({ timestamp: '2025-06-30 00:00:00.000000', count: 1 })
  })

  test('hours are those of UTC, whatever zone the engine is in and while clocks change', async () => {
    const berlin = { session_timezone: 'Europe/Berlin' }
    const { rows } = await call(
      'stats',
      { project: 'clocks', interval: '1day' },
      at('2026-03-29T05:00:00Z'),
      berlin,
    )
    expect(rows).toHaveLength(25)
    expect(counted(rows).map((row) => [row.timestamp, row.count])).toEqual([
      ['2026-03-29 00:00:00.000000', 1],
      ['2026-03-29 01:00:00.000000', 1],
      ['2026-03-29 02:00:00.000000', 1],
    ])
  })

  test('empty buckets have count 0 even on an engine that is set to join with nulls', async () => {
    const { rows } = await call('stats', { project: 'times', interval: '15min' }, now, { join_use_nulls: 1 })
    expect(rows[0]).toEqual({ ...empty, timestamp: '2026-03-10 12:19:00.000000' })
    expect(rows.at(-1)).toMatchObject({ count: 8 })
  })

  test('only the days of the series and the records of the project are read', async () => {
    const given = { project: 'bounds 5min', interval: '5min' }
    const explained = await plan('stats', given, now)
    expect(explained).toMatch(/Partition\n[\s\S]*?Condition: \(?and\(\(toDate\(timestamp\) in/)
    expect(explained).toMatch(/PrimaryKey\n[\s\S]*?project in \['bounds 5min', 'bounds 5min'\]/)
  })
})

describe('logs.all', () => {
  const now = at('2026-03-10T12:00:00Z')
  const project = 'logs'
  const ids = async (given: Record<string, string>) =>
    (await call('logs', { project, ...given }, now)).rows.map((row) => row.id)
  const metadata = {
    request: {
      url: 'https://logs.example/rest/v1/x',
      path: '/rest/v1/x',
      headers: { 'x.forwarded.for': '::1' },
    },
    response: { status_code: 200, origin_time: 12.5 },
    nested: { list: [{ a: 1 }, { a: 'two' }], yes: true, text: '2026-01-01' },
  }
  const newest = ['in future', 'now', 'tie 2', 'tie 1', 'hour ago']

  beforeAll(async () => {
    const entry = (id: string, time: bigint) => ({ project, id, at: time })
    const bound = (name: string, time: bigint) => [
      entry(`on ${name}`, time),
      entry(`after ${name}`, time + 1n),
      entry(`before ${name}`, time - 1n),
    ]
    await insert('edge_logs', [
      entry('now', now),
      { ...entry('hour ago', now - hour), event_message: 'GET /rest', metadata },
      entry('tie 1', now - minute),
      entry('tie 2', now - minute),
      entry('in future', now + minute),
      ...bound('day', now - day),
      ...bound('week', now - 7n * day),
      ...bound('quarter', now - 90n * day),
      ...bound('start', at('2026-03-09T20:00:00Z')),
      ...bound('end', at('2026-03-09T22:00:00Z')),
      entry('old', now - 400n * day),
      ...['', 'LOGS', 'logs2', 'log.'].map((other) => ({ project: other, id: `of ${other}`, at: now })),
      ...Array.from({ length: 150 }, (_, i) => ({
        project: 'many',
        id: `many-${i}`,
        at: now - BigInt((i * 37) % 150) * second,
      })),
    ])
    for (const table of otherSources) {
      await insert(table, [
        { project, id: `${table} retained`, at: now - day + 1n },
        { project, id: `${table} expired`, at: now - day },
        { project, id: `${table} on start`, at: now - 2n * hour },
        { project, id: `${table} on end`, at: now - hour },
        { project, id: `${table} after end`, at: now - hour + 1n },
        { project: 'other', id: `${table} of another`, at: now - hour },
      ])
    }
  })

  const bounds = (name: string) => [`after ${name}`, `on ${name}`, `before ${name}`]
  const withinDay = [...newest, ...bounds('end'), ...bounds('start'), 'after day']
  const withinWeek = [...withinDay, 'on day', 'before day', 'after week']
  const withinQuarter = [...withinWeek, 'on week', 'before week', 'after quarter']

  test.each([
    { tier: 'FREE', reach: '1 day', expected: withinDay },
    { tier: 'PRO', reach: '7 days', expected: withinWeek },
    { tier: 'PAYG', reach: '90 days', expected: withinQuarter },
    { tier: 'ENTERPRISE', reach: '90 days', expected: withinQuarter },
    { tier: 'pro', reach: '1 day, as any other value does', expected: withinDay },
    { tier: '', reach: '1 day, as any other value does', expected: withinDay },
  ])(
    'tier $tier reaches back $reach: entries strictly later than that, of the project only, newest first',
    async ({ tier, expected }) => {
      expect(await ids({ project_tier: tier })).toEqual(expected)
    },
  )

  test('a tier that is omitted is 1 day, and a project that is omitted is an error', () => {
    expect(saved.logs.check({ project })).toEqual(saved.logs.check({ project, project_tier: 'FREE' }))
    expect(() => saved.logs.check({ project_tier: 'PRO' })).toThrow('project is required.')
  })

  test('entries are strictly later than iso_timestamp_start and not later than iso_timestamp_end', async () => {
    const expected = ['on end', 'before end', 'after start']
    const start = { iso_timestamp_start: '2026-03-09T20:00:00Z' }
    const end = { iso_timestamp_end: '2026-03-09T23:00:00 01:00' }
    expect(await ids({ ...start, ...end })).toEqual(expected)
    expect(await ids(start)).toEqual([...newest, ...bounds('end'), 'after start'])
    expect(await ids(end)).toEqual(['on end', 'before end', ...bounds('start'), 'after day'])
  })

  test('a bound that is omitted or empty is none', () => {
    const empty = { iso_timestamp_start: '', iso_timestamp_end: '' }
    const values = saved.logs.check({ project, ...empty })
    expect(values).toEqual(saved.logs.check({ project }))
    expect(values).toMatchObject({ iso_timestamp_start: null, iso_timestamp_end: null })
  })

  test('bounds that are wider than the retention do not widen it', async () => {
    const wide = {
      iso_timestamp_start: '0001-01-01T00:00:00Z',
      iso_timestamp_end: '9999-12-31T23:59:59.999999Z',
    }
    expect(await ids(wide)).toEqual(withinDay)
  })

  test('a bound that is no ISO 8601 timestamp is an error', () => {
    expect(() => saved.logs.check({ project, iso_timestamp_end: '2026-02-30T00:00:00Z' })).toThrow(
      'iso_timestamp_end must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z; "2026-02-30T00:00:00Z" was given.',
    )
  })

  test('at most 100 entries are returned: the newest, in order', async () => {
    const { rows } = await call('logs', { project: 'many' }, now)
    const newestHundred = Array.from({ length: 100 }, (_, i) => printed(now - BigInt(i) * second))
    expect(rows.map((row) => row.timestamp)).toEqual(newestHundred)
  })

  test('an entry has id, timestamp, event_message and its nested metadata', async () => {
    const { names, types, rows } = await call('logs', { project }, now, { json_type_escape_dots_in_keys: 1 })
    expect(names).toEqual(['id', 'timestamp', 'event_message', 'metadata'])
    expect(types).toEqual(['String', "DateTime64(6, 'UTC')", 'String', expect.stringMatching(/^JSON/)])
    expect(rows[4]).toEqual({
      id: 'hour ago',
      timestamp: '2026-03-10 11:00:00.000000',
      event_message: 'GET /rest',
      metadata,
    })
    expect(rows[1]).toEqual({ id: 'now', timestamp: printed(now), event_message: '', metadata: {} })
  })

  test('the views of the other sources have the same filters', async () => {
    const views = ['edge', ...otherSources.map((table) => table.replace(/_logs$/, ''))].map(
      (name) => `${name}_entries`,
    )
    const { sql, check } = saved.logs
    const finalSelection = sql.indexOf('\nSELECT id, timestamp, event_message, metadata\nFROM edge_entries')
    expect(finalSelection).toBeGreaterThan(0)
    const all = views.map((view) => `SELECT id FROM ${view}`).join(' UNION ALL ')
    const given = {
      project,
      iso_timestamp_start: '2026-03-10T10:00:00Z',
      iso_timestamp_end: '2026-03-10T11:00:00Z',
    }
    const { rows } = await run(`${sql.slice(0, finalSelection)} ${all}`, withNow(check(given), now))
    const expected = ['hour ago', ...otherSources.map((table) => `${table} on end`)]
    expect(rows.map((row) => row.id).toSorted()).toEqual(expected.toSorted())
  })

  test('only the edge request log is read, its days within the bounds, its records of the project', async () => {
    const explained = await plan('logs', { project, iso_timestamp_end: '2026-03-10T11:00:00Z' }, now)
    expect(explained.match(/ReadFromMergeTree \(\S+\)/g)).toEqual([expect.stringMatching(/\.edge_logs\)$/)])
    expect(explained).toMatch(/Partition\n[\s\S]*?toDate\(timestamp\) in[\s\S]*?Parts: 2\/\d+/)
    expect(explained).toMatch(/PrimaryKey\n[\s\S]*?project in \['logs', 'logs'\]/)
  })
})

describe('usage.api-counts', () => {
  const now = at('2026-03-10T12:34:56.789012Z')
  const areas = ['rest', 'storage', 'auth', 'realtime'].map((area) => `total_${area}_requests`)
  const row = (timestamp: string, ...counts: number[]) => ({
    timestamp,
    ...Object.fromEntries(areas.map((area, i) => [area, counts[i]])),
  })

  beforeAll(async () => {
    const entries: Entry[] = []
    const request = (host: string, path: string | undefined, time: bigint) =>
      entries.push({
        project: 'of no matter',
        at: time,
        metadata: { request: { url: `https://${host}.example${path ?? ''}?q=1`, path } },
      })
    for (const start of [now - hour, now - 7n * day]) {
      request('bounds', '/rest/v1/on', start)
      request('bounds', '/storage/v1/before', start - 1n)
      request('bounds', '/auth/v1/after', start + 1n)
    }
    request('bounds', '/realtime/v1', now)
    const today = at('2026-03-10T00:00:00Z')
    for (const path of [
      '/rest/v1/auth',
      '/v1/rest',
      '/api/restaurant',
      '/storage/v1',
      '/realtime/v1',
      '/auth',
    ]) {
      request('areas', path, today)
    }
    for (const path of ['/', undefined, 'rest/v1', '/REST', '/res/t', '/Auth'])
      request('areas', path, today - 1n)
    request('areas', '/storage/auth/realtime/rest/rest', today - 3n * day)
    request('future', '/rest', now + 30n * minute)
    request('a1b2', '/rest', now)
    request('A1B2', '/auth', now)
    request('c3d4', '/storage', now)
    for (const time of ['2025-12-31T23:59:59.999999Z', '2026-01-01T00:00:00Z'])
      request('year', '/rest', at(time))
    request('leap', '/rest', at('2024-02-29T23:59:59.999999Z'))
    await insert('edge_logs', entries)
    await insert('edge_logs', [{ at: at('2027-05-05T05:05:05Z') }])
  })

  test('minutely counts from 60 minutes before now, that instant included, by the minute', async () => {
    const { names, types, rows } = await call('counts', { project: 'bounds', interval: 'minutely' }, now)
    expect(rows).toEqual([
      row('2026-03-10 11:34:00', 1, 0, 1, 0), //
      row('2026-03-10 12:34:00', 0, 0, 0, 1),
    ])
    expect(names).toEqual(['timestamp', ...areas])
    expect(types).toEqual(["DateTime('UTC')", 'UInt64', 'UInt64', 'UInt64', 'UInt64'])
  })

  test('hourly counts from 1 hour before now, that instant included, by the hour: two buckets', async () => {
    const { rows } = await call('counts', { project: 'bounds', interval: 'hourly' }, now)
    expect(rows).toEqual([
      row('2026-03-10 11:00:00', 1, 0, 1, 0), //
      row('2026-03-10 12:00:00', 0, 0, 0, 1),
    ])
  })

  test('daily counts from 7 days before now, that instant included, by the day, with no row for an empty one', async () => {
    const { rows } = await call('counts', { project: 'bounds', interval: 'daily' }, now)
    expect(rows).toEqual([
      row('2026-03-03 00:00:00', 1, 0, 1, 0), //
      row('2026-03-10 00:00:00', 1, 1, 1, 1),
    ])
  })

  test('a request counts in every area that its path contains, and one with none of them gives a row of zeros', async () => {
    const { rows } = await call('counts', { project: 'areas', interval: 'daily' }, now)
    expect(rows).toEqual([
      row('2026-03-07 00:00:00', 1, 1, 1, 1),
      row('2026-03-09 00:00:00', 0, 0, 0, 0),
      row('2026-03-10 00:00:00', 3, 1, 2, 1),
    ])
  })

  test('an entry that is ahead of now is at or after the window start, so it counts', async () => {
    const { rows } = await call('counts', { project: 'future', interval: 'hourly' }, now)
    expect(rows).toEqual([row('2026-03-10 13:00:00', 1, 0, 0, 0)])
  })

  test.each([
    ['a1b2', [1, 0, 0, 0]],
    ['(?i)a1b2', [1, 0, 1, 0]],
    ['^https://(a1b2|c3d4)\\.example/', [1, 1, 0, 0]],
    ['[ac][13][bd][24]\\.example/(rest|storage)\\?q=1$', [1, 1, 0, 0]],
  ])('the project %s is matched as a regular expression against the URL', async (project, counts) => {
    const { rows } = await call('counts', { project, interval: 'minutely' }, now)
    expect(rows).toEqual([row('2026-03-10 12:34:00', ...counts)])
  })

  test('an empty project is the empty expression, which matches every URL, even a missing one', async () => {
    const { rows } = await call('counts', { project: '', interval: 'hourly' }, at('2027-05-05T05:30:00Z'))
    expect(rows).toEqual([row('2027-05-05 05:00:00', 0, 0, 0, 0)])
    const missing = await call('counts', { project: '.', interval: 'hourly' }, at('2027-05-05T05:30:00Z'))
    expect(missing.rows).toEqual([])
  })

  test('days are those of UTC at the end of a year and of February, whatever zone the engine is in', async () => {
    const zone = { session_timezone: 'America/Los_Angeles' }
    const daily = (project: string, time: string) =>
      call('counts', { project, interval: 'daily' }, at(time), zone).then(({ rows }) => rows)
    expect(await daily('year\\.example', '2026-01-02T00:00:00Z')).toEqual([
      row('2025-12-31 00:00:00', 1, 0, 0, 0),
      row('2026-01-01 00:00:00', 1, 0, 0, 0),
    ])
    expect(await daily('leap\\.example', '2024-03-07T12:00:00Z')).toEqual([
      row('2024-02-29 00:00:00', 1, 0, 0, 0),
    ])
  })

  test('any other interval is an error that names the allowed ones, and so is one that is omitted', () => {
    const allowed = ['minutely', 'hourly', 'daily']
    const details = { parameter: 'interval', allowed }
    for (const interval of ['weekly', 'Daily', '']) {
      expect(() => saved.counts.check({ project: 'x', interval })).toThrow(
        expect.objectContaining({
          code: 'invalid_parameter',
          message: 'interval must be one of minutely, hourly, daily.',
          details,
        }),
      )
    }
    expect(() => saved.counts.check({ project: 'x' })).toThrow(
      expect.objectContaining({ code: 'missing_parameter', details }),
    )
    expect(() => saved.counts.check({ interval: 'daily' })).toThrow('project is required.')
  })

  test('an expression that cannot be compiled is an error of its own in the engine', async () => {
    const refused = await call('counts', { project: '(', interval: 'daily' }, now).catch((error) => error)
    expect(engineCodeOf(refused)).toBe(427)
    expect(saved.counts.patterns).toEqual(['project'])
  })

  test.each([
    ['nested repetition', `^${'(a+)+'.repeat(20)}$`],
    ['thousands of alternatives', Array.from({ length: 4000 }, (_, i) => `x${i}y`).join('|')],
  ])('an expression of %s ends with rows', async (_, project) => {
    expect((await call('counts', { project, interval: 'daily' }, now)).rows).toEqual([])
  })

  test('days before the window are not read, and the index on the URL can be used', async () => {
    const explained = await plan('counts', { project: 'abcdefghijklmnopqrst', interval: 'hourly' }, now)
    expect(explained).toMatch(/Partition\n[\s\S]*?toDate\(timestamp\) in/)
    expect(explained).toMatch(/Skip\n\s+Name: request_url_ngrams[\s\S]*?Granules: 0\/\d+/)
  })
})

test('a parameter of every type arrives in the engine as the value that was sent', async () => {
  const types = ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex']
  const { sql, check } = compile(
    'types.sql',
    `/*
id: 3f8e2a70-61c4-4d0b-9b4e-0c1d5a7e9f21
parameters: { ${types.map((type) => `${type}: { type: ${type} }`).join(', ')} }
*/
SELECT ${[...types, 'undeclared', 'now'].map((name) => `@${name} AS sent_${name}`).join(', ')}`,
  )
  const now = at('2026-03-10T12:34:56.789012Z')
  const texts = { string: '\\N', regex: "it's \\ \t\n\0 😀", undeclared: '{x:String}' }
  const others = { integer: '-4503599627370497', number: '1e300', boolean: 'false' }
  const given = { ...texts, ...others, timestamp: '1969-12-31T23:59:59.999999Z' }
  const sent = await run(sql, withNow(check(given), now))
  expect(sent.rows).toEqual([
    {
      sent_string: texts.string,
      sent_integer: -4503599627370497,
      sent_number: 1e300,
      sent_boolean: false,
      sent_timestamp: '1969-12-31 23:59:59.999999',
      sent_regex: texts.regex,
      sent_undeclared: texts.undeclared,
      sent_now: printed(now),
    },
  ])
  const engineTypes = ['String', 'Int64', 'Float64', 'Bool', "DateTime64(6, 'UTC')", 'String', 'String']
  expect(sent.types).toEqual([...engineTypes.map((type) => `Nullable(${type})`), "DateTime64(6, 'UTC')"])
  const omitted = await run(sql, withNow(check({}), now))
  expect(Object.values(omitted.rows[0] ?? {})).toEqual([...engineTypes.map(() => null), printed(now)])
})

test('the example of docs/endpoints.md gives the slowest requests', async () => {
  const now = at('2027-06-01T00:00:00Z')
  const request = (time: number, method: string) => ({
    project: 'example',
    at: now - minute,
    metadata: { request: { path: `/${time}`, method }, response: { origin_time: time } },
  })
  await insert('edge_logs', [request(5, 'GET'), request(50.5, 'GET'), request(500, 'PUT')])
  const given = { project: 'example', method: 'GET', since: '2027-05-31T00:00:00Z', limit: '1' }
  const { rows } = await call('example', given, now)
  expect(rows).toEqual([{ timestamp: printed(now - minute), request_path: '/50.5', origin_time: 50.5 }])
})
