import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { rawRequest } from '../../support/network/raw-request.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { conversation, statusesOf } from '../caching/conversation.ts'
import { problemsWithTypes } from './generated-types.ts'
import { oracleJourneys } from './oracle.ts'
import { responseChecker } from './response-check.ts'
import { statisticsJourneys } from './statistics.ts'

const origin = 'https://app.example.com'
/** A column of every type, with extreme values. */
const kinds = `SELECT
  toDateTime64('2026-01-31 12:00:00.123456', 6, 'UTC') AS micros, toDateTime64('2026-01-31 12:00:00', 3, 'UTC') AS millis,
  toDateTime('2026-01-31 12:00:00', 'UTC') AS moment, toDate('2026-01-31') AS day, toUInt64(7) AS small,
  toUInt64(18446744073709551615) AS large, toInt64(-9223372036854775808) AS low, toInt128(5) AS wide, toUInt8(1) AS tiny,
  nan AS nothing, 1.5 AS share, toDecimal64(1.25, 2) AS price, true AS yes, generateUUIDv4() AS uuid, CAST(NULL, 'Nullable(String)') AS missing,
  CAST(NULL, 'Nullable(UInt64)') AS missing_number, toLowCardinality('a') AS low_cardinality, CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = 2)') AS choice,
  [toUInt64(1), 18446744073709551615] AS list, [toDateTime64(0, 6, 'UTC')] AS moments, map('k', 1) AS map,
  (1, 'x') AS pair, CAST((1, 'x'), 'Tuple(a UInt8, b String)') AS named, '{"a":{"b":[1,"x"]}}'::JSON AS json, toIPv4('127.0.0.1') AS ip`

let service: RunningService
beforeAll(async () => {
  service = await openService({ environment: { WELLHEAD_CORS_ORIGINS: origin, WELLHEAD_STATISTICS: 'on' } })
})
afterAll(() => service?.close())

const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(service, service.adminToken.token, method, path, body, headers)
const documentFor = async (token?: string) => (await ask(service, token, 'GET', '/openapi.json')).body

