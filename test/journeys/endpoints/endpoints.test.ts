import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemTime } from '../../../src/core/base/clock.ts'
import { callOf } from '../../../src/core/endpoints/call/call.ts'
import {
  findFormat,
  type OutputFormat,
  outputFormats,
  withIsoTimestamps,
} from '../../../src/core/endpoints/call/output-formats.ts'
import { definitionShape } from '../../../src/core/endpoints/definition/definition.ts'
import { compileEndpoint } from '../../../src/core/endpoints/definition/endpoint.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { many } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { adHocSqlJourneys } from './ad-hoc-sql.ts'
import { formatJourneys } from './formats.ts'
import { hostileQueries } from './hostile-queries.ts'
import { describeMistakes } from './mistakes.ts'
import { openRunner } from './runner.ts'
import { shippedWorkspace } from './shipped-workspace.ts'
import { endpointWarnings } from './warnings.ts'

/** Far ahead, so that the entries never expire. */
const now = Date.UTC(2046, 10, 14, 12, 30, 15)
const minutesAgo = (minutes: number) => new Date(now - minutes * 60_000).toISOString()

const ids = {
  'functions.invocation-stats': 'ab04667e-7513-42e8-b52f-c416ad7d1123',
  'logs.all': 'de267b0d-59a4-4f82-ba4c-f499a8ff0db7',
  'usage.api-counts': 'a6aaea29-3c0e-46c9-90ff-4d635f66c00a',
}

type Rows = { result: Record<string, unknown>[] }
type Problem = { error: { code: string; parameter?: string; message: string; allowed?: string[] } }

const isoMicros = (micros: number) => new Date(micros / 1000).toISOString().replace('Z', '000Z')

