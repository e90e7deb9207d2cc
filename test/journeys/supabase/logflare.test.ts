import { isUtf8 } from 'node:buffer'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeToken } from '../../support/callers.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { sharedBrowser } from '../console/stage/browser.ts'
import { bombs } from './bombs.ts'
import { exactShapes, inexact } from './exact-shapes.ts'
import { gatewayTokens } from './gateway-tokens.ts'
import { otelShapes } from './otel-shapes.ts'
import { playgroundJourney } from './playground.ts'
import { refused, shapes } from './shapes.ts'
import { vectorSinks } from './vector.ts'

const publicToken = 'for all "ü€"'
const tokens = { LOGFLARE_PUBLIC_ACCESS_TOKEN: publicToken, LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' }
/** The start of a minute, so that the entries are in two of them, which are in the same hour. */
const minuteMs = Math.floor((Date.now() - 1_800_000) / 60_000) * 60_000
const startMs = (minuteMs + 60_000) % 3_600_000 === 0 ? minuteMs - 60_000 : minuteMs
const window = { iso_timestamp_start: new Date(startMs - 60_000).toISOString(), iso_timestamp_end: '' }

const browser = sharedBrowser()
let service: RunningService

beforeAll(async () => {
  service = await openService({ environment: tokens })
  // Names of views, of columns that Studio selects, and of aliases in its queries.
  for (const name of ['logs', 'path', 'count', 'timestamp', 'level', 'source', 'query']) {
    const body = JSON.stringify({ name })
    const created = await service.call('/api/sources', { ...json, method: 'POST', body })
    expect(created.status).toBe(201)
  }
  // As Vector does: the first request follows the health check.
  expect((await fetch(`${service.url}/health`)).status).toBe(200)
  for (const { source, events } of vectorSinks(startMs)) {
    const response = await send(`/api/logs?source_name=${source}`, publicToken, events)
    expect(await response.json()).toMatchObject({ accepted: events.length, rejected: 0 })
  }
  const other = [{ id: 'other', project: 'other', event_message: 'of another project', timestamp: startMs }]
  await send('/api/logs?source_name=cloudflare.logs.prod', publicToken, other)
})

afterAll(() => service?.close())

const json = { headers: { 'content-type': 'application/json' } }

/** The bytes of a text, as fetch takes them. */
const header = (text: string) => Buffer.from(text).toString('latin1')

function send(path: string, token: string, body: unknown): Promise<Response> {
  return fetch(service.url + path, {
    method: 'POST',
    headers: { 'x-api-key': header(token), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function get(path: string, token = 'private'): Promise<Response> {
  return fetch(service.url + path, { headers: { 'x-api-key': header(token) } })
}

interface Result {
  result?: Record<string, unknown>[]
  error?: string
}

async function query(name: string, parameters: Record<string, string>): Promise<Result> {
  const search = new URLSearchParams({ project: 'default', ...parameters })
  const response = await get(`/logflare/api/endpoints/query/${name}?${search}`)
  expect(response.status).toBe(200)
  return (await response.json()) as Result
}

const bigQuery = (sql: string) => query('logs.all', { ...window, sql })

describe('BigQuery SQL', () => {
  test.concurrent.each([...shapes(startMs), ...exactShapes(startMs)])('$name', async ({ sql, rows }) => {
    const answer = await bigQuery(sql)
    expect(answer).toEqual({ result: rows })
    // Studio builds its table from the keys of the first row.
    expect(answer.result?.map(Object.keys)).toEqual(rows.map(Object.keys))
  })

  test.concurrent.each([...refused, ...inexact])('refuses %s', async (sql, message) => {
    const { error, ...others } = await bigQuery(sql)
    expect(error).toMatch(message)
    expect(others).toEqual({})
  })
})

test('arrays, and a request whose headers are null', async () => {
  const metadata = {
    tags: ['a', "b's"],
    one: 's',
    deep: [[1, 2], [3]],
    list: [{ k: [1] }, { k: 'x' }],
    text: '[x',
    none: [],
    outer: { inner: { x: 5 } },
    request: { method: 'GET', headers: null },
  }
  await send('/api/logs?source_name=cloudflare.logs.prod', publicToken, [
    { id: 'l1', project: 'lists', event_message: 'x', timestamp: startMs, metadata },
  ])
  const sql = `select m.tags[offset(0)] as a, m.tags[safe_offset(0)] as b, m.tags[ordinal(1)] as c, m.tags[1] as d, m.one[offset(0)] as e,
m.deep[offset(0)][offset(1)] as f, m.list[offset(0)] as g, m.list[0].k as h, m.none[safe_offset(0)] as i, m.request[0] as j, m.outer.x as k
from edge_logs cross join unnest(metadata) as m where m.tags[offset(0)] = 'a' and m.tags[0] in unnest(['z', 'a']) and m.one[0] not in unnest(array['a'])`
  const row = { a: 'a', b: 'a', c: 'a', d: "b's", e: 's', f: 2, g: [{ k: [1] }], h: [1], i: null }
  const j = [{ method: 'GET', headers: null }]
  expect(await query('logs.all', { project: 'lists', sql })).toEqual({ result: [{ ...row, j, k: null }] })
  const search = new URLSearchParams({ project: 'lists', sql: 'select metadata from edge_logs' })
  const whole = await get(`/logflare/api/endpoints/query/logs.all?${search}`)
  expect(await whole.text()).toContain('"request":[{"headers":[{}],"method":"GET"}]')
  const otel = await query('logs', { project: 'lists', sql: 'select log_attributes from logs' })
  const { tags, deep, list, none } = metadata
  const texts = Object.entries({ tags, deep, list, none }).map(([key, value]) => [key, JSON.stringify(value)])
  expect(otel.result?.[0]?.log_attributes).toMatchObject({
    ...Object.fromEntries(texts),
    one: 's',
    text: '[x',
  })
})

describe('ClickHouse SQL', () => {
  test('gets text as UTF-8, also where it is cut inside of a character', async () => {
    const sql = "select left('naïve', 3) as cut, [unhex('C3')] as list from logs limit 1"
    const search = new URLSearchParams({ project: 'default', ...window, sql })
    for (const name of ['logs.all.otel', 'logs']) {
      const response = await get(`/logflare/api/endpoints/query/${name}?${search}`)
      const bytes = Buffer.from(await response.arrayBuffer())
      expect([name, isUtf8(bytes), bytes.toString()]).toEqual([
        ...[name, true, expect.stringContaining('{"cut":"na\ufffd","list":["\ufffd"]}')],
      ])
    }
  })

  test.each(otelShapes(startMs))('$name', async ({ sql, rows }) => {
    expect(await query('logs.all.otel', { ...window, sql })).toEqual({ result: rows })
  })

  test('has the name of the public API, too, and says what is wrong with SQL', async () => {
    const sql = "select count() as count from logs where source = 'edge_logs'"
    expect(await query('logs', { ...window, sql })).toEqual({ result: [{ count: 4 }] })
    expect((await query('logs', { ...window, sql: 'select * from edge_logs' })).error).toMatch(
      /"edge_logs" cannot be read here/,
    )
  })
})

describe('named endpoints', () => {
  const minute = (seconds: number) => (startMs + seconds * 1000) * 1000

  test('usage.api-counts counts requests by area and interval', async () => {
    const day = await query('usage.api-counts', { interval: '1day' })
    const total = {
      total_auth_requests: 1,
      total_storage_requests: 1,
      total_rest_requests: 1,
      total_realtime_requests: 0,
    }
    const sums = (day.result ?? []).map(({ timestamp, ...counts }) => counts as typeof total)
    const names = Object.keys(total) as (keyof typeof total)[]
    expect(names.map((name) => sums.reduce((sum, row) => sum + row[name], 0))).toEqual(Object.values(total))
    const hour = await query('usage.api-counts', { interval: '1hr' })
    const text = (seconds: number) => new Date(startMs + seconds * 1000).toISOString().slice(0, 19)
    expect(hour.result?.map(({ timestamp }) => timestamp)).toEqual([text(0), text(60)])
    expect((await query('usage.api-counts', { interval: '2min' })).error).toMatch(
      /interval must be one of 15min, 30min/,
    )
  })

  test('service-health counts entries of each service by severity', async () => {
    const { result } = await query('service-health', { ...window, granularity: 'minute' })
    const none = { ok: 0, warning: 0, error: 0, total: 0 }
    const one = { ...none, ok: 1, total: 1 }
    expect(result).toEqual([
      {
        timestamp: minute(0),
        postgres_logs: { ok: 1, warning: 1, error: 1, total: 3 },
        auth_logs: { ok: 1, warning: 1, error: 1, total: 3 },
        function_edge_logs: one,
        storage_logs: one,
        realtime_logs: one,
        postgrest_logs: { ...none, ok: 2, total: 2 },
        edge_logs: { ok: 1, warning: 1, error: 0, total: 2 },
        supavisor_logs: none,
        function_logs: none,
        etl_replication_logs: none,
      },
      expect.objectContaining({
        timestamp: minute(60),
        edge_logs: { ok: 1, warning: 0, error: 1, total: 2 },
        auth_logs: none,
      }),
    ])
  })

  test('auth.metrics compares two days', async () => {
    const figures = {
      active_users: 1,
      sign_up_count: 0,
      password_reset_requests: 0,
      api_total_requests: 1,
      api_error_requests: 1,
      auth_total_requests: 2,
      auth_total_errors: 2,
    }
    const zeros = Object.fromEntries(Object.keys(figures).map((name) => [name, 0]))
    expect(await query('auth.metrics', { interval: '1day' })).toEqual({
      result: [
        { period: 'current', ...figures },
        { period: 'previous', ...zeros },
      ],
    })
  })

  test('functions.combined-stats joins invocations and logs', async () => {
    const entry = { project: 'default', timestamp: startMs, metadata: { function_id: 'fn' } }
    const { metadata } = entry
    await send('/api/logs?source=function_edge_logs', 'private', [
      {
        ...entry,
        project: 'functions',
        metadata: { ...metadata, execution_time_ms: 10, response: { status_code: 200 } },
      },
      {
        ...entry,
        project: 'functions',
        metadata: { ...metadata, execution_time_ms: 30, response: { status_code: 503 } },
      },
    ])
    await send('/api/logs?source=function_logs', 'private', [
      {
        ...entry,
        project: 'functions',
        metadata: { ...metadata, level: 'error', cpu_time_used: 4, memory_used: { heap: 8, total: 9 } },
      },
    ])
    const { result } = await query('functions.combined-stats', {
      project: 'functions',
      function_id: 'fn',
      interval: '1hr',
    })
    expect(result).toEqual([
      expect.objectContaining({
        timestamp: minute(0),
        requests_count: 2,
        log_count: 1,
        log_error_count: 1,
        success_count: 1,
        server_err_count: 1,
        avg_execution_time: 20,
        max_execution_time: 30,
        avg_cpu_time_used: 4,
        avg_memory_used: 9,
        avg_heap_memory_used: 8,
        avg_external_memory_used: null,
      }),
    ])
  })
})

describe('window and project', () => {
  const ids = async (
    parameters: Record<string, string>,
    sql = 'select id from edge_logs order by timestamp, id',
  ) => (await query('logs.all', { ...window, sql, ...parameters })).result?.map(({ id }) => id)
  const iso = (seconds: number) => new Date(startMs + seconds * 1000).toISOString()

  test('the start is exclusive and the end inclusive', async () => {
    expect(await ids({ iso_timestamp_start: iso(0) })).toEqual(['e3', 'e4'])
    expect(await ids({ iso_timestamp_end: iso(61) })).toEqual(['e1', 'e2', 'e3'])
    expect(await ids({ iso_timestamp_start: '' })).toEqual(['e1', 'e2', 'e3', 'e4'])
  })

  test('a date alone is its first instant', async () => {
    const day = (days: number) => new Date(startMs + days * 86_400_000).toISOString().slice(0, 10)
    expect(await ids({ iso_timestamp_start: day(0), iso_timestamp_end: day(1) })).toHaveLength(4)
    expect(await ids({ iso_timestamp_start: day(1) })).toEqual([])
    expect(await ids({ iso_timestamp_start: '', iso_timestamp_end: day(0) })).toEqual([])
    const { error } = await query('logs.all', { iso_timestamp_start: '2026-02-30', sql: 'select 1 as n' })
    expect(error).toMatch(/iso_timestamp_start must be an ISO 8601 date/)
  })

  test('SQL sees no rows of other projects', async () => {
    expect(await ids({ project: 'other' })).toEqual(['other'])
    const tricks = [
      "select id from edge_logs where identifier = 'other' or true",
      "select e.id from edge_logs e cross join edge_logs f where f.identifier != 'default'",
      "with edge_logs as (select id from edge_logs) select id from edge_logs where id = 'other'",
    ]
    for (const sql of tricks) expect(await ids({}, sql)).not.toContain('other')
    const otel = await query('logs', {
      sql: "select id from logs where id = 'other' or log_attributes['project'] = 'other'",
    })
    expect(otel).toEqual({ result: [] })
  })

  test('a project is required', async () => {
    expect(await query('logs.all', { project: '', sql: 'select 1' })).toEqual({
      error: 'Parameter "project" is required.',
    })
    expect(await query('logs.all', {})).toEqual({ error: 'Parameter "sql" is required.' })
    expect((await query('logs.al', {})).error).toMatch(/Did you mean "?logs.all/)
  })
})

describe('the gateway', () => {
  test('accepts SQL of more than 16 KB in the URL', async () => {
    const condition = Array.from({ length: 900 }, (_, index) => `'id-${index}-ü'`).join(', ')
    const sql = `select id from edge_logs where id in (${condition}, 'e1')`
    expect(encodeURIComponent(sql).length).toBeGreaterThan(16 * 1024)
    expect(await bigQuery(sql)).toEqual({ result: [{ id: 'e1' }] })
  })

  test.each(bombs)('refuses %s', async (_, sql, message) => {
    const response = await send('/logflare/api/endpoints/query/logs.all', 'private', {
      project: 'default',
      sql,
    })
    expect([response.status, await response.json()]).toEqual([200, { error: expect.stringMatching(message) }])
  })

  test('reads SQL when it is the turn of the caller', async () => {
    const query = 'SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)'
    const endless = { method: 'POST', body: JSON.stringify({ name: 'endless', query }) }
    const headers = { 'Content-Type': 'application/json' }
    expect((await service.call('/api/endpoints', { ...endless, headers })).status).toBe(201)
    const queued = (what: string, count: number) =>
      vi.waitFor(async () => {
        const metrics = await (await service.call('/metrics')).text()
        expect(metrics).toContain(`wellhead_queue_${what} ${count}\n`)
      })
    const slow = new AbortController()
    // A caller runs at most half of all, so two callers are needed.
    const { token: other } = await makeToken(service, { scopes: ['query'] })
    const running = Array.from({ length: availableParallelism() * 2 }, (_, index) =>
      service
        .call('/api/endpoints/query/endless', {
          signal: slow.signal,
          ...(index % 2 === 0 && { headers: { 'X-API-KEY': other } }),
        })
        .catch(() => undefined),
    )
    await queued('running', running.length)
    const refused = bigQuery('select nonsense from nowhere')
    await queued('waiting', 1)
    slow.abort()
    expect(await refused).toEqual({ error: expect.stringContaining('nowhere') })
    await Promise.all(running)
  })

  test('answers a body that cannot be read with 200 and a sentence', async () => {
    const url = `${service.url}/logflare/api/endpoints/query/logs.all`
    const post = async (token: string, type = 'application/json', body = '{"sql":') => {
      const headers = { authorization: `Bearer ${header(token)}`, 'content-type': type }
      const response = await fetch(url, { method: 'POST', headers, body })
      return [response.status, ((await response.json()) as Result).error]
    }
    expect(await post('private')).toEqual([200, 'The body is not valid JSON.'])
    expect(await post('private', 'text/html')).toEqual([
      200,
      expect.stringMatching(/content type is not supported/),
    ])
    const large = 'x'.repeat(40 * 2 ** 20)
    expect(await post('private', 'application/json', large)).toEqual([
      200,
      expect.stringMatching(/larger than/),
    ])
    expect(await post(publicToken)).toEqual([403, expect.anything()])
    expect(await post(`${publicToken} `.repeat(2))).toEqual([401, expect.anything()])
  })

  gatewayTokens({ service: () => service, get, send, publicToken, window })

  test('answers health checks with GET and HEAD', async () => {
    for (const path of ['/health', '/logflare/health']) {
      for (const method of ['GET', 'HEAD'])
        expect((await fetch(service.url + path, { method })).status).toBe(200)
    }
  })

  test('lists no log drains, and fails as soon as Studio reads a response to a new one', async () => {
    const bearer = { authorization: 'Bearer private', 'content-type': 'application/json' }
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`${service.url}/api${path}`, { ...init, headers: bearer })
    expect(await (await call('/backends?metadata%5Btype%5D=log-drain')).json()).toEqual([])
    expect(await (await call('/rules')).json()).toEqual([])
    const sources = (await (await call('/sources')).json()) as { id: number; name: string }[]
    expect(sources.map(({ name }) => name)).toContain('cloudflare.logs.prod')
    for (const [method, path] of [
      ['POST', '/backends'],
      ['PUT', '/backends/x'],
      ['POST', '/rules'],
    ] as const) {
      const refused = await call(path, { method, body: '{"name":"x"}' })
      expect([refused.status, await refused.clone().text()]).toEqual([
        422,
        expect.stringMatching(/^Log drains are not supported here/),
      ])
      await expect(refused.json()).rejects.toThrow(SyntaxError)
    }
  })
})

playgroundJourney(() => service, browser)