describe('the OpenAPI document', () => {
  test('describes every route', async () => {
    const { paths } = await documentFor()
    const described = Object.entries(paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const routes = service.http.routeList.map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
    )
    expect(described.toSorted()).toEqual(routes.toSorted())
  })

  test('has the endpoints that the token can call', async () => {
    const saved = (document: { paths: object }) =>
      Object.keys(document.paths)
        .filter((path) => /query\/[^{]/.test(path))
        .map((path) => path.replace('/api/endpoints/query/', ''))
    const all = [
      'functions.invocation-stats',
      'logs.all',
      'usage.api-counts',
      'wellhead.endpoint-stats',
      'wellhead.top-callers',
    ]
    const anonymous = await documentFor()
    expect(saved(anonymous)).toEqual([])
    expect(Object.keys(anonymous.paths)).toContain('/api/access-tokens')
    expect(saved(await documentFor(service.adminToken.token))).toEqual(all)
    const { token } = await makeToken(service, {
      scopes: ['query:logs.all', 'ingest'],
      project: 'demo',
      parameters: { project_tier: 'PRO' },
    })
    const narrow = await documentFor(token)
    expect(saved(narrow)).toEqual(['logs.all'])
    const { parameters } = narrow.paths['/api/endpoints/query/logs.all'].get
    expect(
      parameters.filter((one: { in: string }) => one.in === 'query').map((one: { name: string }) => one.name),
    ).toEqual([
      'iso_timestamp_start',
      'iso_timestamp_end',
      '_format',
      '_version',
      '_strict',
      '_timestamps',
      '_raw',
    ])
    // A customer sees nothing that the token cannot call.
    expect(Object.keys(narrow.paths)).toEqual(expect.arrayContaining(['/api/logs', '/api/whoami']))
    expect(
      Object.keys(narrow.paths).filter((path) => /tokens$|sources|deploy|backup|alerts|sql/.test(path)),
    ).toEqual([])
    expect(Object.keys(narrow.components.schemas).filter((name) => /alert|deploy/i.test(name))).toEqual([])
    expect(Object.keys(narrow.components.schemas)).toContain('row.logs.all')
    const { valid } = await new Validator().validate(narrow)
    expect(valid).toBe(true)
    const sender = await makeToken(service, { scopes: ['ingest'] })
    expect(saved(await documentFor(sender.token))).toEqual([])
    const refused = await ask(service, 'wh_wrong', 'GET', '/openapi.json')
    expect(refused.status).toBe(401)
  })

  test('is valid', async () => {
    const { valid, errors } = await new Validator().validate(await documentFor(service.adminToken.token))
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  test('matches the responses, for columns of every type and for management', async () => {
    await admin('POST', '/api/endpoints', { name: 'kinds', query: kinds })
    const check = responseChecker(service, await documentFor(service.adminToken.token))
    const paths = '/api/endpoints/query'
    await check({ method: 'GET', path: `${paths}/kinds` }, 200)
    for (const [name, query] of [
      ['functions.invocation-stats', 'project=demo&interval=15min'],
      ['usage.api-counts', 'project=demo&interval=daily'],
      ['logs.all', 'project=demo'],
    ]) {
      await check({ method: 'GET', path: `${paths}/${name}`, address: `${paths}/${name}?${query}` }, 200)
    }
    await check({ method: 'GET', path: `${paths}/logs.all` }, 400)
    await check({ method: 'GET', path: `${paths}/kinds`, token: 'wh_wrong' }, 401)
    const explain = { path: `${paths}/{reference}`, address: `${paths}/kinds?_explain` }
    await check({ method: 'GET', ...explain }, 200)

    const endpoint = { path: '/api/endpoints/{reference}', address: '/api/endpoints/kinds' }
    await check({ method: 'GET', path: '/api/endpoints' }, 200)
    await check(
      { method: 'PATCH', ...endpoint, body: { description: 'x', parameters: { p: { example: 1 } } } },
      200,
    )
    const versions = { path: '/api/endpoints/{reference}/versions', address: '/api/endpoints/kinds/versions' }
    await check({ method: 'GET', ...versions }, 200)
    const pathList = { path: '/api/endpoints/{reference}/paths', address: '/api/endpoints/kinds/paths' }
    await check({ method: 'GET', ...pathList }, 200)
    await check({ method: 'PATCH', ...endpoint, body: { query: 'SELECT 1 AS one' } }, 409)
    const replay = {
      method: 'POST',
      path: '/api/endpoints/{reference}/replay',
      address: '/api/endpoints/usage.api-counts/replay',
    }
    const changed = { query: 'SELECT @project AS project, 1 AS n' }
    for (const show_values of [false, true]) {
      const { body } = await check({ ...replay, body: { endpoint: changed, show_values } }, 200)
      expect(body.requests).toHaveLength(1)
    }
    await check({ ...replay, body: { endpoint: { query: 'SELECT nothing' } } }, 422)
    await check({ method: 'POST', path: '/api/endpoints', body: { name: 'kinds', query: 'SELECT 1' } }, 409)
    await check(
      { method: 'POST', path: '/api/endpoints', body: { name: 'bad', query: 'SELECT nothing' } },
      422,
    )
    await check({ method: 'DELETE', ...endpoint }, 204)
    await check({ method: 'GET', ...endpoint }, 404)

    const deployment = (query: string, more = {}) => ({
      method: 'POST',
      path: '/api/deployments',
      body: { endpoints: [{ name: 'deployed', query, expected_version: 0, ...more }] },
    })
    await check(deployment('SELECT 1 AS one'), 200)
    await check(deployment('SELECT 1 AS one'), 412)
    await check(deployment('SELECT nothing', { expected_version: 1 }), 422)
    await check(deployment('SELECT 1 AS two', { expected_version: 1 }), 409)
    await check({ method: 'DELETE', ...endpoint, address: '/api/endpoints/deployed' }, 204)

    const tokens = '/api/access-tokens'
    const made = await check({ method: 'POST', path: tokens, body: { scopes: ['query'] } }, 201)
    const one = { path: `${tokens}/{id}`, address: `${tokens}/${made.body.id}` }
    await check({ method: 'PATCH', ...one, body: { description: 'x' } }, 200)
    const rotate = { path: `${tokens}/{id}/rotate`, address: `${tokens}/${made.body.id}/rotate` }
    await check({ method: 'POST', ...rotate, body: {} }, 200)
    await check({ method: 'GET', path: tokens }, 200)

    const logs = { path: '/api/logs', address: '/api/logs?source=edge_logs' }
    await check({ method: 'POST', ...logs, body: [{ message: 'x', metadata: { a: 1 } }, 7] }, 200)
    await check({ method: 'GET', path: '/api/sources' }, 200)
    const source = '/api/sources/{name}'
    await check({ method: 'GET', path: `${source}/recent`, address: '/api/sources/edge_logs/recent' }, 200)
    await check({ method: 'GET', path: `${source}/schema`, address: '/api/sources/edge_logs/schema' }, 200)
    for (const path of ['/health', '/ready', '/api/status']) await check({ method: 'GET', path }, 200)

    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const mcp = { method: 'POST', path: '/mcp' }
    for (const body of [list, [list, { ...list, id: 'two' }]]) await check({ ...mcp, body }, 200)
    for (const body of ['{', {}, { ...list, id: null }]) {
      expect((await check({ ...mcp, body }, 400)).body).toMatchObject({ id: null })
    }
    for (const [path, address] of [
      ['/console/{page}', '/console/nothing'],
      ['/console/{page}/{name}', '/console/nothing/logs.all'],
    ] as const) {
      const { headers } = await check({ method: 'GET', path, address }, 404)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    }
  })

  test('gives openapi-typescript the types of columns and parameters', async () => {
    const document = await documentFor(service.adminToken.token)
    const problems = problemsWithTypes(
      document,
      `import createClient from 'openapi-fetch'
      import type { components, paths } from './api'
      type Call = paths['/api/endpoints/query/usage.api-counts']['get']
      type Answer = Call['responses'][200]['content']['application/json']
      type Sent = Call['parameters']['query']
      type Schemas = components['schemas']
      export const counts = ({ result }: Answer): (number | string)[] => result.map((row) => row.total_rest_requests)
      export const times = ({ result }: Answer): string[] => result.map((row) => row.timestamp)
      export const sent: Sent = { project: 'demo', interval: 'daily', _format: 'json' }
      export const fields: Schemas['EndpointFields'] = { name: 'a', query: 'SELECT 1' }
      export const code = ({ error }: Schemas['Error']): string => error.code
      export const fraction = (row: Schemas['row.functions.invocation-stats']): number | null => row.avg_execution_time

      const client = createClient<paths, 'application/json'>({ headers: { 'X-API-KEY': 'wh_' } })
      const counting = '/api/endpoints/query/usage.api-counts'
      export async function rest(): Promise<(number | string)[]> {
        const { data, error } = await client.GET(counting, { params: { query: { project: 'demo', interval: 'daily' } } })
        if (error) throw new Error(error.error.message)
        return data.result.map((row) => row.total_rest_requests)
      }
      export async function file(): Promise<Blob | undefined> {
        const any = createClient<paths>()
        const query = { project: 'demo', interval: 'daily', _format: 'parquet' } as const
        const { data } = await any.GET(counting, { params: { query }, parseAs: 'blob' })
        return data
      }
      export async function anyFormat(): Promise<Answer | string | undefined> {
        const { data } = await createClient<paths>().GET(counting, { params: { query: { project: 'demo', interval: 'daily' } } })
        return data
      }
      export const replace = (id: string) =>
        client.PATCH('/api/endpoints/{reference}', {
          params: { path: { reference: id }, query: { breaking: true } },
          body: { query: 'SELECT 1' },
        })
      type Headers = Call['responses'][200]['headers']
      export const cached = (headers: Headers): [string | undefined, number | undefined] => [headers['ETag'], headers['Age']]

      export const noRow = async () =>
        (await client.GET(counting, { params: { query: { project: 'demo', interval: 'daily' } } })).data?.result[0]?.total
      export const noHeader = (headers: Headers) => headers['Wellhead-Nothing'].length
      export const noColumn = ({ result }: Answer) => result.map((row) => row.total_rest_request)
      export const noValue: Sent = { project: 'demo', interval: 'weekly' }
      export const noProject: Sent = { interval: 'daily' }
      export const noField: Schemas['EndpointChange'] = { max_row: 1 }
    `,
    )
    expect(problems).toEqual([
      expect.stringContaining("'total'"),
      expect.stringContaining("is of type 'unknown'"),
      expect.stringContaining("'total_rest_request'"),
      expect.stringContaining('"weekly"'),
      expect.stringContaining("'project'"),
      expect.stringContaining("'max_row'"),
    ])
  })
})

describe('the document', () => {
  test('has a tag and compressed forms, and shows changes at once', async () => {
    const path = '/openapi.json'
    const get = (headers: Record<string, string>) => ask(service, undefined, 'GET', path, undefined, headers)
    const plain = await get({ 'Accept-Encoding': 'identity' })
    expect(plain.headers.get('vary')).toBe('Accept-Encoding, X-API-KEY, Authorization, Cookie, Origin')
    const tags = new Set([plain.headers.get('etag')])
    for (const coding of ['gzip', 'br']) {
      const compressed = await get({ 'Accept-Encoding': coding })
      expect(compressed.headers.get('content-encoding')).toBe(coding)
      expect(compressed.body).toEqual(plain.body)
      const etag = compressed.headers.get('etag') ?? ''
      tags.add(etag)
      const unchanged = await get({ 'Accept-Encoding': coding, 'If-None-Match': etag })
      expect([unchanged.status, unchanged.headers.get('etag'), unchanged.body]).toEqual([304, etag, ''])
    }
    expect(tags.size).toBe(3)
    const before = (await admin('GET', path)).headers.get('etag')
    expect((await admin('GET', path)).headers.get('etag')).toBe(before)
    const name = 'new.described'
    await admin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one', description: 'First.' })
    const created = await admin('GET', path, undefined, { 'If-None-Match': before ?? '' })
    expect(JSON.stringify([created.status, created.body])).toMatch(new RegExp(`^\\[200,.*${name}.*First`))
    await admin('PATCH', `/api/endpoints/${name}`, { description: 'Second.' })
    expect(JSON.stringify((await admin('GET', path)).body)).toContain('Second.')
    await admin('DELETE', `/api/endpoints/${name}`)
    expect((await admin('GET', path)).headers.get('etag')).toBe(before)
  })
})

describe('hardening', () => {
  test('every response has security headers, also errors', async () => {
    for (const [method, path, status] of [
      ['GET', '/health', 200],
      ['GET', '/api/endpoints', 200],
      ['GET', '/api/nothing', 404],
      ['PUT', '/api/status', 405],
      ['GET', '/%zz', 400],
    ] as const) {
      const { headers, status: answered } = await admin(method, path)
      expect([path, answered]).toEqual([path, status])
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('server')).toBeNull()
      expect(headers.get('x-powered-by')).toBeNull()
    }
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nno colon\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('X-Content-Type-Options: nosniff')
  })

  test('refuses two Host headers, and a wrong token before the client sends the body', async () => {
    const call = 'GET /api/endpoints/query/kinds HTTP/1.1'
    const key = `X-API-KEY: ${service.adminToken.token}`
    for (const path of [call, 'GET /health HTTP/1.1']) {
      const twice = [path, 'Host: a', key, 'host: a', 'Connection: close', '', '']
      const answer = await rawRequest(service, twice.join('\r\n'))
      expect(answer).toMatch(/^HTTP\/1.1 400 .*exactly one Host header/s)
    }
    const body = JSON.stringify({ event_message: 'late' })
    const post = (token: string) =>
      conversation(service.url, [
        [
          'POST /api/logs?source=edge_logs HTTP/1.1',
          'Host: a',
          `X-API-KEY: ${token}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          'Expect: 100-continue',
          ...(token === service.adminToken.token ? ['Connection: close'] : []),
          '',
          '',
        ].join('\r\n'),
        body,
      ])
    expect(statusesOf(await post(service.adminToken.token))).toEqual([100, 200])
    const refused = await post('wh_wrong')
    expect(statusesOf(refused)).toEqual([401])
    expect(refused).toContain('Connection: close')
  })

  test('management takes JSON only', async () => {
    const body = JSON.stringify({ name: 'sneaked', query: 'SELECT 1' })
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
    ]
    for (const type of [...types, 'application/json-patch+json', '']) {
      for (const [method, path] of [
        ['POST', '/api/endpoints'],
        ['PUT', '/api/endpoints/logs.all'],
        ['PATCH', '/api/endpoints/logs.all'],
        ['POST', '/api/access-tokens'],
      ] as const) {
        const refused = await admin(method, path, body, { 'Content-Type': type })
        expect([type, method, refused.status, refused.body.error?.code]).toEqual([
          type,
          method,
          415,
          'unsupported_media_type',
        ])
      }
    }
    expect((await admin('GET', '/api/endpoints/sneaked')).status).toBe(404)
  })

  test('a method cannot be overridden', async () => {
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const answer = await admin('GET', '/api/endpoints/logs.all?_method=DELETE', undefined, {
        [header]: 'DELETE',
      })
      expect(answer).toMatchObject({ status: 200, body: { name: 'logs.all' } })
    }
  })

  test('allows pages of the configured origin, also preflight requests without a token', async () => {
    const path = '/api/endpoints/query/logs.all?project=demo'
    const asking = { Origin: origin, 'Access-Control-Request-Method': 'GET' }
    const asked = await ask(service, undefined, 'OPTIONS', path, undefined, asking)
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, origin])
    const called = await admin('GET', path, undefined, { Origin: origin })
    expect([called.status, called.headers.get('access-control-allow-origin')]).toEqual([200, origin])
    expect(called.headers.get('vary')).toMatch(/Accept.*, Origin$/)
    const other = { ...asking, Origin: 'https://evil.example.com' }
    const refused = await ask(service, undefined, 'OPTIONS', path, undefined, other)
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, null])
  })
})

// Last, because they add endpoints.
statisticsJourneys(() => service)
oracleJourneys(() => service)