describe('requests to saved queries', () => {
  const clock = manualClock(now)
  let service: RunningService
  const logged: { level: number; status?: number }[] = []
  const query = (path: string, init?: RequestInit) => service.call(`/api/endpoints/query/${path}`, init)
  const rows = async (path: string) => ((await (await query(path)).json()) as Rows).result
  const problem = async (path: string, init?: RequestInit) => {
    const response = await query(path, init)
    return { status: response.status, ...((await response.json()) as Problem).error }
  }

  beforeAll(async () => {
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        logged.push(JSON.parse(String(chunk)))
        done()
      },
    })
    service = await openService({ time: systemTime(clock), log: pino(sink) })
    const edge = (id: string, minutes: number, path: string, project = 'abc') => ({
      id,
      project,
      timestamp: minutesAgo(minutes),
      event_message: `GET ${path}`,
      metadata: { request: { url: `https://${project}.example.com${path}`, path }, 'dotted.key': { n: 1 } },
    })
    const invocation = (id: string, ms: unknown, status: number) => ({
      timestamp: minutesAgo(10),
      metadata: {
        ...{ project_ref: 'abc', function_id: id, execution_time_ms: ms },
        response: { status_code: status },
      },
    })
    const send = (source: string, entries: unknown) =>
      service.call(`/api/logs?source=${source}`, { method: 'POST', body: JSON.stringify(entries) })
    await Promise.all([
      send('edge_logs', [
        edge('e1', 1, '/rest/v1/auth'),
        edge('e2', 2, '/storage/v1'),
        edge('e3', 3, '/other'),
        edge('old', 60 * 30, '/rest/v1'),
        edge('foreign', 1, '/rest/v1', 'xyz'),
      ]),
      send('function_edge_logs', [invocation('f', 12.5, 500), invocation('g', 'nan', 200)]),
    ])
  })
  afterAll(() => service?.close())

  test('functions.invocation-stats returns the whole series, by name and by id', async () => {
    const response = await query('functions.invocation-stats?project=abc&interval=1hr&_version=1', {
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toMatch(/^private/)
    expect(response.headers.get('server-timing')).toMatch(
      /^queue;dur=[\d.]+, engine;dur=[\d.]+, total;dur=[\d.]+$/,
    )
    expect(response.headers.get('wellhead-version')).toBe('1')
    expect(response.headers.get('wellhead-truncated')).toBeNull()
    const body = (await response.json()) as Rows
    expect(Object.keys(body)).toEqual(['result'])
    expect(body.result).toHaveLength(61)
    expect(Object.keys(body.result[0] as object)).toEqual([
      'timestamp',
      'min_execution_time',
      'max_execution_time',
      'avg_execution_time',
      'p95_execution_time',
      'p99_execution_time',
      'count',
      'error_count',
    ])
    const busy = body.result.filter(({ count }) => count !== 0)
    expect(busy).toEqual([
      {
        timestamp: Date.UTC(2046, 10, 14, 12, 20) * 1000,
        min_execution_time: 12.5,
        max_execution_time: 12.5,
        avg_execution_time: 12.5,
        p95_execution_time: 12.5,
        p99_execution_time: 12.5,
        count: 2,
        error_count: 1,
      },
    ])
    const id = ids['functions.invocation-stats'].toUpperCase()
    expect(await rows(`${id}?interval=1hr&project=abc`)).toEqual(body.result)
    expect(await rows(`${id}?interval=1hr&project=abc&function_id=`)).toEqual(body.result)
  })

  test('logs.all returns the newest entries with their metadata as it was sent', async () => {
    const result = await rows('logs.all?project=abc')
    expect(result.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3'])
    expect(result[0]).toEqual({
      id: 'e1',
      timestamp: (now - 60_000) * 1000,
      event_message: 'GET /rest/v1/auth',
      metadata: {
        request: { url: 'https://abc.example.com/rest/v1/auth', path: '/rest/v1/auth' },
        'dotted.key': { n: 1 },
      },
    })
    expect((await rows('logs.all?project=abc&project_tier=PRO')).map(({ id }) => id)).toContain('old')
    // A plus that arrived as a space is a plus.
    const start = minutesAgo(2.5).replace('Z', '+00:00')
    expect((await rows(`logs.all?project=abc&iso_timestamp_start=${start}`)).map(({ id }) => id)).toEqual([
      'e1',
      'e2',
    ])
  })

  test('usage.api-counts returns buckets as datetimes in UTC', async () => {
    expect(await rows('usage.api-counts?project=abc&interval=hourly')).toEqual([
      {
        timestamp: '2046-11-14T12:00:00',
        total_rest_requests: 1,
        total_storage_requests: 1,
        total_auth_requests: 1,
        total_realtime_requests: 0,
      },
    ])
    const body = JSON.stringify({ project: 'a.c|xyz', interval: 'daily' })
    const response = await query(ids['usage.api-counts'], post(body))
    const { result } = (await response.json()) as Rows
    expect(result.map(({ timestamp, total_rest_requests: rest }) => [timestamp, rest])).toEqual([
      ['2046-11-13T00:00:00', 1],
      ['2046-11-14T00:00:00', 2],
    ])
  })

  const post = (body: string) => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  const missing = (parameter: string) => ({ status: 400, code: 'missing_parameter', parameter })
  const invalid = (parameter: string) => ({ status: 400, code: 'invalid_parameter', parameter })
  const allowed = ['minutely', 'hourly', 'daily']

  test.each<[path: string, problem: object, init?: RequestInit]>([
    [
      'usage.api-counts?project=abc&interval=weekly',
      { ...invalid('interval'), message: 'interval must be one of minutely, hourly, daily.', allowed },
    ],
    ['usage.api-counts?project=abc', missing('interval')],
    ['logs.all', missing('project')],
    ['logs.all?project=a&project=b', invalid('project')],
    ['logs.all?project=a&iso_timestamp_end=tomorrow', invalid('iso_timestamp_end')],
    ['usage.api-counts?interval=daily&project=%28', invalid('project')],
    ['logs.all', { status: 400, code: 'invalid_body' }, post('{"project":')],
    ['logs.all', { status: 400, parameter: 'project' }, post('{"project":["a"]}')],
    // Half of a surrogate pair, in UTF-8 and in JSON.
    ['logs.all?project=%ED%A0%80', { status: 400, code: 'invalid_parameter' }],
    ['logs.all?project=a%FF', { status: 400, code: 'invalid_parameter' }],
    ['logs.all?project=a&x=%C3%28', { status: 400, code: 'invalid_parameter' }],
    ['logs.all', invalid('project'), post('{"project":"\\ud800"}')],
    ['usage.api-counts', invalid('project'), post('{"project":"a\\udfff","interval":"daily"}')],
    ['%ED%A0%80?project=a', { status: 400 }],
    ['logs.all?project=a&_format=xml', { status: 406, code: 'not_acceptable' }],
    ['logs.all?project=a', { status: 406 }, { headers: { Accept: 'text/html' } }],
    ['logs.all?project=a&_version=2', { status: 400, parameter: '_version' }],
    [
      'logs.all?project=a&projct=b&_strict=1',
      { ...invalid('projct'), message: 'Unknown parameter "projct". Did you mean project?' },
    ],
    ['logs.all?projct=b&_strict=1', invalid('projct')],
    ['logs.all', invalid('now'), post('{"project":"a","now":"x","_strict":true}')],
    ['logs.all', invalid('projct'), post('{"project":"a","projct":null,"_strict":true}')],
    ['logs.all?project=a&_fromat=csv&_strict=1', invalid('_fromat')],
    ['logs.all?project=a&_strict=yes', invalid('_strict')],
    ['logs.all?project=a&_timestamps=unix', invalid('_timestamps')],
    ['nothing.here', { status: 404, code: 'endpoint_not_found' }],
    ['logs.all?project=a', { status: 405, allowed: ['GET', 'HEAD', 'POST'] }, { method: 'DELETE' }],
  ])('%s is refused with %o', async (path, expected, init) => {
    expect(await problem(path, init)).toMatchObject(expected)
  })

  test.each(['%EF%BF%BD', '100%', '%EF%BF%BD50%'])('%s is a value like any other', async (project) => {
    expect(await rows(`logs.all?project=${project}`)).toEqual([])
  })

  test('an empty project is the empty string, and undeclared parameters are ignored', async () => {
    expect(await rows('logs.all?project=&other=x&now=y')).toEqual([])
    const [all] = await rows('usage.api-counts?project=&interval=hourly')
    expect(all?.total_rest_requests).toBe(2)
  })

  test('a strict request returns the same rows', async () => {
    const path = 'usage.api-counts?project=abc&interval=hourly'
    expect(await rows(`${path}&_strict=1`)).toEqual(await rows(path))
    expect(await rows(`${path}&_strict=0&other=x`)).toEqual(await rows(path))
  })

  test('_timestamps=iso returns every timestamp with its zone, beside a cached result without', async () => {
    const series = 'functions.invocation-stats?project=abc&interval=15min'
    const [plain] = await rows(series)
    const [iso] = await rows(`${series}&_timestamps=iso`)
    expect(iso).toEqual({ ...plain, timestamp: isoMicros(plain?.timestamp as number) })
    expect(await rows(series)).toContainEqual(plain)
    const counts = 'usage.api-counts?project=abc&interval=hourly&_timestamps=iso'
    expect((await rows(counts))[0]?.timestamp).toBe('2046-11-14T12:00:00Z')
    expect((await (await query(`${counts}&_format=csv`)).text()).split('\n')[1]).toBe(
      '"2046-11-14T12:00:00Z",1,1,1,0',
    )
    const [entry] = await rows('logs.all?project=abc')
    const [isoEntry] = await rows('logs.all?project=abc&_timestamps=iso')
    expect(isoEntry).toEqual({ ...entry, timestamp: isoMicros(entry?.timestamp as number) })
  })

  test('returns every format', async () => {
    const csv = await query('usage.api-counts?project=abc&interval=hourly&_format=csv')
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect((await csv.text()).split('\n').slice(0, 2)).toEqual([
      '"timestamp","total_rest_requests","total_storage_requests","total_auth_requests","total_realtime_requests"',
      '"2046-11-14T12:00:00",1,1,1,0',
    ])
    for (const [accept, type] of [
      ['text/*', 'text/csv; charset=utf-8'],
      ['image/*, text/*;q=0.2', 'text/csv; charset=utf-8'],
      ['text/*;q=0.2, application/*', 'application/json; charset=utf-8'],
    ] as const) {
      const { headers } = await query('logs.all?project=abc', { headers: { Accept: accept } })
      expect([accept, headers.get('content-type')]).toEqual([accept, type])
    }
    expect((await query('logs.all?project=abc', { headers: { Accept: 'image/*' } })).status).toBe(406)
    const ndjson = await query('logs.all?project=abc', {
      headers: { Accept: 'application/x-ndjson;q=0.9, text/html;q=0.1' },
    })
    expect(
      (await ndjson.text())
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual(['e1', 'e2', 'e3'])
    const parquet = Buffer.from(await (await query('logs.all?project=abc&_format=parquet')).arrayBuffer())
    expect([parquet.subarray(0, 4).toString(), parquet.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1'])
    const arrow = await query('usage.api-counts?project=abc&interval=hourly&_format=arrow')
    expect(Buffer.from(await arrow.arrayBuffer()).readUInt32LE(0)).toBe(0xffffffff)
  })

  test('_explain returns the plan and what would be read', async () => {
    const plan = (await (await query('logs.all?project=abc&_explain=1')).json()) as {
      plan: string
      reads: unknown[]
    }
    expect(plan.plan).toContain('edge_logs')
    // Views that are not selected are not read.
    expect(plan.plan).not.toContain('postgres_logs')
  })

  test('concurrent callers get their own rows', async () => {
    const calls = many(200, 12)
    const results = await Promise.all(
      Array.from({ length: calls }, async (_, i) => {
        const project = i % 3 === 0 ? 'xyz' : 'abc'
        const result = await rows(`logs.all?project=${project}&project_tier=PRO`)
        return result.map(({ id }) => id).join() === (project === 'xyz' ? 'foreign' : 'e1,e2,e3,old')
      }),
    )
    expect(results.filter(Boolean)).toHaveLength(calls)
  })

  test('a query stops when its caller disconnects', async () => {
    const caller = new AbortController()
    const runner = openRunner(service.engine, clock, sourceNames)
    const endpoint = await compile('SELECT sum(sipHash64(number)) AS left_alone FROM numbers(1000000000000)')
    const request = {
      endpoint,
      parameters: {},
      format: json,
      caller: 'x',
      project: undefined,
      retentionDays: undefined,
    }
    const call = runner.run(callOf({ ...request, signal: caller.signal }))
    const ended = expect(call).rejects.toMatchObject({ code: 'query_cancelled' })
    const running = async () =>
      (
        await service.engine.query(
          {
            sql: "SELECT count() FROM system.processes WHERE query LIKE '%left_alone%' AND query NOT LIKE '%system.%'",
            format: 'TabSeparatedRaw',
          },
          { deadlineMs: 60_000 },
        )
      ).body
        .toString()
        .trim()
    await vi.waitFor(async () => expect(await running()).toBe('1'))
    caller.abort()
    await ended
    await vi.waitFor(async () => expect(await running()).toBe('0'))
  })

  test('a caller who leaves is not an error in the log', async () => {
    const sql = 'SELECT sum(sipHash64(number)) AS left_early FROM numbers(1000000000000)'
    await service.call('/api/endpoints', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'left.early', query: sql, cache_seconds: 60 }),
    })
    const caller = new AbortController()
    const ended = expect(query('left.early', { signal: caller.signal })).rejects.toThrow()
    const metrics = async () => (await service.call('/metrics')).text()
    await vi.waitFor(async () => expect(await metrics()).toMatch(/^wellhead_queue_running [1-9]/m))
    caller.abort()
    await ended
    await vi.waitFor(() => expect(logged.filter(({ status }) => status === 499)).toHaveLength(1))
    expect(logged.filter(({ level }) => level >= 50)).toEqual([])
  })

  const [json] = outputFormats as [(typeof outputFormats)[number]]
  const sourceNames = new Set(['edge_logs', 'auth_logs'])
  const compile = (sql: string, more: object = {}) =>
    compileEndpoint(
      service.engine,
      definitionShape.parse({ id: ids['logs.all'], name: 'test', query: sql, ...more }),
      1,
      sourceNames,
    )

  test('the statements of a call share its time limit', async () => {
    const limitsMs: number[] = []
    const { engine } = service
    const noting = {
      database: engine.database,
      query: (...[statement, limits]: Parameters<Engine['query']>) => {
        limitsMs.push(limits.deadlineMs)
        return engine.query(statement, limits)
      },
    } as Engine
    const endpoint = await compile('SELECT 1 AS one')
    // A second statement finds out whether there are more rows.
    const format = outputFormats.find(({ name }) => name === 'parquet') as OutputFormat
    const from = { project: undefined, retentionDays: undefined, caller: 'x' }
    const call = callOf({ endpoint, parameters: {}, format, ...from })
    await openRunner(noting, clock, sourceNames).run(call)
    const [first = 0, second = 0] = limitsMs
    expect(limitsMs).toHaveLength(2)
    expect(first).toBeLessThanOrEqual(30_000)
    expect(second).toBeLessThan(first)
  })

  test('max_rows applies whatever the SQL says, rows keep their order and integers stay exact', async () => {
    const runner = openRunner(service.engine, clock, sourceNames)
    const sql = `SELECT toUInt64(9007199254740990 + number) AS n, toDateTime64('2026-01-01 00:00:00.5', 3, 'UTC') AS t3,
        toDateTime('2026-01-01 00:00:00', 'Europe/Berlin') AS d, toDate('2026-01-01') AS day, CAST(NULL, 'Nullable(DateTime64(6))') AS none
      FROM numbers(1000) ORDER BY n -- no limit`
    const endpoint = await compile(sql, { max_rows: 3, timestamps: 'logflare' })
    const run = (format: OutputFormat = json) =>
      runner.run(
        callOf({
          endpoint,
          parameters: {},
          project: undefined,
          retentionDays: undefined,
          format,
          caller: 'x',
        }),
      )
    const result = await run()
    expect(result.truncated).toBe(true)
    const instant = {
      t3: Date.UTC(2026, 0, 1) * 1000 + 500_000,
      d: '2025-12-31T23:00:00',
      day: '2026-01-01',
      none: null,
    }
    expect(JSON.parse(result.body.toString())).toEqual({
      result: [
        { n: 9007199254740990, ...instant },
        { n: 9007199254740991, ...instant },
        { n: '9007199254740992', ...instant },
      ],
    })
    expect((await run(findFormat('parquet'))).truncated).toBe(true)
    const iso = await run(withIsoTimestamps(json))
    expect(JSON.parse(iso.body.toString()).result[0]).toEqual({
      ...{ n: 9007199254740990, t3: '2026-01-01T00:00:00.500Z', d: '2025-12-31T23:00:00Z' },
      ...{ day: '2026-01-01', none: null },
    })
  })

  test.each(hostileQueries)('refuses to save %s', async (sql) => {
    await expect(compile(sql)).rejects.toMatchObject({ code: 'invalid_query', status: 422 })
  })

  test.each([
    'SELECT 1 AS one',
    'WITH a AS (SELECT id FROM edge_logs), b AS (SELECT * FROM a) SELECT * FROM b WHERE id IN (SELECT id FROM auth_logs)',
    // Any name can be that of a subquery.
    'WITH _a AS (SELECT 1 AS x) SELECT x, _a.x AS y, _a.* FROM _a',
    'WITH edge_logs_local AS (SELECT 1 AS x), "a b" AS (SELECT x FROM edge_logs_local) SELECT "a b".x FROM "a b" WHERE x IN edge_logs_local',
    'WITH `ä` AS (SELECT 1 AS x), `a.b` AS (SELECT x FROM `ä` AS `_c`) SELECT * FROM `a.b`, `ä` AS d WHERE in(d.x, `a.b`)',
    'WITH _projects AS (SELECT 1 AS x), _catalog AS (SELECT x FROM _projects) SELECT x FROM _catalog',
    'WITH system AS (SELECT 1 AS x), `system.tables` AS (SELECT 2 AS y) SELECT x, y FROM system, `system.tables`',
    'SELECT _s.x FROM (SELECT 1 AS x) AS _s',
    'SELECT number, @x AS x FROM numbers(10) WHERE number IN (1, 2) AND toString(number) = @x',
  ])('saves %s', async (sql) => {
    expect((await compile(sql)).columns.length).toBeGreaterThan(0)
  })

  endpointWarnings(() => service, now)
  adHocSqlJourneys(() => service, clock)
  formatJourneys(() => service)
  describeMistakes(() => service)

  // Last, because it changes the endpoints and the time.
  shippedWorkspace(() => service, clock)
})
