import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Finding } from '../../../src/cli/kit/finding.ts'
import { ask } from '../../support/callers.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import { openReceiver, type Received, type Receiver } from '../../support/network/receiver.ts'
import { openTraceReceiver } from '../../support/network/trace-receiver.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import {
  childrenOf,
  isAlive,
  loadedFiles,
  type ServiceProcess,
  spawnService,
} from '../../support/service-process.ts'
import { cliJourneys } from './commands/cli.ts'
import { logCommandJourneys } from './commands/cli-entries.ts'
import { deployCommandJourneys } from './commands/deploy-command.ts'
import { deployKindsJourneys } from './commands/deploy-kinds.ts'
import { projectJourneys } from './commands/project-journeys.ts'
import { tableJourneys } from './commands/table-journeys.ts'

describe('a service', () => {
  const directory = scratchDirectory()
  const args = ['--port', '0', '--data-dir', directory.path]
  let service: ServiceProcess
  let url: string
  let token: string

  let spans: Awaited<ReturnType<typeof openTraceReceiver>>
  let webhooks: Receiver
  const environment = () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    WELLHEAD_ALERT_HOSTS: '127.0.0.1',
  })

  beforeAll(async () => {
    spans = await openTraceReceiver()
    webhooks = await openReceiver()
    service = spawnService(args, environment())
    url = await service.ready()
    token = readFileSync(join(directory.path, 'admin-token'), 'utf8').trim()
  })
  afterAll(() => {
    service.child.kill('SIGKILL')
    for (const { remove } of [directory, coverage]) remove()
    spans.close()
    return webhooks.close()
  })
  const asAdmin = (method: string, path: string, body?: unknown) => ask({ url }, token, method, path, body)

  /** Sends text and returns everything the service sends until it closes the connection. */
  const raw = (text: string) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text))
      socket.on('data', (chunk) => {
        answer += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(answer))
    })

  test('prints its admin token and working requests at the first start, and stores the token in a private file', async () => {
    expect(token).toMatch(/^wh_[0-9A-Za-z]{38}$/)
    expect(statSync(join(directory.path, 'admin-token')).mode & 0o777).toBe(0o600)
    expect(statSync(join(directory.path, 'service.json')).mode & 0o777).toBe(0o600)
    const commands = [...service.stderr().matchAll(/^ {2}(curl .*)$/gm)].map(
      ([, command]) => command as string,
    )
    const printed: string[] = []
    for (const command of commands) {
      expect(command).toContain(`'X-API-KEY: ${token}'`)
      const { stdout } = await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -sS')])
      printed.push(stdout)
    }
    const [accepted, found] = printed.map((text) => JSON.parse(text))
    expect(accepted).toMatchObject({ accepted: 1 })
    expect(found.result).toMatchObject([{ event_message: 'hello' }])
    expect(service.stderr()).toContain(`Console      ${url}/\n`)
    expect((await fetch(`${url}/`)).headers.get('content-type')).toContain('text/html')
    const status = await fetch(`${url}/api/status`, { headers: { 'X-API-KEY': token } })
    expect(await status.json()).toMatchObject({ ready: true, engine: { ready: true, restarts: 0 } })
  })

  test('reports that it is alive and ready without a token', async () => {
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'alive' })
    const ready = await fetch(`${url}/ready`)
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true }])
  })

  test('refuses every kind of wrong token in the same way', async () => {
    const bodies = new Set<string>()
    for (const headers of [
      {},
      { 'X-API-KEY': '' },
      { 'X-API-KEY': `${token}x` },
      { Authorization: 'Bearer wrong' },
    ]) {
      for (const path of [
        '/api/status',
        '/api',
        '/API/status',
        '/%61pi/status',
        '/ap%69/status',
        '/metrics',
        '/api/nothing?x=1',
        '/api/endpoints/query/x',
      ]) {
        const response = await fetch(url + path, { headers: headers as Record<string, string> })
        expect([path, response.status]).toEqual([path, 401])
        const { error } = (await response.json()) as { error: Record<string, string> }
        bodies.add(JSON.stringify({ ...error, request_id: '' }))
      }
    }
    expect(bodies.size).toBe(1)
    const absolute = await raw(`GET ${url}/api/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(absolute).toMatch(/^HTTP\/1\.1 401 /)
    const bearer = await fetch(`${url}/api/status`, { headers: { Authorization: `Bearer ${token}` } })
    expect(bearer.status).toBe(200)
    expect((await fetch(`${url}/api/status?api_key=${token}`)).status).toBe(401)
  })

  test('returns errors of one shape for unknown paths and methods', async () => {
    const missing = await fetch(`${url}/nowhere`, { headers: { 'X-Request-Id': 'my-id.1' } })
    expect([missing.status, missing.headers.get('x-request-id')]).toEqual([404, 'my-id.1'])
    expect(await missing.json()).toEqual({
      error: {
        code: 'not_found',
        message: 'Nothing is at GET /nowhere. See /openapi.json for all paths.',
        request_id: 'my-id.1',
      },
    })
    const method = await fetch(`${url}/health`, { method: 'DELETE' })
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(await method.json()).toMatchObject({
      error: { code: 'method_not_allowed', allowed: ['GET', 'HEAD'] },
    })
  })

  test('rejects large and malformed requests before they reach a route', async () => {
    const huge = await raw(`GET /health HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(huge).toMatch(/^HTTP\/1\.1 431 /)
    expect(huge).toContain('"error":{"code":')
    const garbage = await raw('NONSENSE\r\n\r\n')
    expect(garbage).toMatch(/^HTTP\/1\.1 400 /)
    expect(garbage).toContain('"error":{"code":')
    for (const path of ['/health', '/nowhere', '/api/status']) {
      const hostless = await raw(`GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`)
      expect(hostless).toMatch(
        /^HTTP\/1\.1 400 [\s\S]*"code":"malformed_request","message":"[^"]* Host header\./,
      )
    }
    expect(await raw('GET /health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
    const address = await fetch(`${url}/%zz`)
    expect([address.status, await address.json()]).toMatchObject([
      400,
      { error: { code: 'malformed_request' } },
    ])
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('logs one line per request, without values and tokens', async () => {
    await fetch(`${url}/api/status?project=very-secret-value`, {
      headers: { 'X-API-KEY': token, 'X-Request-Id': 'look-for-me' },
    })
    await vi.waitFor(() => expect(service.stdout()).toContain('look-for-me'))
    // A caller that leaves is no failure of the service.
    const { hostname, port } = new URL(url)
    const leaving = connect(Number(port), hostname)
    const head = `POST /api/logs?source=edge_logs&project=gone HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\n`
    leaving.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n[`, () =>
      leaving.destroy(),
    )
    await vi.waitFor(() => expect(service.stdout()).toMatch(/"status":499/))
    expect(service.stdout()).not.toContain('"level":50')
    const lines = service
      .stdout()
      .split('\n')
      .filter((line) => line.includes('look-for-me'))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ method: 'GET', path: '/api/status', status: 200 })
    expect(service.stdout()).not.toContain('very-secret-value')
    expect(service.stdout()).not.toContain(token)
  })

  cliJourneys(() => ({ url, token, dataDir: directory.path }))
  logCommandJourneys(() => ({ url, token, dataDir: directory.path }))
  deployCommandJourneys(() => ({ url, token, dataDir: directory.path }))
  deployKindsJourneys(() => ({ url, token, dataDir: directory.path }))
  tableJourneys(() => ({ url, token, dataDir: directory.path }))
  projectJourneys(() => ({ url, token, dataDir: directory.path }))

  test('continues the trace of a caller, logs it and sends spans to a collector', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const headers = { 'X-API-KEY': token, traceparent: `00-${traceId}-b7ad6b7169203331-01` }
    const call = `${url}/api/endpoints/query/usage.api-counts?project=traced&interval=daily`
    // Computed, from the cache, and from the cache on the fast path.
    for (let i = 0; i < 3; i++) expect((await fetch(call, { headers })).status).toBe(200)
    const ofCalls = () => spans.spans.filter((span) => span.traceId === traceId)
    await vi.waitFor(() => expect(ofCalls()).toHaveLength(5))
    const calls = ofCalls().filter(({ name }) => name === 'GET /api/endpoints/query/:reference')
    expect(calls.map(({ parentId }) => parentId)).toEqual(Array(3).fill('b7ad6b7169203331'))
    expect(calls.map(({ attributes }) => [attributes['url.path'], attributes['url.scheme']])).toEqual(
      Array(3).fill(['/api/endpoints/query/usage.api-counts', 'http']),
    )
    const [queue, engine] = ['queue', 'engine'].map((name) => ofCalls().find((span) => span.name === name))
    expect(calls.map(({ spanId }) => spanId)).toContain(queue?.parentId)
    expect(engine?.parentId).toBe(queue?.parentId)
    expect(engine?.startNanos).toBeGreaterThanOrEqual(queue?.startNanos as bigint)
    await vi.waitFor(() => {
      const lines = service
        .stdout()
        .split('\n')
        .filter((line) => line.includes(traceId))
      const spanIds = lines.map((line) => JSON.parse(line).span_id)
      expect(spanIds.sort()).toEqual(calls.map(({ spanId }) => spanId).sort())
    })
    expect(JSON.stringify(spans.spans, (_key, value) => String(value))).not.toContain('traced')
  })

  test('is the only one on its data directory: another one prints one sentence', async () => {
    const other = spawnService(args)
    expect(await other.exit).toBe(1)
    expect(other.stdout() + other.stderr()).toBe(
      `wellhead: Another process uses the data directory ${directory.path}. Stop it, or choose another directory with --data-dir.\n`,
    )
  })

  const coverage = scratchDirectory()
  let restartedAt: number

  test('leaves no orphan when killed, and keeps the statistics of requests from two seconds before', async () => {
    const { body: made } = await asAdmin('POST', '/api/access-tokens', { scopes: ['query'] })
    for (let i = 0; i < 20; i++) {
      await ask({ url }, made.token, 'GET', '/api/endpoints/query/logs.all?project=x')
    }
    const answeredAt = performance.now()
    // Statistics are guaranteed to be stored after this time.
    await vi.waitFor(() => expect(performance.now() - answeredAt).toBeGreaterThan(2000), { timeout: 5_000 })
    webhooks.answer('/killed', undefined)
    expect((await asAdmin('POST', '/api/endpoints', { name: 'always', query: 'SELECT 1 AS n' })).status).toBe(
      201,
    )
    const notify = [{ type: 'webhook', url: `${webhooks.url}/killed` }]
    const alert = { name: 'killed', endpoint: 'always', when: 'any(n) = 1', every_seconds: 5, notify }
    expect((await asAdmin('POST', '/api/alerts', alert)).status).toBe(201)
    const [enginePid] = childrenOf(service.child.pid as number)
    await webhooks.until('/killed', 1)
    service.child.kill('SIGKILL')
    await service.exit
    await vi.waitFor(() => expect(isAlive(enginePid as number)).toBe(false))

    webhooks.answer('/killed', { status: 200 })
    restartedAt = Date.now()
    const more = { WELLHEAD_LOG_FORMAT: 'text', NODE_V8_COVERAGE: coverage.path }
    service = spawnService(args, { ...environment(), ...more })
    url = await service.ready()
    expect(service.stderr()).not.toContain('wh_')
    expect(service.stderr()).toContain(`Admin token  stored in ${directory.path}/admin-token`)
    const { body } = await asAdmin('GET', '/api/endpoints/query/wellhead.top-callers?interval=1day')
    expect(body.result).toContainEqual(expect.objectContaining({ token_id: made.id, calls: 20, errors: 0 }))
    await vi.waitFor(() =>
      expect(service.stdout()).toMatch(
        /^\d\d:\d\d:\d\d\.\d{3} {2}info {3}GET \/api\/endpoints\/query\/wellhead\.top-callers {2}200 {2}[\d.]+ ms$/m,
      ),
    )
  })

  test('has no gateway of Logflare if its token is not set', async () => {
    for (const path of ['/logflare/api/sources', '/logflare/health', '/logflare/api/translate']) {
      expect(await asAdmin('GET', path)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
    }
    expect((await asAdmin('GET', '/health')).body).toEqual({ status: 'alive' })
  })

  test('delivers a notification that was stored before it was killed', async () => {
    const [lost, again] = (await webhooks.until('/killed', 2)) as [Received, Received]
    expect(again.text).toBe(lost.text)
    expect(again.headers['webhook-id']).toBe(lost.headers['webhook-id'])
    // It is known to fire, so it does not fire a second time, which could only be now.
    const { body } = await asAdmin('GET', '/api/alerts/killed')
    expect(body.state).toBe('firing')
    expect(Date.parse(body.since)).toBeLessThan(restartedAt)
  })

  test('stops on SIGTERM with exit code 0', async () => {
    const [enginePid] = childrenOf(service.child.pid as number)
    // As from a terminal, the engine process gets the signal too; it waits for the service.
    process.kill(enginePid as number, 'SIGINT')
    process.kill(enginePid as number, 'SIGTERM')
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    // The service does not wait for an open stream.
    const reader = await openEvents(`${url}/api/sources/edge_logs/tail`, token)
    service.child.kill('SIGTERM')
    expect(await service.exit).toBe(0)
    // The stream ended; one that is cut would throw.
    expect(await reader.next()).toBeUndefined()
    expect(isAlive(enginePid as number)).toBe(false)
    expect(existsSync(join(directory.path, 'service.json'))).toBe(false)
    expect(webhooks.at('/killed')).toHaveLength(2)
    const loaded = loadedFiles(coverage.path)
    expect(loaded).toContain('service')
    expect(loaded).not.toContain('logflare')
  })
})

describe('a service that cannot start prints one line that says what to do', () => {
  const start = async (args: string[], environment: Record<string, string> = {}) => {
    const { WELLHEAD_ENGINE_NODE = '', WELLHEAD_ENGINE_PATIENCE = '' } = process.env
    const { code, stderr } = await runCommand(['serve', ...args], {
      environment: { WELLHEAD_ENGINE_NODE, WELLHEAD_ENGINE_PATIENCE, ...environment },
    })
    return { code, lines: stderr.trim().split('\n') }
  }

  test('for all invalid settings together, in a process that ends with 2', async () => {
    const service = spawnService(['--port', 'eighty'], {
      WELLHEAD_LOG_LEVEL: 'loud',
      WELLHEAD_ADMIN_TOKEN: 'short',
    })
    expect(await service.exit).toBe(2)
    expect(service.stderr().trim().split('\n')).toEqual([
      'wellhead: --port must be a whole number from 0 to 65535, not "eighty".',
      'WELLHEAD_ADMIN_TOKEN must be at least 16 printable characters without spaces.',
      'WELLHEAD_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".',
    ])
  })

  test('for a busy port', async () => {
    const directory = scratchDirectory()
    const other = createServer().listen(0, '127.0.0.1')
    await vi.waitFor(() => expect(other.address()).not.toBeNull())
    const { port } = other.address() as { port: number }
    const { code, lines } = await start(['--port', String(port), '--data-dir', directory.path])
    other.close()
    directory.remove()
    expect(code).toBe(1)
    expect(lines).toEqual([`wellhead: Port ${port} is already in use. Choose another with --port.`])
  })

  test('for the directory of a demo, which is its own unless another is chosen', async () => {
    const directory = scratchDirectory()
    for (const name of ['data', 'demo-data', 'chosen']) writeFileSync(join(directory.path, name), '')
    const problem = async (...args: string[]) => {
      const serve = startCommand(['serve', '--port', '0', ...args], { cwd: directory.path })
      return (await serve.result).stderr.split(': ').slice(0, 2)
    }
    const cannotUse = (name: string) => [
      'wellhead',
      `Cannot create the data directory ${join(directory.path, name)}`,
    ]
    expect(await problem()).toEqual(cannotUse('data'))
    expect(await problem('--demo')).toEqual(cannotUse('demo-data'))
    expect(await problem('--demo', '--data-dir', './chosen')).toEqual(cannotUse('chosen'))
    directory.remove()
  })

  test.each(['/dev/null/data', '/proc/no-such/data'])(
    'for a data directory that cannot be created: %s',
    async (dataDir) => {
      const { code, lines } = await start(['--port', '0', '--data-dir', dataDir])
      expect(code).toBe(1)
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain(`wellhead: Cannot create the data directory ${dataDir}: `)
    },
  )

  test('for data of another user, which doctor finds, too', async () => {
    const directory = scratchDirectory()
    const inside = (...path: string[]) => join(directory.path, ...path)
    mkdirSync(inside('engine', 'store'), { recursive: true })
    mkdirSync(inside('lost+found'), { mode: 0 })
    writeFileSync(inside('admin-token'), 'token-of-another-user', { mode: 0o600 })
    // For root, too, without the right to pass over permissions.
    const isRoot = process.getuid?.() === 0
    const drop = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []
    const command = [
      ...drop,
      process.execPath,
      fileURLToPath(new URL('../../../dist/main.js', import.meta.url)),
    ]
    const run = (name: string, ...args: string[]) =>
      startCommand([name, '--port', '0', '--data-dir', directory.path, ...args], { command }).result
    for (const [path, mode] of [
      ['admin-token', 0o600],
      ['engine', 0o700],
      ['engine/store', 0o700],
    ] as const) {
      chmodSync(inside(path), 0)
      const [doctor, serve] = await Promise.all([run('doctor', '--json'), run('serve')])
      const { checks } = JSON.parse(doctor.stdout) as { checks: Finding[] }
      const message = expect.stringContaining(`permission denied, access '${inside(path)}'`)
      expect(checks.filter(({ status }) => status === 'problem')).toMatchObject([{ name: 'data', message }])
      expect([doctor.code, serve.code]).toEqual([1, 1])
      expect(serve.stderr).toMatch(/^wellhead: Cannot write to the data directory .*Change its permissions/)
      expect(serve.stderr.trim().split('\n')).toHaveLength(1)
      chmodSync(inside(path), mode)
    }
    expect((await run('doctor', '--no-engine')).stdout).toContain('writable')
    directory.remove()
  })

  test('for a missing engine executable', async () => {
    const directory = scratchDirectory()
    const { code, lines } = await start([
      '--port',
      '0',
      '--data-dir',
      directory.path,
      '--engine-node',
      '/no/such/node',
    ])
    directory.remove()
    expect(code).toBe(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('This machine has no embedded engine')
  })

  test('for an unreachable ClickHouse server, without its password', async () => {
    const directory = scratchDirectory()
    const { code, lines } = await start(['--port', '0', '--data-dir', directory.path], {
      WELLHEAD_CLICKHOUSE_URL: 'http://user:hidden-password@127.0.0.1:1',
    })
    directory.remove()
    expect(code).toBe(1)
    expect(lines).toEqual([
      'wellhead: http://127.0.0.1:1: Cannot connect to ClickHouse. connect ECONNREFUSED 127.0.0.1:1. ' +
        'Check that it is running, and WELLHEAD_CLICKHOUSE_URL: http:// or https://, and the HTTP port.',
    ])
  })
})
