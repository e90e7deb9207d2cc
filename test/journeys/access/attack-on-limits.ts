import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { ask, type MadeToken } from '../../support/callers.ts'
import { rawRequest } from '../../support/network/raw-request.ts'
import type { RunningService } from '../../support/service.ts'

const entries = '/api/endpoints/query/attack.entries'

export type Declare = (name: string, run: () => Promise<void>) => void

/** Attacks on resources, outgoing requests, configuration, inventory and trust in input. */
export function attackOnLimits(
  running: () => RunningService,
  tenant: () => MadeToken,
  onceEnough: Declare,
): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)

  test('4: requests that would exhaust the service are refused or limited', async () => {
    const endpoint = (fields: object) => admin('POST', '/api/endpoints', { name: 'attack.much', ...fields })
    const query = 'SELECT 1 AS one'
    for (const fields of [{ max_rows: 10_001 }, { timeout_seconds: 3601 }, { cache_seconds: 1e9 }]) {
      expect((await endpoint({ query, ...fields })).status).toBe(400)
    }
    const brackets = `SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)}`
    expect((await endpoint({ query: brackets })).status).toBe(422)
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
    const text = `{"name":"attack.much","query":"${query}","parameters":${deep}}`
    expect((await admin('POST', '/api/endpoints', text)).status).toBe(413)
    expect((await admin('POST', '/api/logs?source=edge_logs', '['.repeat(200_000))).status).toBe(400)
    const nested = `{"metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await admin('POST', '/api/logs?source=edge_logs', nested)).body).toMatchObject({ rejected: 1 })

    const thousand = Array.from({ length: 1000 }, (_, i) => `p${i}=1`)
    expect((await admin('GET', `${entries}?${thousand.join('&')}`)).status).toBe(200)
    const value = 'x'.repeat(64 * 1024 + 1)
    expect((await admin('POST', entries, { id: value })).status).toBe(400)
    const views = 'WITH mine AS (SELECT 1 AS one) SELECT one FROM mine'
    expect((await endpoint({ query: views, sandbox: true })).status).toBe(201)
    const sql = `SELECT '${value}' AS long`
    expect((await admin('POST', '/api/endpoints/query/attack.much', { sql })).status).toBe(422)
    // Linear for the engine; a backtracking engine would never finish.
    const expression = encodeURIComponent('(x+x+)+y')
    const address = `/api/endpoints/query/usage.api-counts?interval=daily&project=${expression}`
    expect((await admin('GET', address)).status).toBe(200)
    const huge = await rawRequest(
      running(),
      `POST ${entries} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${tenant().token}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${2 ** 40}\r\n\r\n{`,
    )
    expect(huge).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('7: SQL cannot make the service send requests', async () => {
    let calls = 0
    const listener = createServer((socket) => {
      calls++
      socket.destroy()
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as { port: number }
    const address = `127.0.0.1:${port}`
    const tables = [
      `url('http://${address}/', CSV, 'a String')`,
      `remote('${address}', system.one)`,
      `remoteSecure('${address}', system.one)`,
      `s3('http://${address}/bucket/key', NOSIGN, 'CSV', 'a String')`,
      `s3Cluster('default', 'http://${address}/b/k', 'CSV')`,
      `mysql('${address}', 'd', 't', 'u', 'p')`,
      `postgresql('${address}', 'd', 't', 'u', 'p')`,
      `mongodb('${address}', 'd', 'c', 'u', 'p', 'a String')`,
      `redis('${address}', 'k', 'k String')`,
      `hdfs('hdfs://${address}/f', 'CSV')`,
      `deltaLake('http://${address}/t')`,
      `iceberg('http://${address}/t')`,
      `file('/etc/passwd', 'LineAsString')`,
      `executable('id', 'TSV', 'a String')`,
    ]
    try {
      for (const table of tables) {
        const query = `SELECT * FROM ${table}`
        const saved = await admin('POST', '/api/endpoints', { name: 'attack.reach', query })
        expect([table, saved.status, saved.body.error?.code]).toEqual([table, 422, 'invalid_query'])
        const sent = await admin('POST', '/api/endpoints/query/attack.much', { sql: query })
        expect([table, sent.status, sent.body.error?.code]).toEqual([table, 422, 'invalid_query'])
      }
      // URLs in entries, parameters and descriptions are only text.
      const text = `http://${address}/`
      await admin('POST', '/api/logs?source=edge_logs', {
        event_message: text,
        metadata: { request: { url: text } },
      })
      await admin('GET', `${entries}?id=${encodeURIComponent(text)}`)
      expect(calls).toBe(0)
    } finally {
      listener.close()
    }
  })

  onceEnough('8: responses reveal no internals, and pages of other origins cannot read them', async () => {
    const origin = { Origin: 'https://evil.example.com' }
    const asked = { ...origin, 'Access-Control-Request-Method': 'GET' }
    const answers = [
      await admin('GET', '/api/status', undefined, origin),
      await ask(running(), undefined, 'OPTIONS', entries, undefined, asked),
      await ask(running(), undefined, 'GET', entries, undefined, origin),
      await admin('GET', '/nowhere', undefined, origin),
      await admin('PATCH', '/api/endpoints/attack.entries', '{', origin),
      await admin('POST', '/api/endpoints', { name: 'x', query: 'SELECT nothing FROM edge_logs' }, origin),
      await admin('GET', '/%zz', undefined, origin),
      await admin('GET', `${entries}?_format=${'x'.repeat(100)}`, undefined, origin),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 404, 400, 422, 400, 406])
    for (const { status, headers, body } of answers) {
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      const names = [...headers.keys()]
      expect(names.filter((name) => /^(server$|x-powered|access-control)/.test(name))).toEqual([])
      if (status >= 400) {
        expect(JSON.stringify(body)).not.toMatch(
          /\bat \w+.*:\d+|node_modules|\.[jt]s\b|FST_|chdb|\/home|\/tmp/,
        )
      }
    }
  })

  onceEnough('9: exactly the documented routes exist', async () => {
    const { body } = await ask(running(), undefined, 'GET', '/openapi.json')
    const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter((key) => /^(get|put|post|patch|delete|head|options|trace)$/.test(key))
        .map((method) => `${method.toUpperCase()} ${path}`),
    )
    const there = running().http.routeList.map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
    )
    expect(described.toSorted()).toEqual(there.toSorted())
    for (const path of [
      ...['/api/v1/endpoints', '/api/v2/endpoints', '/api/endpoints.json', '/api/access-tokens.bak'],
      ...['/admin', '/debug', '/graphql', '/.env', '/.git/config', '/swagger.json', '/v2/logs'],
      ...[
        '/play',
        '/ping',
        '/console/assets/..%2findex.html',
        '/docs/../package.json',
        '/docs/%2e%2e%2fpackage.json',
      ],
    ]) {
      expect([401, 404], path).toContain((await ask(running(), undefined, 'GET', path)).status)
      expect([path, (await admin('GET', path)).status]).toEqual([path, 404])
    }
  })

  test('10: headers and entries of senders and proxies are treated as text', async () => {
    const idOf = async (id: string) =>
      (await admin('GET', '/health', undefined, { 'X-Request-Id': id })).headers.get('x-request-id')
    expect(await idOf('trace-1.2_3')).toBe('trace-1.2_3')
    for (const id of [
      '<script>',
      'a b',
      'x'.repeat(65),
      '"}',
      '{jndi:ldap://x}',
      '%0d%0aSet-Cookie:x',
      'é',
    ]) {
      expect([id, await idOf(id)]).toEqual([id, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    }
    const send = (key: string) => admin('POST', '/api/logs?source=edge_logs', [], { 'Idempotency-Key': key })
    for (const key of ["' OR 1=1 --", '../../etc/passwd', '{}', '\\', 'x'.repeat(256)]) {
      expect([key, (await send(key)).status]).toEqual([key, 200])
    }
    for (const key of ['', 'x'.repeat(257)]) expect((await send(key)).status).toBe(400)
    for (const [name, value, status] of [
      ['traceparent', '00-zz-zz-99', 200],
      ['tracestate', '='.repeat(600), 200],
      ['X-Forwarded-For', '127.0.0.1, <script>', 200],
      ['Cache-Control', 'max-age=-1, no-cache=x, ,=', 200],
      ['If-None-Match', '"*", W/', 200],
      ['If-Modified-Since', 'never', 200],
      ['Range', 'bytes=0-0', 200],
      ['Accept-Encoding', 'gzip;q=x, ***', 200],
      ['Accept', ',;q=,*', 406],
    ] as const) {
      const answer = await admin('GET', `${entries}?id=none`, undefined, { [name]: value })
      expect([name, answer.status]).toEqual([name, status])
    }
    for (const value of ['3', '"x"', '"1", "2"', '"-1"']) {
      const answer = await admin('PATCH', '/api/endpoints/attack.entries', {}, { 'If-Match': value })
      expect([value, answer.status]).toEqual([value, 400])
    }
    const id = `'); DROP TABLE edge_logs; -- {{7*7}} <img src=x onerror=alert(1)>`
    const { token } = tenant()
    const sent = { id, event_message: '\u001b[2J\u0000{"level":60}' }
    expect((await ask(running(), token, 'POST', '/api/logs?source=edge_logs', sent)).body.accepted).toBe(1)
    const found = await ask(running(), token, 'GET', `${entries}?id=${encodeURIComponent(id)}`)
    expect(found.body.result).toEqual([sent])
    expect(found.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })
}
