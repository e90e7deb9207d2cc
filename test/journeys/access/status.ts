import { readdirSync, readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { openService } from '../../../src/app.ts'
import { listErrors } from '../../../src/core/base/errors.ts'
import type { Phase } from '../../../src/core/http/phase.ts'
import { unstartedOptions } from '../../../src/described-server.ts'
import { features } from '../../../src/features.ts'
import { ask, type JsonResponse, makeToken } from '../../support/callers.ts'
import { rawRequest } from '../../support/network/raw-request.ts'
import type { RunningService } from '../../support/service.ts'
import { openLimitedIntake } from '../logs/limited-intake.ts'

const call = '/api/endpoints/query'
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

interface Mistake {
  request: [method: string, path: string, body?: unknown, headers?: Record<string, string>]
  status: number
  error: Record<string, unknown>
}

/** Mistakes of an admin and the error that each gets. */
const mistakes: Record<string, Mistake> = {
  'a required parameter is missing': {
    request: ['GET', `${call}/logs.all`],
    status: 400,
    error: { code: 'missing_parameter', parameter: 'project' },
  },
  'a parameter has a value that is not allowed': {
    request: ['GET', `${call}/usage.api-counts?project=a&interval=yearly`],
    status: 400,
    error: { code: 'invalid_parameter', parameter: 'interval', allowed: ['minutely', 'hourly', 'daily'] },
  },
  'a timestamp is invalid': {
    request: ['GET', `${call}/logs.all?project=a&iso_timestamp_start=yesterday`],
    status: 400,
    error: { code: 'invalid_parameter', parameter: 'iso_timestamp_start' },
  },
  'the body is not JSON': {
    request: ['POST', `${call}/logs.all`, '{"project":'],
    status: 400,
    error: { code: 'invalid_body' },
  },
  'the endpoint does not exist': {
    request: ['GET', `${call}/no.such.endpoint`],
    status: 404,
    error: { code: 'endpoint_not_found' },
  },
  'the source does not exist': {
    request: ['POST', '/api/logs?source=no_such_source', []],
    status: 404,
    error: { code: 'source_not_found' },
  },
  'requests are not recorded': {
    request: ['GET', '/api/requests'],
    status: 404,
    error: { code: 'not_recorded' },
  },
  'the path does not exist': { request: ['GET', '/api/nothing'], status: 404, error: { code: 'not_found' } },
  'the path does not support the method': {
    request: ['DELETE', `${call}/logs.all`],
    status: 405,
    error: { code: 'method_not_allowed', allowed: ['GET', 'HEAD', 'POST'] },
  },
  'no accepted format is available': {
    request: ['GET', `${call}/logs.all?project=a`, undefined, { Accept: 'image/png' }],
    status: 406,
    error: { code: 'not_acceptable', allowed: expect.arrayContaining(['application/json', 'text/csv']) },
  },
  'the name is taken': {
    request: ['POST', '/api/endpoints', { name: 'logs.all', query: 'SELECT 1' }],
    status: 409,
    error: { code: 'name_taken' },
  },
  'the version has changed': {
    request: ['PATCH', '/api/endpoints/logs.all', { description: 'late' }, { 'If-Match': '"999"' }],
    status: 412,
    error: { code: 'version_conflict' },
  },
  'the content type is not supported': {
    request: ['POST', `${call}/logs.all`, 'project=a', form],
    status: 415,
    error: { code: 'unsupported_media_type' },
  },
  'the SQL is invalid': {
    request: ['POST', '/api/endpoints', { name: 'wrong', query: 'SELECT 1,\n  2 nope nope' }],
    status: 422,
    error: { code: 'invalid_query', line: 2, column: 10 },
  },
  'the SQL contains SETTINGS': {
    request: ['POST', '/api/endpoints', { name: 'wrong', query: 'SELECT 1 SETTINGS max_threads = 1' }],
    status: 422,
    error: { code: 'invalid_query', line: 1, column: 10 },
  },
}

export function statusJourneys(running: () => RunningService): void {
  const admin = (...request: Mistake['request']) => ask(running(), running().adminToken.token, ...request)

  describe('an error is returned when', () => {
    test.each(Object.entries(mistakes))('%s', async (_, { request, status, error }) => {
      expectError(await admin(...request), status, error)
    })

    test('the token is missing or lacks the scope', async () => {
      const path = '/api/access-tokens'
      const none = await ask(running(), undefined, 'GET', path)
      expectError(none, 401, { code: 'unauthorized' })
      expect(none.headers.get('www-authenticate')).toBe('Bearer realm="wellhead"')
      const { token } = await makeToken(running(), { scopes: ['query'] })
      expectError(await ask(running(), token, 'GET', path), 403, { code: 'forbidden' })
    })

    test('a token exceeds its rate limit', async () => {
      const { token } = await makeToken(running(), { scopes: ['query'], requests_per_minute: 1 })
      const path = `${call}/no.such.endpoint`
      expectError(await ask(running(), token, 'GET', path), 404, { code: 'endpoint_not_found' })
      const second = await ask(running(), token, 'GET', path)
      expectError(second, 429, { code: 'rate_limited' })
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    test('a query takes too long', async () => {
      const query = 'SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)'
      const made = await admin('POST', '/api/endpoints', { name: 'endless', query, timeout_seconds: 1 })
      expect(made.status).toBe(201)
      expectError(await admin('GET', `${call}/endless`), 504, { code: 'query_timeout' })
      await admin('DELETE', '/api/endpoints/endless')
    })

    test('the body or the headers are too large', async () => {
      const { token } = running().adminToken
      const body = await rawRequest(
        running(),
        `POST /api/endpoints HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\nConnection: close\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${2 ** 20 + 1}\r\n\r\n{`,
      )
      expect(body).toMatch(/^HTTP\/1\.1 413 /)
      expect(body).toContain('"message":"The body is larger than 1 MiB."')
      const keys = Array.from({ length: 20_001 }, (_, index) => [`k${index}`, index])
      const wide = await admin('POST', `${call}/usage.api-counts`, Object.fromEntries(keys))
      expectError(wide, 413, { code: 'too_large', message: 'The body has more than 20000 values.' })
      const headers = await rawRequest(
        running(),
        `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      )
      expect(headers).toMatch(/^HTTP\/1\.1 431 /)
      expect(headers).toContain('"code":"headers_too_large"')
      const list = Array.from({ length: 1_000 }, (_, index) => `status=${index}-0123456789`).join('&')
      const long = await fetch(`${running().url}${call}/usage.api-counts?${list}`)
      const { error } = (await long.json()) as { error: { code: string; message: string } }
      expect([long.status, error.code, error.message]).toEqual([
        431,
        'headers_too_large',
        expect.stringContaining('Send parameters as JSON in the body of a POST request'),
      ])
    })

    test('a request does not arrive in time', async () => {
      const { server } = running().http
      const { headersTimeout } = server
      server.headersTimeout = 1
      try {
        const answer = await rawRequest(running(), 'GET /health HTTP/1.1\r\nHost: x\r\n')
        expect(answer).toMatch(/^HTTP\/1\.1 408 /)
        expect(answer).toContain('"code":"request_timeout"')
      } finally {
        server.headersTimeout = headersTimeout
      }
    })

    test('the disk is nearly full', async () => {
      const limited = await openLimitedIntake(running(), { freeBytes: () => 0 })
      const response = await fetch(`${limited.url}/api/logs?source=edge_logs`, { method: 'POST', body: '{}' })
      expect([response.status, await response.json()]).toMatchObject([507, { error: { code: 'disk_full' } }])
      expect(response.headers.get('retry-after')).toBe('30')
      await limited.close()
    })

    test('the service is starting, or an internal error occurs', async () => {
      const lines: string[] = []
      let phase: Phase = 'starting'
      const door = await halfServer(lines, () => phase)
      const headers = { 'x-api-key': token }
      const early = await door.inject({ url: `${call}/logs.all`, headers })
      expect([early.statusCode, early.headers['retry-after']]).toEqual([503, '1'])
      expect(early.json()).toMatchObject({ error: { code: 'engine_unavailable' } })
      // Stored tokens are not loaded yet, so any token may be valid.
      const other = await door.inject({ url: `${call}/logs.all`, headers: { 'x-api-key': 'wh_other' } })
      expect(other.statusCode).toBe(503)
      // An unauthorized caller does not learn that the service is starting.
      expect((await door.inject({ url: `${call}/logs.all` })).statusCode).toBe(401)

      phase = 'open'
      const broken = await door.inject({
        url: '/api/status',
        headers: { ...headers, 'x-request-id': 'look-here' },
      })
      expect(broken.statusCode).toBe(500)
      expect(broken.json()).toEqual({
        error: { code: 'internal', message: expect.any(String), request_id: 'look-here' },
      })
      expect(broken.body).not.toMatch(/pump|\.ts|stack/)
      const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
      expect(logged.find(({ request_id }) => request_id === 'look-here')).toMatchObject({
        err: { message: 'the pump is broken' },
      })
    })
  })

  test('every error code occurs in a test', () => {
    const texts = ['../../', '../../../src/'].flatMap((folder) =>
      textsOfTests(new URL(folder, import.meta.url)),
    )
    const errorCodes = listErrors(features.flatMap(({ errors = [] }) => errors))
    const untested = errorCodes.filter(({ code }) => !texts.some((text) => containsCode(text, code)))
    expect(untested).toEqual([])
  })
}

function expectError(answer: JsonResponse, status: number, error: Record<string, unknown>): void {
  expect([answer.status, answer.body]).toEqual([
    status,
    {
      error: {
        ...error,
        message: expect.stringMatching(/\.$/),
        request_id: answer.headers.get('x-request-id'),
      },
    },
  ])
  const { allowed } = answer.body.error
  expect(answer.headers.get('allow')).toBe(status === 405 ? allowed.join(', ') : null)
}

const token = 'the-token-of-a-half-server'

/** The server of a service that is not started, and whose engine status throws. */
async function halfServer(lines: string[], phase: () => Phase) {
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const engineStatus = () => {
    throw new Error('the pump is broken')
  }
  const options = await unstartedOptions(pino(sink))
  const { core, server } = await openService(options, token, phase)
  core.engine.state = engineStatus
  return server
}

/** Only quoted codes count, not words of a sentence. */
function containsCode(text: string, code: string): boolean {
  return text.includes(`'${code}'`) || text.includes(`"code":"${code}"`)
}

function textsOfTests(folder: URL): string[] {
  const isTest = (path: string) =>
    /\.test\.ts$|^(?:support|journeys)\/.*\.ts$/.test(path) && path !== 'base/errors.test.ts'
  const directory = fileURLToPath(folder)
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter(isTest)
    .map((path) => readFileSync(`${directory}/${path}`, 'utf8'))
}
